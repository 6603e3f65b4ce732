-- Keep how far the rewriting of the tables is.
UPDATE rewriting SET begun = ?, done = ?, copying = ?, at_table = ?, after_row = ?

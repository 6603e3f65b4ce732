-- How far the rewriting of the tables is.
SELECT begun, done, copying, at_table, after_row FROM rewriting

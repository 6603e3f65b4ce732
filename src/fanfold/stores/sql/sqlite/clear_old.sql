-- Delete some rows of the old table: their pages are overwritten.
DELETE FROM {table} WHERE rowid <= ?

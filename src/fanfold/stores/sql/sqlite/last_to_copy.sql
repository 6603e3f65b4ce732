-- The last of the next rows to copy.
SELECT max(number) FROM (SELECT rowid AS number FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT ?)

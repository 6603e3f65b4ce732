-- Delete some rows of the old table: their pages are overwritten.
DELETE FROM {table}_old WHERE rowid IN (SELECT rowid FROM {table}_old ORDER BY rowid LIMIT ?)

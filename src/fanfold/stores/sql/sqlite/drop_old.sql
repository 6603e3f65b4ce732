-- The old table is empty.
DROP TABLE {table}_old

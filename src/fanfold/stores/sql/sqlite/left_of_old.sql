-- Whether something is left of the old table.
SELECT 1 FROM {table}_old LIMIT 1

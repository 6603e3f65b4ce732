-- The copy takes the table's place.
ALTER TABLE {table} RENAME TO {table}_old

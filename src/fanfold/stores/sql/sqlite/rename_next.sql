-- The copy takes the table's place.
ALTER TABLE {table}_next RENAME TO {table}

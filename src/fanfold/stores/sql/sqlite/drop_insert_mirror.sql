-- The copy takes the table's place.
DROP TRIGGER {table}_inserts

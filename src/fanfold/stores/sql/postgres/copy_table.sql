-- A new table like another one, which gets what others write from now on; what somebody left who was broken off is gone.
SET LOCAL lock_timeout = '{patience}';
DROP TRIGGER IF EXISTS mirror ON fanfold.{table};
DROP TABLE IF EXISTS fanfold.{table}_next;
CREATE TABLE fanfold.{table}_next (LIKE fanfold.{table} INCLUDING ALL);
ALTER TABLE fanfold.{table}_next {unsampled};
CREATE TRIGGER mirror AFTER INSERT OR UPDATE OR DELETE ON fanfold.{table}
FOR EACH ROW EXECUTE FUNCTION fanfold.mirror({names})

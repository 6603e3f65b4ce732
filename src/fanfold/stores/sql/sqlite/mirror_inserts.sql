-- What is added to a table is added to its copy.
CREATE TRIGGER {table}_inserts AFTER INSERT ON {table} BEGIN
    INSERT OR REPLACE INTO {table}_next SELECT * FROM {table} WHERE rowid = NEW.rowid;
END

-- What is changed in a table is changed in its copy.
CREATE TRIGGER {table}_updates AFTER UPDATE ON {table} BEGIN
    INSERT OR REPLACE INTO {table}_next SELECT * FROM {table} WHERE rowid = NEW.rowid;
END

-- What is deleted from a table is deleted from its copy.
CREATE TRIGGER {table}_deletes AFTER DELETE ON {table} BEGIN
    DELETE FROM {table}_next WHERE rowid = OLD.rowid;
END

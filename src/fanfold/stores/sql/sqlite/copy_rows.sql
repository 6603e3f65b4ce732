-- Copy some rows, but for those that are there because somebody wrote them meanwhile.
INSERT INTO {table}_next SELECT * FROM {table} WHERE rowid > ? AND rowid <= ?
    AND NOT EXISTS (SELECT 1 FROM {table}_next AS copy WHERE copy.rowid = {table}.rowid) ORDER BY rowid

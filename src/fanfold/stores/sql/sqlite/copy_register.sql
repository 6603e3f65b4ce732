-- What the file's own register knows.
INSERT OR IGNORE INTO temp.register (tenant, id, key) SELECT tenant, id, key FROM main.register

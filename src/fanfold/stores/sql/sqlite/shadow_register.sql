-- A register in front of the file's own, where that cannot be written.
CREATE TEMP TABLE IF NOT EXISTS register (tenant INTEGER, id BLOB, key INTEGER, PRIMARY KEY (tenant, id)) WITHOUT ROWID

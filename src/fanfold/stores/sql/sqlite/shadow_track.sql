-- Tracks in front of the file's own, where those cannot be written.
CREATE TEMP TABLE IF NOT EXISTS track (tenant INTEGER, prefix INTEGER, session INTEGER, PRIMARY KEY (tenant, prefix, session)) WITHOUT ROWID

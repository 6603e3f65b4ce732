-- What the file's own tracks know.
INSERT OR IGNORE INTO temp.track (tenant, prefix, session) SELECT tenant, prefix, session FROM main.track

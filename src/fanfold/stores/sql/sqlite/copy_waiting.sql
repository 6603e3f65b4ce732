-- The sessions that wait, as the file says.
INSERT OR IGNORE INTO temp.waiting (session, key) SELECT session, key FROM main.waiting

-- Sessions that wait for the register in front of the file's own.
CREATE TEMP TABLE IF NOT EXISTS waiting (session INTEGER PRIMARY KEY, key INTEGER)

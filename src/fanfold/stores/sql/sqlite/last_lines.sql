-- For the doctor: the last line of every session.
SELECT key >> 32, max(key) & 4294967295 FROM line GROUP BY key >> 32

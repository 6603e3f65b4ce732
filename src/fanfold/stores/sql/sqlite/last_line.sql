-- The last line of a session.
SELECT key, version FROM line WHERE tenant = ? AND key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1

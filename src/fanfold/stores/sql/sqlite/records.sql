-- The records of a session between two of its lines, at most so many.
SELECT key, record FROM line WHERE tenant = ? AND key BETWEEN ? AND ? ORDER BY key LIMIT ?

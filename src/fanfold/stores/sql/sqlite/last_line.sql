-- The last line of a session, whosesoever it says it is: one that is damaged is not passed over.
SELECT key, version, refer FROM line WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1

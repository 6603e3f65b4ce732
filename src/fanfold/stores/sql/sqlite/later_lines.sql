-- The records of a session after one of its lines, and the messages that lie beside them.
SELECT key, record, id, parent, message FROM line WHERE tenant = ? AND key BETWEEN ? AND ? ORDER BY key

-- The lines of a session after one of them, whosesoever they say they are, with the messages that lie beside them.
SELECT key, tenant, version, record, id, parent, message, refer FROM line WHERE key BETWEEN ? AND ? ORDER BY key

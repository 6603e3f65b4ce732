-- For the doctor: some lines of all tenants after a key.
SELECT key, tenant, version, record, id, parent, body FROM line WHERE key > ? ORDER BY key LIMIT 500

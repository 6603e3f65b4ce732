-- For the doctor, and where everything is written anew: some lines of all tenants after a key.
SELECT key, tenant, version, record, id, parent, message FROM line WHERE key > ? ORDER BY key LIMIT 500

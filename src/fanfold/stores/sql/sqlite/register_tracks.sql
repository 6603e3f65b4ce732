-- Enter where the heads of sessions stood in some lines.
INSERT INTO track (tenant, prefix, session)
SELECT tenant, prefix, key >> 32 FROM line
WHERE key > ? AND key <= ? AND prefix IS NOT NULL AND typeof(tenant) = 'integer'
ORDER BY tenant, prefix ON CONFLICT DO NOTHING

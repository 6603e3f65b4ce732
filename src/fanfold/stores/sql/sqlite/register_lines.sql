-- Enter the messages of some lines in the register; what is there stays.
INSERT INTO register (tenant, id, key)
SELECT tenant, id, key FROM line WHERE key > ? AND key <= ? AND id IS NOT NULL ORDER BY tenant, id
ON CONFLICT DO NOTHING

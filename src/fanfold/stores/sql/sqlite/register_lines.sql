-- Enter the messages of some lines in the register; what is there stays, and a damaged line may belong to nobody.
INSERT INTO register (tenant, id, key)
SELECT tenant, id, key FROM line WHERE key > ? AND key <= ? AND id IS NOT NULL AND typeof(tenant) = 'integer'
ORDER BY tenant, id ON CONFLICT DO NOTHING

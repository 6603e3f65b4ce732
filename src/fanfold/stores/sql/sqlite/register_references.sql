-- Enter which messages some lines move the heads of their sessions to.
INSERT INTO reference (tenant, number, session)
SELECT tenant, refer, key >> 32 FROM line
WHERE key > ? AND key <= ? AND refer IS NOT NULL AND typeof(tenant) = 'integer'
ORDER BY tenant, refer ON CONFLICT DO NOTHING

-- Append a line to a session that waits for the register, unless its message is there already, or a line in its place.
-- The line before it has to be the one that was seen there: the file may have been restored from a copy.
INSERT INTO line (key, tenant, version, record, id, parent, message, prefix, figures, refer)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
WHERE NOT EXISTS (SELECT 1 FROM register WHERE tenant = ?2 AND id = ?5)
    AND EXISTS (SELECT 1 FROM waiting WHERE session = ?1 >> 32)
    AND (?11 IS NULL OR EXISTS (SELECT 1 FROM line WHERE key = ?1 - 1 AND version = ?11 AND refer IS ?12))
ON CONFLICT DO NOTHING

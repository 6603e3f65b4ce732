-- Append two lines of one session at once, both or neither, on the terms of `add_line`: what most units of work record.
INSERT INTO line (key, tenant, version, record, id, parent, message, prefix, figures, refer)
SELECT * FROM (
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
    UNION ALL SELECT ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22
)
WHERE NOT EXISTS (SELECT 1 FROM register WHERE tenant = ?2 AND id = ?5)
    AND NOT EXISTS (SELECT 1 FROM register WHERE tenant = ?2 AND id = ?17)
    AND NOT EXISTS (SELECT 1 FROM line WHERE key = ?1)
    AND NOT EXISTS (SELECT 1 FROM line WHERE key = ?13)
    AND EXISTS (SELECT 1 FROM waiting WHERE session = ?1 >> 32)
    AND (?11 IS NULL OR EXISTS (SELECT 1 FROM line WHERE key = ?1 - 1 AND version = ?11 AND refer IS ?12))

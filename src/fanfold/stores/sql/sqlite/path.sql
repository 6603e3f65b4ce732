-- The messages from one towards the first, up to but without another.
WITH RECURSIVE up (key, parent) AS (
    SELECT key, parent FROM line WHERE tenant = ?1 AND id = ?2 AND id IS NOT ?3
    UNION ALL
    SELECT line.key, line.parent FROM up JOIN line ON line.tenant = ?1 AND line.id = up.parent
    WHERE up.parent IS NOT ?3
)
SELECT line.id, line.parent, line.entry FROM up CROSS JOIN line WHERE line.key = up.key AND line.tenant = ?1

-- The messages from one towards the first, up to but without another; a register that is wrong ends it.
WITH RECURSIVE up (key, parent) AS (
    SELECT line.key, line.parent FROM register JOIN line ON line.key = register.key AND line.id = register.id
    WHERE register.tenant = :tenant AND register.id = :tip AND register.id IS NOT :stop
    UNION ALL
    SELECT line.key, line.parent FROM up
    CROSS JOIN register ON register.tenant = :tenant AND register.id = up.parent
    CROSS JOIN line ON line.key = register.key AND line.id = register.id
    WHERE up.parent IS NOT :stop
)
SELECT line.id, line.parent, line.message FROM up CROSS JOIN line WHERE line.key = up.key AND line.tenant = :tenant

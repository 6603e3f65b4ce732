-- The sessions of a tenant, and the last summary of each.
SELECT session.name, (
    SELECT line.figures FROM line
    WHERE line.key > session.number << 32 AND line.key < (session.number + 1) << 32 AND line.figures IS NOT NULL
    ORDER BY line.key DESC LIMIT 1
) FROM session WHERE session.tenant = :tenant

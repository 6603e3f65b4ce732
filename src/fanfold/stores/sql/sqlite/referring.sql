-- The sessions that name any of some messages or blobs of a tenant, and the hashes of their names; one may be lost.
SELECT session.name, session.name_sum FROM (
    SELECT DISTINCT session AS number FROM reference
    WHERE tenant = :tenant AND number IN (SELECT value FROM json_each(:numbers))
) AS named LEFT JOIN session ON session.number = named.number AND session.tenant = :tenant
ORDER BY named.number

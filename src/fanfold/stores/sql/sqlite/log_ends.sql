-- The sessions of a tenant and the numbers of their last lines, the youngest first.
SELECT name, coalesce((SELECT max(key) FROM line WHERE key BETWEEN number << 32 AND (number << 32) + 4294967295), number << 32) & 4294967295
FROM session WHERE tenant = :tenant ORDER BY number DESC

-- The names of a tenant's sessions.
SELECT name FROM session WHERE tenant = :tenant ORDER BY name

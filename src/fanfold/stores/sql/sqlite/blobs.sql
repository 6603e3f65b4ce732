-- All blobs of a tenant.
SELECT id, size FROM blob WHERE tenant = :tenant ORDER BY number

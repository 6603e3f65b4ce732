-- All blobs of a tenant.
SELECT id, size FROM blob WHERE tenant = ? ORDER BY number

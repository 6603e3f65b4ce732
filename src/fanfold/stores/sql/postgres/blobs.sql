-- All blobs of a tenant.
SELECT id, size FROM fanfold.blob WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) ORDER BY number

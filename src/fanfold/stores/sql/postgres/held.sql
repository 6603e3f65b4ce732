-- The blobs of a tenant that somebody holds.
SELECT DISTINCT blob FROM fanfold.hold WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b))

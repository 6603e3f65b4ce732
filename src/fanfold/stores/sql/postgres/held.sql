-- The blobs of a tenant that somebody holds, who, and since when.
SELECT blob, holder, extract(epoch FROM since)::float8 FROM fanfold.hold WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b))

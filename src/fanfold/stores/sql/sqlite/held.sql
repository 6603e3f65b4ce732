-- The blobs of a tenant that somebody holds, who, and since when.
SELECT blob, holder, since FROM hold WHERE tenant = :tenant

-- The blobs of a tenant that somebody holds.
SELECT DISTINCT blob FROM hold WHERE tenant = ?

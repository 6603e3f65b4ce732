-- Let nobody else take in or delete a blob.
SELECT pg_advisory_xact_lock(('x' || encode(substr(sha256(%(tenant)b || %(id)b), 1, 8), 'hex'))::bit(64)::bigint)

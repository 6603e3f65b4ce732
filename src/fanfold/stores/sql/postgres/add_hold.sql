-- Hold a blob, unless blobs are being dropped: then wait until that is done.
WITH place AS MATERIALIZED (SELECT fanfold.owner(%(tenant)b) AS tenant),
    waited AS MATERIALIZED (SELECT tenant, pg_advisory_xact_lock_shared(1717661286, tenant) FROM place)
INSERT INTO fanfold.hold (tenant, holder, blob) SELECT tenant, %(holder)b, %(id)b FROM waited
ON CONFLICT (tenant, holder, blob) DO UPDATE SET since = now()

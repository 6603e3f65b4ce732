-- Wait until nobody appends to any session of a tenant, and let nobody do so.
SELECT pg_advisory_xact_lock(1717661286, (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)))

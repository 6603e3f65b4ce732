-- Wait until nobody appends to any session of a tenant, be it a new one, and let nobody do so.
SELECT pg_advisory_xact_lock(1717661286, fanfold.owner(%(tenant)b))

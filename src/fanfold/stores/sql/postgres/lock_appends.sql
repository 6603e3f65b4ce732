-- Wait until nobody appends to any session, and let nobody do so.
SELECT pg_advisory_xact_lock(1717661286, number) FROM fanfold.tenant ORDER BY number

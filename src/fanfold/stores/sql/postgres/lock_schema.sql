-- Wait until nobody else migrates.
SELECT pg_advisory_xact_lock(1717661286)

-- Somebody else may write tables anew.
SELECT pg_advisory_unlock(1717661286, -1)

-- Let nobody else write tables anew, as long as this connection lasts or until it says so.
SELECT pg_advisory_lock(1717661286, -1)

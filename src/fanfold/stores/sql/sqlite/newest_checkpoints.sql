-- The checkpoints of a tenant's youngest sessions, a few.
SELECT body FROM checkpoint WHERE tenant = ? ORDER BY session DESC LIMIT 8

-- The checkpoints of a tenant's youngest sessions, a few.
SELECT body FROM fanfold.checkpoint
WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) ORDER BY session DESC LIMIT 8

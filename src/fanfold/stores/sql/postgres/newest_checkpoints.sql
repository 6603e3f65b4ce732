-- The checkpoints of a tenant's youngest sessions, a few.
SELECT checkpoint.body, session.name, checkpoint.seq
FROM fanfold.checkpoint JOIN fanfold.session ON session.number = checkpoint.session
WHERE checkpoint.tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) ORDER BY checkpoint.session DESC LIMIT 8

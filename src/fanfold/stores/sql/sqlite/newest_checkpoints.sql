-- The checkpoints of a tenant's youngest sessions, a few.
SELECT checkpoint.body, session.name, checkpoint.seq FROM checkpoint JOIN session ON session.number = checkpoint.session
WHERE checkpoint.tenant = :tenant ORDER BY checkpoint.session DESC LIMIT 8

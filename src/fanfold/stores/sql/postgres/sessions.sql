-- The names of a tenant's sessions.
SELECT name FROM fanfold.session WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b))

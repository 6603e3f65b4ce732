-- The sessions of a tenant, and the summary of each.
SELECT name, summary FROM fanfold.session
WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b))

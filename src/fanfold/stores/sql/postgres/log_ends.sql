-- The sessions of a tenant and the numbers of their last records, the youngest first.
SELECT name, seq FROM fanfold.session
WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) ORDER BY number DESC

-- Let nobody keep a checkpoint of any session of a tenant.
SELECT name FROM fanfold.session WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) ORDER BY number FOR UPDATE

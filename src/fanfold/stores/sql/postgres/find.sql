-- The ids of a tenant's messages between two bounds, a few.
SELECT id FROM fanfold.entry WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND id >= %(first)b AND id < %(last)b ORDER BY id LIMIT 3

-- Some messages of a tenant in their places.
SELECT id, parent, body FROM fanfold.entry WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND id = ANY(%(ids)b::bytea[])

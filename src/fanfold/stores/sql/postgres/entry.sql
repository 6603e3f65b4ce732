-- One message of a tenant in its place.
SELECT id, parent, body FROM fanfold.entry WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND id = %(id)b

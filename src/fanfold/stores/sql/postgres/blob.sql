-- The size of a blob, and whether it lies in object storage.
SELECT size, outside FROM fanfold.blob WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND id = %(id)b

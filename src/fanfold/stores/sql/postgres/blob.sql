-- The size of a blob, whether it lies in object storage, and by what its ranges are checked.
SELECT size, outside, proof FROM fanfold.blob WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND id = %(id)b

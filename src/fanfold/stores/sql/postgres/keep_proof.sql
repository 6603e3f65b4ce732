-- Keep by what the ranges of a blob are checked.
UPDATE fanfold.blob SET proof = %(proof)b WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND id = %(id)b

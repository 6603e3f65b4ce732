-- Keep by what the ranges of a blob are checked.
UPDATE blob SET proof = :proof WHERE tenant = :tenant AND id = :id

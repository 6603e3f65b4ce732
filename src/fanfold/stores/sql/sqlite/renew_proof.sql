-- Keep by what the ranges of a blob are checked, of a tenant by its name.
UPDATE blob SET proof = ? WHERE id = ? AND tenant = (SELECT number FROM tenant WHERE name = ?)

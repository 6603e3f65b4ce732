-- Keep by what the ranges of a blob are checked.
UPDATE blob SET proof = ? WHERE tenant = ? AND id = ?

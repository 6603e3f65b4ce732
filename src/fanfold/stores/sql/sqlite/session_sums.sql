-- The names of a tenant's sessions as the table has them, not its index, and their hashes.
SELECT name, name_sum FROM session NOT INDEXED WHERE tenant = ?

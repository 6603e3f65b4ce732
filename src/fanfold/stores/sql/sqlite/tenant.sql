-- The number of the tenant with this name, and the hash of its name.
SELECT number, name_sum FROM tenant WHERE name = ?

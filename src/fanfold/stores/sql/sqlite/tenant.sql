-- The number of the tenant with this name.
SELECT number FROM tenant WHERE name = ?

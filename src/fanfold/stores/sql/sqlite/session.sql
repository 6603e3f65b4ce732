-- The number of a tenant's session with this name, and the hash of its name.
SELECT number, name_sum FROM session WHERE tenant = ? AND name = ?

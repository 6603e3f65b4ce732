-- The number of a tenant's session with this name.
SELECT number FROM session WHERE tenant = ? AND name = ?

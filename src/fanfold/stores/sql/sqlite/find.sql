-- The ids of a tenant's messages between two bounds, a few.
SELECT id FROM register WHERE tenant = ? AND id >= ? AND id < ? ORDER BY id LIMIT 3

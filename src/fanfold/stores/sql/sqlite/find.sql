-- The ids of a tenant's messages between two bounds, a few.
SELECT id FROM register WHERE tenant = :tenant AND id >= :first AND id < :last ORDER BY id LIMIT 3

-- The ids of all messages of a tenant.
SELECT id FROM register WHERE tenant = :tenant

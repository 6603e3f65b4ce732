-- Forget all checkpoints of a tenant.
DELETE FROM checkpoint WHERE tenant = ?

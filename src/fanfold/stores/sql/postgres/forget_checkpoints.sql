-- Forget all checkpoints of a tenant.
DELETE FROM fanfold.checkpoint WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b))

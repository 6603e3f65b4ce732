-- For the doctor: the checkpoints of all tenants.
SELECT session, body FROM checkpoint

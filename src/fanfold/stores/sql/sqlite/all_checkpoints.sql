-- For the doctor, and where everything is written anew: the checkpoints of all tenants.
SELECT session, seq, body FROM checkpoint

-- For the doctor, and where everything is written anew: the checkpoints of all tenants.
SELECT session.number, tenant.name, session.name, checkpoint.seq, checkpoint.body
FROM fanfold.checkpoint JOIN fanfold.session ON session.number = checkpoint.session
JOIN fanfold.tenant ON tenant.number = session.tenant

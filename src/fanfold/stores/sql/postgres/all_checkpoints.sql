-- For the doctor: the checkpoints of all tenants.
SELECT session.number, session.name, checkpoint.body
FROM fanfold.checkpoint JOIN fanfold.session ON session.number = checkpoint.session

-- For the doctor: the sessions of all tenants, and where each log ends.
SELECT tenant.name, session.name, session.seq
FROM fanfold.session JOIN fanfold.tenant ON tenant.number = session.tenant ORDER BY session.number

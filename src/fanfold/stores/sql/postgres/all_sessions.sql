-- For the doctor, and where everything is written anew: the sessions of all tenants, and where each log ends.
SELECT tenant.name, session.name, session.seq
FROM fanfold.session JOIN fanfold.tenant ON tenant.number = session.tenant ORDER BY session.number

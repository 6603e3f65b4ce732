-- For the doctor, and where everything is written anew: the numbers, names and hashes of all sessions, and whose they are.
SELECT session.number, tenant.name, session.name, session.name_sum, tenant.number
FROM session LEFT JOIN tenant ON tenant.number = session.tenant

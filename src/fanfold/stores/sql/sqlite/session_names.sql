-- For the doctor: the numbers and names of all sessions.
SELECT session.number, tenant.number, session.name FROM session JOIN tenant ON tenant.number = session.tenant

-- For the doctor: the numbers of all sessions, whose they are, and their names.
SELECT session.number, tenant.name, session.name FROM session JOIN tenant ON tenant.number = session.tenant

-- Every summary, to be kept in another form.
SELECT tenant.name, session.name, session.summary FROM fanfold.session
JOIN fanfold.tenant ON tenant.number = session.tenant WHERE session.summary IS NOT NULL

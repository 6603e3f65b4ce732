-- Keep a summary in another form.
UPDATE fanfold.session SET summary = %(body)b WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND sha256(name) = sha256(%(session)b)

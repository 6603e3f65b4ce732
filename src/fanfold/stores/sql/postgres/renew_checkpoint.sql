-- Keep a checkpoint in another form.
UPDATE fanfold.checkpoint SET body = %(body)b WHERE session = %(session)s

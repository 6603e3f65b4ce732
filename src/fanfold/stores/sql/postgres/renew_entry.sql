-- Keep a message in another form.
UPDATE fanfold.entry SET body = %(body)b WHERE tenant = %(tenant)s AND id = %(id)b

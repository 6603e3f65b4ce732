-- Put a stub in the place of a message.
UPDATE fanfold.entry SET body = %(body)b, erased = true WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND id = %(id)b

-- Put another record in the place of one.
UPDATE fanfold.record SET body = %(body)b WHERE seq = %(seq)s AND (tenant, session) =
    (SELECT tenant, number FROM fanfold.session WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND sha256(name) = sha256(%(session)b))

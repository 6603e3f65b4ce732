-- Hold no blob any more.
DELETE FROM fanfold.hold WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND holder = %(holder)b

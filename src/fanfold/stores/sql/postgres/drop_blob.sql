-- Delete a blob; its pieces go with it.
DELETE FROM fanfold.blob WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND id = %(id)b RETURNING outside

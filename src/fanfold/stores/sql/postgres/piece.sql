-- Some bytes of a piece of a blob.
SELECT substr(data, %(start)s::integer, %(count)s::integer) FROM fanfold.piece
WHERE tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND blob = %(id)b AND number = %(number)s

-- From now on everything is sealed so, in this format.
UPDATE seal SET mark = :mark, format = 4

-- From now on everything is sealed so, in this format.
UPDATE fanfold.seal SET mark = %(mark)b, format = 4

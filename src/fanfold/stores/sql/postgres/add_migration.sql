-- Say that a migration was applied.
INSERT INTO fanfold.migration (number) VALUES (%(number)s)

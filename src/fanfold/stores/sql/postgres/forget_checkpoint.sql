-- For the doctor: forget one checkpoint.
DELETE FROM fanfold.checkpoint WHERE session = %(session)s

-- Forget the checkpoint of a session.
DELETE FROM fanfold.checkpoint WHERE session = %(session)s

-- Forget holds of those who died.
DELETE FROM fanfold.hold WHERE since < now() - make_interval(secs => %(age)s)

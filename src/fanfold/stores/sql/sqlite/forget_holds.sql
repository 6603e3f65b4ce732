-- Forget holds of those who died.
DELETE FROM hold WHERE since < ?

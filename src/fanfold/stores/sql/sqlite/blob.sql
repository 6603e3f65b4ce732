-- The size of a blob, and whether it lies in a file.
SELECT size, data IS NULL FROM blob WHERE tenant = ? AND id = ?

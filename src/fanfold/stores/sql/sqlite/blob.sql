-- The size of a blob, whether it lies in a file, and by what its ranges are checked.
SELECT size, data IS NULL, proof FROM blob WHERE tenant = :tenant AND id = :id

-- Hold no blob any more.
DELETE FROM hold WHERE tenant = :tenant AND holder = :holder

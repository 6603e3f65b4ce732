-- For the doctor: sessions of which more lines were in the register once than there are.
SELECT session, key FROM waiting WHERE key > (session << 32)
    AND key > coalesce((SELECT max(line.key) FROM line WHERE line.key BETWEEN session << 32 AND (session << 32) + 4294967295), 0)

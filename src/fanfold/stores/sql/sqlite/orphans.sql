-- For the doctor: messages whose parent is missing.
SELECT id FROM line WHERE parent IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM register WHERE register.tenant = line.tenant AND register.id = line.parent)

-- For the doctor: messages whose parent is missing.
SELECT id FROM line WHERE parent IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM line AS above WHERE above.tenant = line.tenant AND above.id = line.parent)

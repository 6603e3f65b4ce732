-- For the doctor: messages whose parent is missing.
SELECT id FROM fanfold.entry AS e WHERE parent IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM fanfold.entry AS above WHERE above.tenant = e.tenant AND above.id = e.parent)

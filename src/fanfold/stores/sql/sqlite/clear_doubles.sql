-- Clear messages from some lines that the register found elsewhere: two wrote the same at once.
UPDATE line SET id = NULL, parent = NULL, message = NULL WHERE key > ? AND key <= ? AND id IS NOT NULL AND EXISTS
    (SELECT 1 FROM register WHERE register.tenant = line.tenant AND register.id = line.id AND register.key <> line.key)

-- For the doctor: how many messages the register does not know, and how many of its places hold no such message.
SELECT
    (SELECT count(*) FROM line WHERE id IS NOT NULL AND typeof(tenant) = 'integer' AND NOT EXISTS
        (SELECT 1 FROM register WHERE register.tenant = line.tenant AND register.id = line.id)),
    (SELECT count(*) FROM register WHERE NOT EXISTS
        (SELECT 1 FROM line WHERE line.key = register.key AND line.tenant = register.tenant AND line.id = register.id))

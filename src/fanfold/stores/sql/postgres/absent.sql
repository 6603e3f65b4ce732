-- For the doctor: which of some messages a tenant does not have.
SELECT wanted.id FROM unnest(%(ids)s::bytea[]) AS wanted (id) WHERE NOT EXISTS
    (SELECT 1 FROM fanfold.entry WHERE entry.id = wanted.id
        AND entry.tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)))

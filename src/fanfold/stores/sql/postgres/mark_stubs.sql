-- Mark messages that came as stubs, where they are kept just so: what was there before has another body.
UPDATE fanfold.entry AS e SET erased = true FROM unnest(%(ids)b::bytea[], %(bodies)b::bytea[]) AS s (id, body)
WHERE e.tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND e.id = s.id AND e.body = s.body

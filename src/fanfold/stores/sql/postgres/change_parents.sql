-- Put messages at the places that their ids prove: stubs that were imported may have stood at others.
UPDATE fanfold.entry AS e SET parent = nullif(r.parent, '') FROM unnest(%(ids)b::bytea[], %(parents)b::bytea[]) AS r (id, parent)
WHERE e.tenant = (SELECT number FROM fanfold.tenant WHERE sha256(name) = sha256(%(tenant)b)) AND e.id = r.id

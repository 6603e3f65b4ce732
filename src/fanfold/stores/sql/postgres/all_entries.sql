-- For the doctor, and where everything is written anew: some messages of all tenants, after one of them.
SELECT entry.tenant, entry.id, entry.parent, entry.body, tenant.name
FROM fanfold.entry LEFT JOIN fanfold.tenant ON tenant.number = entry.tenant
WHERE (entry.tenant, entry.id) > (%(tenant)s, %(id)b) ORDER BY entry.tenant, entry.id LIMIT 500

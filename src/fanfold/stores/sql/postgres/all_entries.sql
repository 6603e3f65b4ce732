-- For the doctor: some messages of all tenants, after one of them.
SELECT tenant, id, parent, body FROM fanfold.entry
WHERE (tenant, id) > (%(tenant)s, %(id)b) ORDER BY tenant, id LIMIT 500

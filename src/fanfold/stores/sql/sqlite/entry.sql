-- One message of a tenant in its place.
SELECT line.id, line.parent, line.message FROM register JOIN line ON line.key = register.key AND line.tenant = register.tenant
WHERE register.tenant = :tenant AND register.id = :id

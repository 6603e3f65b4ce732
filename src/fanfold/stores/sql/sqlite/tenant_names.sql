-- For the doctor, and where everything is written anew: the numbers, names and hashes of all tenants.
SELECT number, name, name_sum FROM tenant

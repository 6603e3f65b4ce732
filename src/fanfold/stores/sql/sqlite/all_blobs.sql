-- For the doctor, and where everything is written anew: the blobs of all tenants.
SELECT tenant.name, blob.id, blob.size, blob.proof, blob.data IS NULL
FROM blob JOIN tenant ON tenant.number = blob.tenant ORDER BY blob.number

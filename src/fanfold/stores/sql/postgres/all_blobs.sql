-- For the doctor: the blobs of all tenants.
SELECT tenant.name, blob.id FROM fanfold.blob JOIN fanfold.tenant ON tenant.number = blob.tenant ORDER BY blob.number

-- Let nobody else change the key, nor put a blob, until this transaction ends; the format as it is now.
SELECT mark, format FROM fanfold.seal FOR UPDATE

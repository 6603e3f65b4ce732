-- The mark by which the file's key is recognised (empty where nothing is sealed), the store's own name, and the format.
SELECT mark, store, format FROM seal

-- The mark by which the file's key is recognised (empty where nothing is sealed), and the store's own name.
SELECT mark, store FROM seal

-- The mark by which the key is recognised (empty where nothing is sealed), and the store's own name.
SELECT mark, store::text FROM fanfold.seal

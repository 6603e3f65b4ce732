-- The mark by which the key is recognised (empty where nothing is sealed), the store's own name, and the format.
SELECT mark, store::text, format FROM fanfold.seal

-- The mark by which the key is recognised; an empty one where nothing is sealed.
SELECT mark FROM fanfold.seal

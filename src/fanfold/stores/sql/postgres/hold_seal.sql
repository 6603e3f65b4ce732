-- The mark by which the key is recognised, which nobody changes until this transaction ends.
SELECT mark FROM fanfold.seal FOR SHARE

-- Forget all signatures: they are sealed with another key from now on.
DELETE FROM fanfold.signature

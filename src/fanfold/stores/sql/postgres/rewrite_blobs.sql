-- Write the table of blobs anew, so that nothing is left of what was in it.
VACUUM FULL fanfold.piece

-- Write the tables of messages anew, so that nothing is left of what was in them.
VACUUM FULL fanfold.record, fanfold.entry, fanfold.checkpoint

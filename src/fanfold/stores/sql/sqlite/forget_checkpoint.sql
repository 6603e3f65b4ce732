-- For the doctor: forget one checkpoint.
DELETE FROM checkpoint WHERE session = ?

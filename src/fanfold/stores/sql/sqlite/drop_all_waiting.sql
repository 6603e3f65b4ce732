-- Nobody writes to any session without looking at the file once more.
DELETE FROM waiting

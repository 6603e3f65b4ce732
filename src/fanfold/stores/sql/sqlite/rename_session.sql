-- For the doctor: give a session the name back that it had.
UPDATE session SET name = ? WHERE number = ?

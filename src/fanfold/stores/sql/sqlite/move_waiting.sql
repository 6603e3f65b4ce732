-- Up to this line, a session's messages are in the register.
UPDATE waiting SET key = ?2 WHERE session = ?1

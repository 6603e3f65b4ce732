-- For the doctor: begin the register anew.
DELETE FROM register

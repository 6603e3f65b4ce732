-- The mark by which the file's key is recognised.
SELECT mark FROM seal

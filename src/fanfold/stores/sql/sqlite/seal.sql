-- The mark by which the file's key is recognised; an empty one where nothing is sealed.
SELECT mark FROM seal

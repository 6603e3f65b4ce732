-- The signatures of a session's blocks, from one up to another.
SELECT key & 4294967295, upto, bits FROM signature WHERE tenant = ? AND key >= ? AND key < ?

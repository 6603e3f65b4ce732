-- Nobody seems to write to this session any more.
DELETE FROM waiting WHERE session = ?

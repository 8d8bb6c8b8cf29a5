-- A digest of what was told; see stores/file/checksums.py. Rows of an older file are sealed as they
-- are.
ALTER TABLE memory ADD COLUMN seal BLOB;

-- ward: the child whose guardians alone may see the partition, 0 for everybody's. veil: the role
-- whose view of the space it holds, a copy told without the fields hidden from that role; 0 for the
-- memories themselves. Either is a partition of its own, and so are its words, counts, vectors
-- and edges. UNIQUE(space, band) was too narrow for that, and a table sheds a constraint only by
-- being written anew.
CREATE TABLE guardian(
  child INTEGER NOT NULL REFERENCES person, guardian INTEGER NOT NULL REFERENCES person,
  PRIMARY KEY(child, guardian)) WITHOUT ROWID;
CREATE TABLE veil(
  no INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL REFERENCES space,
  role TEXT NOT NULL, fields TEXT NOT NULL, UNIQUE(space, role));
CREATE TABLE partition_by_reader(
  no INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL REFERENCES space,
  band TEXT NOT NULL, ward INTEGER NOT NULL DEFAULT 0, veil INTEGER NOT NULL DEFAULT 0,
  next_seq INTEGER NOT NULL DEFAULT 1, next_entity INTEGER NOT NULL DEFAULT 1,
  n_current INTEGER NOT NULL DEFAULT 0, n_past INTEGER NOT NULL DEFAULT 0,
  words_current INTEGER NOT NULL DEFAULT 0, words_past INTEGER NOT NULL DEFAULT 0,
  n_bounded INTEGER NOT NULL DEFAULT 0, rewrites INTEGER NOT NULL DEFAULT 0,
  UNIQUE(space, band, ward, veil));
INSERT INTO partition_by_reader(no, space, band, next_seq, next_entity, n_current, n_past,
    words_current, words_past, n_bounded, rewrites)
  SELECT no, space, band, next_seq, next_entity, n_current, n_past, words_current, words_past,
    n_bounded, rewrites FROM partition;
DROP TABLE partition;
ALTER TABLE partition_by_reader RENAME TO partition;
ALTER TABLE memory ADD COLUMN guardians_of TEXT;
ALTER TABLE memory ADD COLUMN veil INTEGER NOT NULL DEFAULT 0;
DROP INDEX memory_doc;
CREATE UNIQUE INDEX memory_doc ON memory(space, doc_id, veil) WHERE superseded_s IS NULL;
CREATE INDEX memory_past_doc ON memory(space, doc_id, veil) WHERE superseded_s IS NOT NULL;

-- Who recalled what, when: numbers alone. A memory that is deleted leaves the log, whoever
-- deletes it. A process that has written is in audit_writer until it has closed.
CREATE TABLE audit(
  no INTEGER PRIMARY KEY AUTOINCREMENT, at_s REAL NOT NULL, call TEXT NOT NULL,
  person INTEGER, space INTEGER, lost INTEGER NOT NULL DEFAULT 0);
CREATE INDEX audit_at ON audit(at_s);
CREATE TABLE audit_memory(
  entry INTEGER NOT NULL, rank INTEGER NOT NULL, memory INTEGER NOT NULL,
  PRIMARY KEY(entry, rank)) WITHOUT ROWID;
CREATE INDEX audit_memory_memory ON audit_memory(memory);
CREATE TABLE audit_writer(
  token TEXT PRIMARY KEY, pid INTEGER NOT NULL, flushed_s REAL NOT NULL) WITHOUT ROWID;
CREATE TRIGGER memory_deleted_from_audit AFTER DELETE ON memory BEGIN
  DELETE FROM audit_memory WHERE memory = old.id;
END;

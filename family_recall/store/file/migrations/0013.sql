-- The words of each memory take five bytes a stem, not eight: stores/word_entries.py. They are packed
-- by stores/file/schema.py.
-- An edge without an end has none, and what mentions an entity is read from its edges: a table sheds
-- a constraint only by being written again.
CREATE TABLE edge_with_open_end(
  src INTEGER NOT NULL, weight REAL NOT NULL, dst INTEGER NOT NULL, kind TEXT NOT NULL,
  valid_from_s REAL NOT NULL, valid_until_s REAL,
  PRIMARY KEY(src, weight DESC, dst DESC, kind, valid_from_s)) WITHOUT ROWID;
INSERT INTO edge_with_open_end
  SELECT src, weight, dst, kind, iif(valid_from_s <= -9e99, -1e14, valid_from_s),
    iif(valid_until_s >= 9e99, NULL, valid_until_s) FROM edge;
DROP TABLE edge;
ALTER TABLE edge_with_open_end RENAME TO edge;
DROP INDEX mention_entity;
CREATE VIEW mentioned AS
  SELECT src AS entity, dst AS memory, kind AS role FROM edge
  WHERE src < 0 AND dst > 0 AND kind IN ('mention', 'author');

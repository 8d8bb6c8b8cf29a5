-- What one person thought of results, and what was learned from it: numbers, feature names and row
-- ids, no text. Each row belongs to one person and names memories that person could see. A memory
-- that is replaced or deleted takes what was judged of it along, whoever deletes it.
CREATE TABLE IF NOT EXISTS judgement(
  no INTEGER PRIMARY KEY AUTOINCREMENT, person INTEGER NOT NULL REFERENCES person,
  memory INTEGER NOT NULL, at_s REAL NOT NULL, question BLOB NOT NULL,
  accepted INTEGER NOT NULL, weight REAL NOT NULL, kind TEXT NOT NULL,
  features TEXT NOT NULL, guard TEXT);
CREATE INDEX IF NOT EXISTS judgement_person ON judgement(person, no);
CREATE INDEX IF NOT EXISTS judgement_memory ON judgement(memory);
CREATE TABLE IF NOT EXISTS shown(
  judgement INTEGER NOT NULL, rank INTEGER NOT NULL, memory INTEGER NOT NULL,
  feature_values BLOB NOT NULL, PRIMARY KEY(judgement, rank)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS shown_memory ON shown(memory);
CREATE TABLE IF NOT EXISTS learned(
  no INTEGER PRIMARY KEY AUTOINCREMENT, person INTEGER NOT NULL REFERENCES person,
  judgement INTEGER NOT NULL, at_s REAL NOT NULL, record TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS learned_person ON learned(person, no);
CREATE TRIGGER IF NOT EXISTS memory_deleted AFTER DELETE ON memory BEGIN
  DELETE FROM shown WHERE memory = old.id
    OR judgement IN (SELECT no FROM judgement WHERE memory = old.id);
  DELETE FROM judgement WHERE memory = old.id;
END;
CREATE TRIGGER IF NOT EXISTS memory_superseded AFTER UPDATE OF superseded_s ON memory
  WHEN new.superseded_s IS NOT NULL BEGIN
  DELETE FROM shown WHERE memory = old.id
    OR judgement IN (SELECT no FROM judgement WHERE memory = old.id);
  DELETE FROM judgement WHERE memory = old.id;
END;

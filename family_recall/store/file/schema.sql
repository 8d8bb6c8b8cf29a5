-- The layout of a new file. A file of an earlier version gets it by the steps in migrations/, which
-- tests/store/file/test_schema.py compares with this one. Each partition also has two FTS5 tables
-- (store/word_index.py), each embedding model a table of vectors (store/vector_tables.py).

CREATE TABLE info(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Who lives here, and which spaces they may enter.
CREATE TABLE person(
  no INTEGER PRIMARY KEY, person_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
  aliases TEXT NOT NULL DEFAULT '[]');
CREATE TABLE guardian(
  child INTEGER NOT NULL REFERENCES person, guardian INTEGER NOT NULL REFERENCES person,
  PRIMARY KEY(child, guardian)) WITHOUT ROWID;
CREATE TABLE space(
  no INTEGER PRIMARY KEY, space_id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, name TEXT);
CREATE TABLE access(
  person INTEGER NOT NULL REFERENCES person, space INTEGER NOT NULL REFERENCES space,
  role TEXT NOT NULL, expires_s REAL, PRIMARY KEY(person, space)) WITHOUT ROWID;
-- The fields hidden from a role in a space.
CREATE TABLE redacted_view(
  no INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL REFERENCES space,
  role TEXT NOT NULL, fields TEXT NOT NULL, UNIQUE(space, role));

-- One space, one band, one child whose guardians alone may see it (0: everybody), and one redacted
-- view, a copy of the memories without the fields hidden from its role (0: the memories themselves).
-- rewrites counts every change that is not an addition, so that copies in memory know when
-- appending is not enough.
CREATE TABLE partition(
  no INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL REFERENCES space,
  band TEXT NOT NULL, child INTEGER NOT NULL DEFAULT 0, redacted_view INTEGER NOT NULL DEFAULT 0,
  next_seq INTEGER NOT NULL DEFAULT 1, next_entity INTEGER NOT NULL DEFAULT 1,
  n_current INTEGER NOT NULL DEFAULT 0, n_past INTEGER NOT NULL DEFAULT 0,
  words_current INTEGER NOT NULL DEFAULT 0, words_past INTEGER NOT NULL DEFAULT 0,
  n_bounded INTEGER NOT NULL DEFAULT 0, rewrites INTEGER NOT NULL DEFAULT 0,
  UNIQUE(space, band, child, redacted_view));

-- checksum: see stores/file/checksums.py. Of two indexes that serve alike the planner takes the one
-- created last, so their order counts.
CREATE TABLE memory(
  id INTEGER PRIMARY KEY, space INTEGER NOT NULL REFERENCES space, doc_id TEXT NOT NULL,
  text TEXT NOT NULL, title TEXT, summary TEXT, kind TEXT NOT NULL, category TEXT NOT NULL,
  author TEXT, session_id TEXT, source TEXT, url TEXT, section TEXT, labels TEXT,
  band TEXT NOT NULL, importance REAL NOT NULL, valence REAL NOT NULL, arousal REAL NOT NULL,
  fact_key TEXT, fact_value TEXT, event_type TEXT,
  occurred_s REAL, occurred_at TEXT, valid_from_s REAL, valid_until_s REAL,
  recorded_s REAL NOT NULL, superseded_s REAL,
  order_s REAL NOT NULL, header TEXT NOT NULL, context_id INTEGER,
  n_words INTEGER NOT NULL, words BLOB NOT NULL, content_hash BLOB NOT NULL,
  guardians_of TEXT, redacted_view INTEGER NOT NULL DEFAULT 0, checksum BLOB,
  cues INTEGER NOT NULL DEFAULT 0);
CREATE INDEX memory_session ON memory(space, session_id, order_s, id)
  WHERE session_id IS NOT NULL;
CREATE INDEX memory_hash ON memory(space, content_hash);
CREATE INDEX memory_context ON memory(context_id) WHERE context_id IS NOT NULL;
CREATE INDEX memory_milestone ON memory(id >> 40, event_type, fact_key, kind)
  WHERE (kind = 'milestone' OR fact_key GLOB '*birth*' OR fact_key GLOB '*anniversary*'
    OR fact_key GLOB '*date*' OR fact_key GLOB '*wedding*');
CREATE INDEX memory_lasting ON memory(id) WHERE kind IN ('fact', 'profile', 'milestone');
CREATE INDEX memory_occurred ON memory(occurred_s) WHERE occurred_s IS NOT NULL;
CREATE UNIQUE INDEX memory_doc ON memory(space, doc_id, redacted_view) WHERE superseded_s IS NULL;
CREATE INDEX memory_past_doc ON memory(space, doc_id, redacted_view)
  WHERE superseded_s IS NOT NULL;
CREATE INDEX memory_valid_from ON memory(valid_from_s) WHERE valid_from_s IS NOT NULL;
CREATE VIEW words_content AS
  SELECT m.id AS id,
         coalesce(m.title || char(10), '') || m.text || coalesce(char(10) || m.summary, '')
           AS body,
         m.header AS header,
         coalesce(
           coalesce(
             coalesce((SELECT p.name FROM person p WHERE p.person_id = c.author), c.author) || ': ',
             '') || c.text,
           '') AS context
  FROM memory m LEFT JOIN memory c ON c.id = m.context_id;
-- stem: crc32 of the stemmed word; n: memories of that shard it occurs in.
CREATE TABLE word_count(
  shard INTEGER NOT NULL, stem INTEGER NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY(shard, stem)) WITHOUT ROWID;
-- Partition first: all that begins with a value is then one stretch of one partition's rows. The
-- version of the rules that found them is in info.
CREATE TABLE identifier(
  partition INTEGER NOT NULL, value TEXT NOT NULL, memory INTEGER NOT NULL,
  PRIMARY KEY(partition, value, memory)) WITHOUT ROWID;
CREATE INDEX identifier_memory ON identifier(memory);
-- The times that a memory's text mentions, half-open, with how surely each was read.
CREATE TABLE mentioned_time(
  memory INTEGER NOT NULL, start_s REAL NOT NULL, end_s REAL NOT NULL, certainty REAL NOT NULL,
  PRIMARY KEY(memory, start_s, end_s)) WITHOUT ROWID;
CREATE INDEX mentioned_time_start ON mentioned_time(start_s);

CREATE TABLE embedding_model(
  no INTEGER PRIMARY KEY, model_id TEXT NOT NULL UNIQUE, dim INTEGER NOT NULL,
  token_dim INTEGER NOT NULL, storage TEXT NOT NULL, role TEXT NOT NULL DEFAULT 'embedder');
CREATE TABLE embedding(
  no INTEGER PRIMARY KEY AUTOINCREMENT, memory INTEGER NOT NULL, model INTEGER NOT NULL,
  tokens BLOB NOT NULL);
CREATE UNIQUE INDEX embedding_memory ON embedding(memory, model);

CREATE TABLE entity(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, person INTEGER REFERENCES person);
CREATE TABLE alias(
  partition INTEGER NOT NULL, alias TEXT NOT NULL, entity INTEGER NOT NULL,
  PRIMARY KEY(partition, alias, entity)) WITHOUT ROWID;
CREATE TABLE mention(
  memory INTEGER NOT NULL, entity INTEGER NOT NULL, role TEXT NOT NULL,
  PRIMARY KEY(memory, entity, role)) WITHOUT ROWID;
-- stated: the names in the statement; the entities may have longer ones.
CREATE TABLE relation(
  no INTEGER PRIMARY KEY, subject INTEGER NOT NULL, relation TEXT NOT NULL,
  object INTEGER NOT NULL, confidence REAL NOT NULL, valid_from_s REAL, valid_until_s REAL,
  recorded_s REAL NOT NULL, evidence TEXT NOT NULL DEFAULT '[]', stated TEXT);
CREATE INDEX relation_triple ON relation(subject, relation, object);
-- Both directions of every edge; within a node the strongest and the newest come first. From -1e14 on
-- is always, and an end that is NULL is none.
CREATE TABLE edge(
  src INTEGER NOT NULL, weight REAL NOT NULL, dst INTEGER NOT NULL, kind TEXT NOT NULL,
  valid_from_s REAL NOT NULL, valid_until_s REAL,
  PRIMARY KEY(src, weight DESC, dst DESC, kind, valid_from_s)) WITHOUT ROWID;
-- The mentions of an entity; those of a memory are in the table mention.
CREATE VIEW mentioned AS
  SELECT src AS entity, dst AS memory, kind AS role FROM edge
  WHERE src < 0 AND dst > 0 AND kind IN ('mention', 'author');

-- Feedback on results, and what was learned from it: numbers, feature names and row ids, no text.
-- asked: what tells whether another question is like the one that got it; stores/logs/feedback.py.
-- Each row belongs to one person and refers to memories that person could see. The rows on a memory
-- that is superseded or deleted are deleted with it.
CREATE TABLE feedback(
  no INTEGER PRIMARY KEY AUTOINCREMENT, person INTEGER NOT NULL REFERENCES person,
  memory INTEGER NOT NULL, at_s REAL NOT NULL, question BLOB NOT NULL,
  accepted INTEGER NOT NULL, weight REAL NOT NULL, kind TEXT NOT NULL,
  features TEXT NOT NULL, guard TEXT, asked TEXT);
CREATE INDEX feedback_person ON feedback(person, no);
CREATE INDEX feedback_memory ON feedback(memory);
CREATE TABLE shown(
  feedback INTEGER NOT NULL, rank INTEGER NOT NULL, memory INTEGER NOT NULL,
  feature_values BLOB NOT NULL, PRIMARY KEY(feedback, rank)) WITHOUT ROWID;
CREATE INDEX shown_memory ON shown(memory);
CREATE TABLE learned(
  no INTEGER PRIMARY KEY AUTOINCREMENT, person INTEGER NOT NULL REFERENCES person,
  feedback INTEGER NOT NULL, at_s REAL NOT NULL, record TEXT NOT NULL);
CREATE INDEX learned_person ON learned(person, no);
CREATE TRIGGER memory_deleted AFTER DELETE ON memory BEGIN
  DELETE FROM shown WHERE memory = old.id
    OR feedback IN (SELECT no FROM feedback WHERE memory = old.id);
  DELETE FROM feedback WHERE memory = old.id;
END;
CREATE TRIGGER memory_superseded AFTER UPDATE OF superseded_s ON memory
  WHEN new.superseded_s IS NOT NULL BEGIN
  DELETE FROM shown WHERE memory = old.id
    OR feedback IN (SELECT no FROM feedback WHERE memory = old.id);
  DELETE FROM feedback WHERE memory = old.id;
END;

-- Who recalled what, when: numbers alone. A memory that is deleted leaves the log with it. A process
-- that has written is in audit_writer until it has closed.
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

-- What was forgotten, in digests; until when it can be restored; and how long categories are kept.
CREATE TABLE receipt(
  receipt_id TEXT PRIMARY KEY, at_s REAL NOT NULL, clean INTEGER NOT NULL, record TEXT NOT NULL);
CREATE TABLE trash(
  receipt_id TEXT PRIMARY KEY REFERENCES receipt, until_s REAL NOT NULL, record TEXT NOT NULL);
CREATE TABLE retention(category TEXT PRIMARY KEY, keep_days REAL NOT NULL) WITHOUT ROWID;

-- What stages cost here, by kind of device; see stores/logs/stage_costs.py.
CREATE TABLE stage_cost(
  device TEXT NOT NULL, stage TEXT NOT NULL, fixed_ms REAL NOT NULL, unit_ms REAL NOT NULL,
  runs INTEGER NOT NULL, PRIMARY KEY(device, stage)) WITHOUT ROWID;

-- The layout of a file. Each partition also has two FTS5 tables (store/word_index.py), each
-- embedding model a table of vectors (store/vectors.py). A constraint has the name of the
-- column that it is about, which store/file/damage.py reads from SQLite's errors. Moments are epoch
-- seconds in the years 2 to 9998. Tables that are derived from memories refer to them without a
-- constraint: their rows may be written first, and rebuild makes them again.

CREATE TABLE info(key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT;

-- Who lives here, and which spaces they may enter.
CREATE TABLE person(
  no INTEGER PRIMARY KEY, person_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
  aliases TEXT NOT NULL DEFAULT '[]') STRICT;
CREATE TABLE guardian(
  child INTEGER NOT NULL REFERENCES person ON DELETE CASCADE,
  guardian INTEGER NOT NULL REFERENCES person ON DELETE CASCADE,
  PRIMARY KEY(child, guardian)) STRICT;
CREATE TABLE space(
  no INTEGER PRIMARY KEY, space_id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CONSTRAINT kind CHECK(kind IN ('shared', 'private', 'household')),
  name TEXT) STRICT;
CREATE TABLE access(
  person INTEGER NOT NULL REFERENCES person ON DELETE CASCADE,
  space INTEGER NOT NULL REFERENCES space ON DELETE CASCADE,
  role TEXT NOT NULL
    CONSTRAINT role CHECK(role IN ('owner', 'adult', 'child', 'guest', 'device')),
  expires_s REAL CONSTRAINT expires_s CHECK(expires_s BETWEEN -62104200000.0 AND 253370900000.0),
  PRIMARY KEY(person, space)) STRICT;
-- The fields hidden from a role in a space.
CREATE TABLE redacted_view(
  no INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL REFERENCES space,
  role TEXT NOT NULL
    CONSTRAINT role CHECK(role IN ('owner', 'adult', 'child', 'guest', 'device')),
  fields TEXT NOT NULL, UNIQUE(space, role)) STRICT;

-- One space, one band, one child whose guardians alone may see it (0: everybody), and one redacted
-- view, a copy of the memories without the fields hidden from its role (0: the memories themselves).
-- rewrites counts every change that is not an addition, so that copies in memory know when
-- appending is not enough.
CREATE TABLE partition(
  no INTEGER PRIMARY KEY AUTOINCREMENT CONSTRAINT no CHECK(no BETWEEN 1 AND (1 << 22) - 1),
  space INTEGER NOT NULL REFERENCES space,
  band TEXT NOT NULL CONSTRAINT band CHECK(band IN ('green', 'amber', 'red', 'black')),
  child INTEGER NOT NULL DEFAULT 0 CONSTRAINT child CHECK(child >= 0),
  redacted_view INTEGER NOT NULL DEFAULT 0 CONSTRAINT redacted_view CHECK(redacted_view >= 0),
  next_seq INTEGER NOT NULL DEFAULT 1 CONSTRAINT next_seq CHECK(next_seq BETWEEN 1 AND 1 << 40),
  next_entity INTEGER NOT NULL DEFAULT 1
    CONSTRAINT next_entity CHECK(next_entity BETWEEN 1 AND 1 << 40),
  n_current INTEGER NOT NULL DEFAULT 0 CONSTRAINT n_current CHECK(n_current BETWEEN 0 AND 1 << 40),
  n_past INTEGER NOT NULL DEFAULT 0 CONSTRAINT n_past CHECK(n_past BETWEEN 0 AND 1 << 40),
  words_current INTEGER NOT NULL DEFAULT 0
    CONSTRAINT words_current CHECK(words_current BETWEEN 0 AND 1 << 40),
  words_past INTEGER NOT NULL DEFAULT 0
    CONSTRAINT words_past CHECK(words_past BETWEEN 0 AND 1 << 40),
  n_bounded INTEGER NOT NULL DEFAULT 0 CONSTRAINT n_bounded CHECK(n_bounded BETWEEN 0 AND 1 << 40),
  rewrites INTEGER NOT NULL DEFAULT 0 CONSTRAINT rewrites CHECK(rewrites BETWEEN 0 AND 1 << 40),
  UNIQUE(space, band, child, redacted_view)) STRICT;

-- checksum covers what was remembered, so that no CHECK has to: store/file/checksums.py. Of two indexes that serve alike the planner takes the one
-- created last, so their order counts.
CREATE TABLE memory(
  id INTEGER PRIMARY KEY CONSTRAINT id CHECK(id > 0),
  space INTEGER NOT NULL REFERENCES space, doc_id TEXT NOT NULL,
  text TEXT NOT NULL, title TEXT, summary TEXT, kind TEXT NOT NULL, category TEXT NOT NULL,
  author TEXT, session_id TEXT, source TEXT, url TEXT, section TEXT, labels TEXT,
  band TEXT NOT NULL, importance REAL NOT NULL, valence REAL NOT NULL, arousal REAL NOT NULL,
  fact_key TEXT, fact_value TEXT, event_type TEXT,
  occurred_s REAL CONSTRAINT occurred_s CHECK(occurred_s BETWEEN -62104200000.0 AND 253370900000.0),
  occurred_at TEXT,
  valid_from_s REAL CONSTRAINT valid_from_s CHECK(valid_from_s BETWEEN -62104200000.0 AND 253370900000.0),
  valid_until_s REAL CONSTRAINT valid_until_s CHECK(valid_until_s BETWEEN -62104200000.0 AND 253370900000.0),
  recorded_s REAL NOT NULL CONSTRAINT recorded_s CHECK(recorded_s BETWEEN -62104200000.0 AND 253370900000.0),
  superseded_s REAL CONSTRAINT superseded_s CHECK(superseded_s BETWEEN -62104200000.0 AND 253370900000.0),
  order_s REAL NOT NULL CONSTRAINT order_s CHECK(order_s BETWEEN -62104200000.0 AND 253370900000.0),
  header TEXT NOT NULL, context_id INTEGER CONSTRAINT context_id CHECK(context_id > 0),
  n_words INTEGER NOT NULL CONSTRAINT n_words CHECK(n_words BETWEEN 0 AND 1 << 40), words BLOB NOT NULL, content_hash BLOB NOT NULL,
  guardians_of TEXT, redacted_view INTEGER NOT NULL DEFAULT 0, checksum BLOB,
  cues INTEGER NOT NULL DEFAULT 0 CONSTRAINT cues CHECK(cues BETWEEN 0 AND 1 << 40)) STRICT;
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
  PRIMARY KEY(shard, stem)) STRICT, WITHOUT ROWID;
-- Partition first: all that begins with a value is then one stretch of one partition's rows. The
-- version of the rules that found them is in info.
CREATE TABLE identifier(
  partition INTEGER NOT NULL, value TEXT NOT NULL, memory INTEGER NOT NULL,
  PRIMARY KEY(partition, value, memory)) STRICT, WITHOUT ROWID;
CREATE INDEX identifier_memory ON identifier(memory);
-- The times that a memory's text mentions, half-open, with how surely each was read.
CREATE TABLE mentioned_time(
  memory INTEGER NOT NULL, start_s REAL NOT NULL, end_s REAL NOT NULL, certainty REAL NOT NULL,
  PRIMARY KEY(memory, start_s, end_s)) STRICT, WITHOUT ROWID;
CREATE INDEX mentioned_time_start ON mentioned_time(start_s);

CREATE TABLE embedding_model(
  no INTEGER PRIMARY KEY, model_id TEXT NOT NULL UNIQUE,
  dim INTEGER NOT NULL CONSTRAINT dim CHECK(dim BETWEEN 1 AND 65536),
  token_dim INTEGER NOT NULL CONSTRAINT token_dim CHECK(token_dim BETWEEN 0 AND 65536),
  storage TEXT NOT NULL CONSTRAINT storage CHECK(storage IN ('vec0', 'plain')),
  role TEXT NOT NULL DEFAULT 'embedder'
    CONSTRAINT role CHECK(role IN ('embedder', 'static', 'title', 'summary', 'passage'))) STRICT;
CREATE TABLE embedding(
  no INTEGER PRIMARY KEY AUTOINCREMENT, memory INTEGER NOT NULL, model INTEGER NOT NULL,
  tokens BLOB NOT NULL) STRICT;
CREATE UNIQUE INDEX embedding_memory ON embedding(memory, model);

CREATE TABLE entity(
  id INTEGER PRIMARY KEY CONSTRAINT id CHECK(id < 0), name TEXT NOT NULL,
  person INTEGER REFERENCES person ON DELETE SET NULL) STRICT;
CREATE TABLE alias(
  partition INTEGER NOT NULL, alias TEXT NOT NULL, entity INTEGER NOT NULL,
  PRIMARY KEY(partition, alias, entity)) STRICT;
CREATE TABLE mention(
  memory INTEGER NOT NULL, entity INTEGER NOT NULL, role TEXT NOT NULL,
  PRIMARY KEY(memory, entity, role)) STRICT, WITHOUT ROWID;
-- stated: the names in the statement; the entities may have longer ones.
CREATE TABLE relation(
  no INTEGER PRIMARY KEY, subject INTEGER NOT NULL CONSTRAINT subject CHECK(subject < 0),
  relation TEXT NOT NULL, object INTEGER NOT NULL CONSTRAINT object CHECK(object < 0),
  confidence REAL NOT NULL CONSTRAINT confidence CHECK(confidence BETWEEN 0.0 AND 1.0),
  valid_from_s REAL CONSTRAINT valid_from_s CHECK(valid_from_s BETWEEN -62104200000.0 AND 253370900000.0),
  valid_until_s REAL CONSTRAINT valid_until_s CHECK(valid_until_s BETWEEN -62104200000.0 AND 253370900000.0),
  recorded_s REAL NOT NULL CONSTRAINT recorded_s CHECK(recorded_s BETWEEN -62104200000.0 AND 253370900000.0),
  evidence TEXT NOT NULL DEFAULT '[]' CONSTRAINT evidence
    CHECK(CASE WHEN json_valid(evidence) THEN json_type(evidence) = 'array' ELSE FALSE END),
  stated TEXT CONSTRAINT stated CHECK(
    stated IS NULL OR CASE WHEN json_valid(stated) THEN json_type(stated) = 'array' ELSE FALSE END)
  ) STRICT;
CREATE INDEX relation_triple ON relation(subject, relation, object);
CREATE INDEX relation_object ON relation(object);
-- Both directions of every edge; within a node the strongest and the newest come first. From -1e14 on
-- is always, and an end that is NULL is none.
CREATE TABLE edge(
  src INTEGER NOT NULL, weight REAL NOT NULL, dst INTEGER NOT NULL, kind TEXT NOT NULL,
  valid_from_s REAL NOT NULL, valid_until_s REAL,
  PRIMARY KEY(src, weight DESC, dst DESC, kind, valid_from_s)) STRICT, WITHOUT ROWID;
-- The mentions of an entity; those of a memory are in the table mention.
CREATE VIEW mentioned AS
  SELECT src AS entity, dst AS memory, kind AS role FROM edge
  WHERE src < 0 AND dst > 0 AND kind IN ('mention', 'author');

-- Feedback on results, and what was learned from it: numbers, feature names and row ids, no text.
-- asked: what tells whether another question is like the one that got it; store/feedback.py.
-- Each row belongs to one person and refers to memories that person could see. The rows on a memory
-- that is superseded or deleted are deleted with it.
CREATE TABLE feedback(
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  person INTEGER NOT NULL REFERENCES person ON DELETE CASCADE,
  memory INTEGER NOT NULL REFERENCES memory ON DELETE CASCADE,
  at_s REAL NOT NULL CONSTRAINT at_s CHECK(at_s BETWEEN -62104200000.0 AND 253370900000.0), question BLOB NOT NULL,
  accepted INTEGER NOT NULL CONSTRAINT accepted CHECK(accepted IN (0, 1)),
  weight REAL NOT NULL CONSTRAINT weight CHECK(weight > 0.0 AND weight <= 1.0),
  features TEXT NOT NULL,
  guard TEXT CONSTRAINT guard CHECK(
    guard IS NULL OR CASE WHEN json_valid(guard) THEN json_type(guard) = 'object' ELSE FALSE END),
  asked TEXT CONSTRAINT asked CHECK(
    asked IS NULL OR CASE WHEN json_valid(asked) THEN json_type(asked) = 'object' ELSE FALSE END)
  ) STRICT;
CREATE INDEX feedback_person ON feedback(person, no);
CREATE INDEX feedback_memory ON feedback(memory);
CREATE TABLE shown(
  feedback INTEGER NOT NULL REFERENCES feedback ON DELETE CASCADE,
  rank INTEGER NOT NULL CONSTRAINT rank CHECK(rank >= 0),
  memory INTEGER NOT NULL REFERENCES memory ON DELETE CASCADE,
  feature_values BLOB NOT NULL
    CONSTRAINT feature_values CHECK(length(feature_values) % 4 = 0),
  PRIMARY KEY(feedback, rank)) STRICT;
CREATE INDEX shown_memory ON shown(memory);
CREATE TABLE learned(
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  person INTEGER NOT NULL REFERENCES person ON DELETE CASCADE, feedback INTEGER NOT NULL,
  at_s REAL NOT NULL CONSTRAINT at_s CHECK(at_s BETWEEN -62104200000.0 AND 253370900000.0),
  record TEXT NOT NULL CONSTRAINT record
    CHECK(CASE WHEN json_valid(record) THEN json_type(record) = 'object' ELSE FALSE END)) STRICT;
CREATE INDEX learned_person ON learned(person, no);
CREATE TRIGGER memory_superseded AFTER UPDATE OF superseded_s ON memory
  WHEN new.superseded_s IS NOT NULL BEGIN
  DELETE FROM shown WHERE memory = old.id;
  DELETE FROM feedback WHERE memory = old.id;
END;

-- Who recalled what, when: numbers alone. A memory that is deleted leaves the log with it. A process
-- that has written is in audit_writer until it has closed.
CREATE TABLE audit(
  no INTEGER PRIMARY KEY AUTOINCREMENT,
  at_s REAL NOT NULL CONSTRAINT at_s CHECK(at_s BETWEEN -62104200000.0 AND 253370900000.0),
  call TEXT NOT NULL
    CONSTRAINT call CHECK(call IN ('recall', 'opening', 'explain', 'look', 'gap')),
  person INTEGER REFERENCES person, space INTEGER REFERENCES space,
  lost INTEGER NOT NULL DEFAULT 0 CONSTRAINT lost CHECK(lost >= 0)) STRICT;
CREATE INDEX audit_at ON audit(at_s);
CREATE TABLE audit_memory(
  entry INTEGER NOT NULL REFERENCES audit ON DELETE CASCADE,
  rank INTEGER NOT NULL CONSTRAINT rank CHECK(rank > 0),
  memory INTEGER NOT NULL REFERENCES memory ON DELETE CASCADE ON UPDATE CASCADE,
  PRIMARY KEY(entry, rank)) STRICT, WITHOUT ROWID;
CREATE INDEX audit_memory_memory ON audit_memory(memory);
CREATE TABLE audit_writer(
  token TEXT NOT NULL PRIMARY KEY,
  pid INTEGER NOT NULL CONSTRAINT pid CHECK(pid BETWEEN 1 AND 2147483647),
  flushed_s REAL NOT NULL CONSTRAINT flushed_s CHECK(flushed_s BETWEEN -62104200000.0 AND 253370900000.0)) STRICT;

-- What was forgotten; until when it can be restored; and how long categories are kept.
CREATE TABLE receipt(
  receipt_id TEXT NOT NULL PRIMARY KEY, at_s REAL NOT NULL CONSTRAINT at_s CHECK(at_s BETWEEN -62104200000.0 AND 253370900000.0),
  clean INTEGER NOT NULL CONSTRAINT clean CHECK(clean IN (0, 1)), record TEXT NOT NULL) STRICT;
CREATE TABLE trash(
  receipt_id TEXT NOT NULL PRIMARY KEY REFERENCES receipt ON DELETE CASCADE,
  until_s REAL NOT NULL CONSTRAINT until_s CHECK(until_s BETWEEN -62104200000.0 AND 253370900000.0), record TEXT NOT NULL) STRICT;
CREATE TABLE retention(
  category TEXT NOT NULL PRIMARY KEY CONSTRAINT category CHECK(category IN
    ('identity', 'family', 'health', 'milestone', 'task', 'event', 'casual')),
  keep_days REAL NOT NULL
    CONSTRAINT keep_days CHECK(keep_days > 0.0 AND keep_days <= 36500.0)) STRICT;

-- What stages cost here, by kind of device; see store/stage_costs.py.
CREATE TABLE stage_cost(
  device TEXT NOT NULL, stage TEXT NOT NULL,
  fixed_ms REAL NOT NULL CONSTRAINT fixed_ms CHECK(fixed_ms BETWEEN 0.0 AND 1e9),
  unit_ms REAL NOT NULL CONSTRAINT unit_ms CHECK(unit_ms BETWEEN 0.0 AND 1e9),
  runs INTEGER NOT NULL CONSTRAINT runs CHECK(runs BETWEEN 0 AND 1 << 40),
  PRIMARY KEY(device, stage)) STRICT;

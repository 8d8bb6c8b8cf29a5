CREATE TABLE info(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE person(
  no INTEGER PRIMARY KEY, person_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
  aliases TEXT NOT NULL DEFAULT '[]');
CREATE TABLE space(
  no INTEGER PRIMARY KEY, space_id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, name TEXT);
CREATE TABLE access(
  person INTEGER NOT NULL REFERENCES person, space INTEGER NOT NULL REFERENCES space,
  role TEXT NOT NULL, expires_s REAL, PRIMARY KEY(person, space)) WITHOUT ROWID;

-- One space and one band. rewrites counts every change that is not an addition, so that
-- copies in memory know when appending is not enough.
CREATE TABLE partition(
  no INTEGER PRIMARY KEY, space INTEGER NOT NULL REFERENCES space, band TEXT NOT NULL,
  next_seq INTEGER NOT NULL DEFAULT 1, next_entity INTEGER NOT NULL DEFAULT 1,
  n_current INTEGER NOT NULL DEFAULT 0, n_past INTEGER NOT NULL DEFAULT 0,
  words_current INTEGER NOT NULL DEFAULT 0, words_past INTEGER NOT NULL DEFAULT 0,
  n_bounded INTEGER NOT NULL DEFAULT 0, rewrites INTEGER NOT NULL DEFAULT 0,
  UNIQUE(space, band));

CREATE TABLE memory(
  id INTEGER PRIMARY KEY, space INTEGER NOT NULL REFERENCES space, doc_id TEXT NOT NULL,
  text TEXT NOT NULL, title TEXT, summary TEXT, kind TEXT NOT NULL, category TEXT NOT NULL,
  author TEXT, session_id TEXT, source TEXT, url TEXT, section TEXT, labels TEXT,
  band TEXT NOT NULL, importance REAL NOT NULL, valence REAL NOT NULL, arousal REAL NOT NULL,
  fact_key TEXT, fact_value TEXT, event_type TEXT,
  occurred_s REAL, occurred_at TEXT, valid_from_s REAL, valid_until_s REAL,
  recorded_s REAL NOT NULL, superseded_s REAL,
  order_s REAL NOT NULL, header TEXT NOT NULL, context_id INTEGER,
  n_words INTEGER NOT NULL, words BLOB NOT NULL,
  content_hash BLOB NOT NULL);
CREATE UNIQUE INDEX memory_doc ON memory(space, doc_id) WHERE superseded_s IS NULL;
CREATE INDEX memory_session ON memory(space, session_id, order_s, id)
  WHERE session_id IS NOT NULL;
CREATE INDEX memory_hash ON memory(space, content_hash);
CREATE INDEX memory_context ON memory(context_id) WHERE context_id IS NOT NULL;
CREATE VIEW words_content AS
  SELECT m.id AS id,
         coalesce(m.title || char(10), '') || m.text || coalesce(char(10) || m.summary, '')
           AS body,
         m.header AS header, coalesce(coalesce(c.author || ': ', '') || c.text, '') AS context
  FROM memory m LEFT JOIN memory c ON c.id = m.context_id;
-- stem: crc32 of the stemmed word; n: memories of that shelf it occurs in.
CREATE TABLE word_count(
  shelf INTEGER NOT NULL, stem INTEGER NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY(shelf, stem)) WITHOUT ROWID;

CREATE TABLE embedding_model(
  no INTEGER PRIMARY KEY, model_id TEXT NOT NULL UNIQUE, dim INTEGER NOT NULL,
  token_dim INTEGER NOT NULL, storage TEXT NOT NULL);
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
CREATE INDEX mention_entity ON mention(entity);
CREATE TABLE relation(
  no INTEGER PRIMARY KEY, subject INTEGER NOT NULL, relation TEXT NOT NULL,
  object INTEGER NOT NULL, confidence REAL NOT NULL, valid_from_s REAL, valid_until_s REAL,
  recorded_s REAL NOT NULL, evidence TEXT NOT NULL DEFAULT '[]');
CREATE INDEX relation_triple ON relation(subject, relation, object);
-- Both directions of every edge; within a node the strongest and the newest come first.
CREATE TABLE edge(
  src INTEGER NOT NULL, weight REAL NOT NULL, dst INTEGER NOT NULL, kind TEXT NOT NULL,
  valid_from_s REAL NOT NULL, valid_until_s REAL NOT NULL,
  PRIMARY KEY(src, weight DESC, dst DESC, kind, valid_from_s)) WITHOUT ROWID;

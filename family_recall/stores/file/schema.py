"""The file's layout: numbered migrations in, a file of this version out.

One file holds one household. Text is the truth; words, vectors, mentions and edges are made
from it and can be made again. A memory's row id is ``partition << 40 | sequence``, so one
partition (one space, one band) is one range of ids; an entity's is the negative of such a
number, so that memories and entities share one edge table. No edge, mention, word list or
vector block ever spans two partitions, and so none can tell one person of another's. A child's
guardians have partitions of their own, and so has a role that is kept from some fields.
"""

from __future__ import annotations

APPLICATION_ID = 0x46524D31
"""``FRM1``, at byte 68 of the file (sqlite.org/fileformat2.html#application_id)."""

_FIRST = """
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
"""

# role: which of a file's models are compared with which questions; `static` is the small table
# that answers where there is no time for the other.
_SECOND = "ALTER TABLE embedding_model ADD COLUMN role TEXT NOT NULL DEFAULT 'embedder'"

# Partition first: what begins with a value is then one stretch of one partition's rows, and
# nobody else's are walked past. Which rules made the rows, `info` says.
_THIRD = """
CREATE TABLE IF NOT EXISTS identifier(
  partition INTEGER NOT NULL, value TEXT NOT NULL, memory INTEGER NOT NULL,
  PRIMARY KEY(partition, value, memory)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS identifier_memory ON identifier(memory);
CREATE INDEX IF NOT EXISTS memory_milestone ON memory(id >> 40, event_type, fact_key, kind)
  WHERE (kind = 'milestone' OR fact_key GLOB '*birth*' OR fact_key GLOB '*anniversary*'
    OR fact_key GLOB '*date*' OR fact_key GLOB '*wedding*');
CREATE INDEX IF NOT EXISTS memory_lasting ON memory(id)
  WHERE kind IN ('fact', 'profile', 'milestone');
CREATE INDEX IF NOT EXISTS memory_occurred ON memory(occurred_s) WHERE occurred_s IS NOT NULL;
"""

# What one person thought of results, and what was learned from it: numbers, feature names and row
# ids, no text. Each row belongs to one person and names memories that person could see. A memory
# that is replaced or deleted takes what was judged of it along, whoever deletes it.
_FOURTH = """
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
"""

# ward: the child whose guardians alone may see the partition, 0 for everybody's. veil: the role
# whose view of the space it holds, a copy told without the fields hidden from that role; 0 for the
# memories themselves. Either is a partition of its own, and so are its words, counts, vectors
# and edges. UNIQUE(space, band) was too narrow for that, and a table sheds a constraint only by
# being written anew.
_PRIVACY = """
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
"""

# What was forgotten, in digests, until when it is kept aside, and how long categories are kept.
# stated: the names a relation was told with, since its entities may be called by longer ones.
_FORGETTING = """
ALTER TABLE relation ADD COLUMN stated TEXT;
CREATE TABLE receipt(
  receipt_id TEXT PRIMARY KEY, at_s REAL NOT NULL, clean INTEGER NOT NULL, record TEXT NOT NULL);
CREATE TABLE aside(
  receipt_id TEXT PRIMARY KEY REFERENCES receipt, until_s REAL NOT NULL, record TEXT NOT NULL);
CREATE TABLE retention(category TEXT PRIMARY KEY, keep_days REAL NOT NULL) WITHOUT ROWID;
"""

# What stages cost here, by kind of device; see stores/logs/stage_costs.py.
_COSTS = """
CREATE TABLE IF NOT EXISTS stage_cost(
  device TEXT NOT NULL, stage TEXT NOT NULL, fixed_ms REAL NOT NULL, unit_ms REAL NOT NULL,
  runs INTEGER NOT NULL, PRIMARY KEY(device, stage)) WITHOUT ROWID;
"""

# A digest of what was told; see stores/file/checksums.py. Rows of an older file are sealed as they are.
_SEALS = "ALTER TABLE memory ADD COLUMN seal BLOB"

MIGRATIONS: tuple[str, ...] = (
    _FIRST, _SECOND, _THIRD, _FOURTH, _PRIVACY, _FORGETTING, _COSTS, _SEALS,
)  # fmt: skip
"""Step i brings a file from version i to i + 1. Released steps never change."""

SCHEMA_VERSION = len(MIGRATIONS)

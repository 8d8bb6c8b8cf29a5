-- What may replace a value that cannot be read, "table.column:" and an expression of SQL. Without
-- one the row is left out. None shows anybody more than the value that was there.

person.person_id: 'unreadable-' || no
person.name: coalesce(person_id, 'unreadable-' || no)
person.aliases: '[]'

space.space_id: 'unreadable-' || no
space.kind: 'private'
space.name: NULL

-- A partition is what its memories say that it is.
partition.space: (SELECT m.space FROM main.memory m WHERE m.id >> 40 = partition.no LIMIT 1)
partition.band: coalesce(
  (SELECT m.band FROM main.memory m WHERE m.id >> 40 = partition.no LIMIT 1), 'black')
partition.child: coalesce(
  (SELECT iif(m.guardians_of IS NULL, 0, coalesce(p.no, 1 << 40))
   FROM main.memory m LEFT JOIN main.person p ON p.person_id = m.guardians_of
   WHERE m.id >> 40 = partition.no LIMIT 1), 0)
partition.redacted_view: coalesce(
  (SELECT m.redacted_view FROM main.memory m WHERE m.id >> 40 = partition.no LIMIT 1), 0)
partition.next_seq: 1 + coalesce(
  (SELECT max(m.id) FROM main.memory m WHERE m.id >> 40 = partition.no) - (no << 40), 0)
partition.next_entity: 1 + coalesce(
  (SELECT max(-e.id) FROM main.entity e WHERE -e.id >> 40 = partition.no) - (no << 40), 0)
partition.n_current: (SELECT count(*) FROM main.memory m
  WHERE m.id >> 40 = partition.no AND m.superseded_s IS NULL)
partition.n_past: (SELECT count(*) FROM main.memory m
  WHERE m.id >> 40 = partition.no AND m.superseded_s IS NOT NULL)
partition.words_current: (SELECT CAST(total(m.n_words) AS INTEGER) FROM main.memory m
  WHERE m.id >> 40 = partition.no AND m.superseded_s IS NULL)
partition.words_past: (SELECT CAST(total(m.n_words) AS INTEGER) FROM main.memory m
  WHERE m.id >> 40 = partition.no AND m.superseded_s IS NOT NULL)
partition.n_bounded: (SELECT count(coalesce(m.valid_from_s, m.valid_until_s)) FROM main.memory m
  WHERE m.id >> 40 = partition.no AND m.superseded_s IS NULL)
partition.rewrites: 0

-- Vectors of which it is not known what made them belong to no model: rebuild deletes them.
embedding_model.model_id: 'unreadable-' || no
embedding_model.dim: 8
embedding_model.token_dim: 0
embedding_model.storage: iif(EXISTS (SELECT 1 FROM main.sqlite_master t
  WHERE t.name = 'vectors_' || no AND t.sql LIKE 'CREATE VIRTUAL %'), 'vec0', 'plain')
embedding_model.role: 'embedder'

redacted_view.space: iif(typeof(space) = 'integer', space,
  (SELECT m.space FROM main.memory m WHERE m.redacted_view = redacted_view.no LIMIT 1))
redacted_view.fields: '{HIDEABLE}'

receipt.clean: 0

audit.person: NULL
audit.space: NULL
audit.lost: 0

memory.superseded_s: recorded_s
memory.order_s: coalesce(occurred_s, recorded_s)
memory.header: ''
memory.context_id: NULL
memory.n_words: 0
memory.words: x''
memory.content_hash: x''
memory.cues: 0

entity.name: 'unreadable'
entity.person: NULL

relation.confidence: 1.0
relation.valid_from_s: NULL
relation.valid_until_s: NULL
relation.recorded_s: 0.0
relation.evidence: '[]'
relation.stated: NULL

feedback.guard: NULL
feedback.asked: NULL

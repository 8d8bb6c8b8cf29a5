"""Words, counts and vectors, compared with the texts they are made from; rules between rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import apsw
import numpy as np

from family_recall.store import vector_tables
from family_recall.store.file import sql
from family_recall.store.file.schema import (
    PARTITION_SHIFT,
    SHARD_OF_MEMORY,
    shards_in,
    words_table,
)
from family_recall.store.passages import passages
from family_recall.store.vector_tables import PASSAGE, Model
from family_recall.store.word_index import vocabulary
from family_recall.store.words import ENTRY_BYTES, row_words, split, stem_number
from family_recall.types import IdArray


def partition_problem(connection: apsw.Connection) -> str | None:
    """Compare each partition's statistics with its memories."""
    rows = sql.rows(
        connection,
        "SELECT p.no FROM partition p LEFT JOIN ("
        f"  SELECT id >> {PARTITION_SHIFT} AS no, count(*) AS n,"
        "   sum(superseded_s IS NULL) AS n_current,"
        "   sum(iif(superseded_s IS NULL, n_words, 0)) AS words_current, sum(n_words) AS words,"
        "   sum(superseded_s IS NULL AND (valid_from_s IS NOT NULL OR valid_until_s IS NOT NULL))"
        "    AS n_bounded, max(id) AS last"
        "  FROM memory GROUP BY 1) m ON m.no = p.no"
        " WHERE p.n_current <> coalesce(m.n_current, 0)"
        " OR p.n_past <> coalesce(m.n - m.n_current, 0)"
        " OR p.words_current <> coalesce(m.words_current, 0)"
        " OR p.words_past <> coalesce(m.words - m.words_current, 0)"
        " OR p.n_bounded <> coalesce(m.n_bounded, 0)"
        f" OR p.next_seq <= coalesce(m.last - (p.no << {PARTITION_SHIFT}), 0)",
    )
    return f"wrong in partition {', '.join(str(no) for (no,) in rows)}" if rows else None


def word_problem(connection: apsw.Connection) -> str | None:
    """Compare the memories and stems that each FTS5 index counts with the counts beside it."""
    wrong = 0
    for shard in shards_in(connection):
        name = words_table(shard)
        in_index = vocabulary(connection, name, "row", "coalesce(sum(doc), 0)", "")
        in_index += sql.rows(connection, f"SELECT count(*) FROM {name}_docsize")
        beside = sql.rows(
            connection, "SELECT coalesce(sum(n), 0) FROM word_count WHERE shard = ?", (shard,)
        )
        column = "n_past" if shard % 2 else "n_current"
        beside += sql.rows(
            connection, f"SELECT {column} FROM partition WHERE no = ?", (shard // 2,)
        )
        wrong += in_index != beside
    return f"{wrong:,} shards hold other words than are counted" if wrong else None


def full_text_problem(connection: apsw.Connection) -> str | None:
    """Check that each FTS5 index is whole, and which memories and stems it holds."""
    wrong = []
    for shard in shards_in(connection):
        name = words_table(shard)
        try:
            # Not against the content by itself: the view has the memories of every shard.
            connection.execute(f"INSERT INTO {name}({name}) VALUES('integrity-check')")
            n_words = dict(
                vocabulary(connection, name, "instance", "doc, count(*)", "GROUP BY doc")
            )
            stems = vocabulary(connection, name, "row", "term, doc", "")
        except (apsw.CorruptError, apsw.SQLError) as error:
            wrong.append(f"shard {shard}: {error}")
            continue
        expected = dict(
            sql.rows(
                connection,
                f"SELECT m.id, m.n_words FROM memory m WHERE {SHARD_OF_MEMORY} = ?"
                " AND m.n_words > 0",
                (shard,),
            )
        )
        n_memories = len(n_words.items() ^ expected.items())
        counted = Counter[int]()
        for stem, n in stems:
            counted[stem_number(stem)] += n
        beside = dict(
            sql.rows(connection, "SELECT stem, n FROM word_count WHERE shard = ?", (shard,))
        )
        n_stems = len(counted.items() ^ beside.items())
        if n_memories or n_stems:
            wrong.append(f"shard {shard}: {n_memories:,} memories and {n_stems:,} stems differ")
    return "; ".join(wrong) or None


def memory_problem(connection: apsw.Connection) -> str | None:
    """Count each memory's words again, in a straightforward way."""
    wrong = 0
    for words, n_words, *texts in connection.execute(
        "SELECT m.words, m.n_words, c.body, c.header, c.context"
        " FROM memory m JOIN words_content c ON c.id = m.id"
    ):
        counts: dict[int, list[int]] = {}
        total = 0
        for column, text in enumerate(texts):
            for _, stem in split(text):
                counts.setdefault(stem_number(stem), [0, 0, 0])[column] += 1
                total += 1
        expected = [(stem, *(min(n, 255) for n in counts[stem])) for stem in sorted(counts)]
        whole = len(words) % ENTRY_BYTES == 0
        stored = row_words([words]) if whole else row_words([])
        entries = zip(stored.stems.tolist(), stored.columns[stored.codes].tolist(), strict=True)
        wrong += total != n_words or expected != [(stem, *columns) for stem, columns in entries]
    return f"{wrong:,} memories with other words than their text" if wrong else None


def count_problem(connection: apsw.Connection) -> str | None:
    """Compare the counts of stems by shard with the words kept with each memory."""
    counted = Counter[tuple[int, int]]()
    for shard, words in connection.execute(f"SELECT {SHARD_OF_MEMORY}, m.words FROM memory m"):
        whole = len(words) // ENTRY_BYTES * ENTRY_BYTES
        counted.update((shard, stem) for stem in row_words([words[:whole]]).stems.tolist())
    for shard, stem, n in connection.execute("SELECT shard, stem, n FROM word_count"):
        counted[shard, stem] -= n
    wrong = sum(n != 0 for n in counted.values())
    return f"{wrong:,} stems counted wrong" if wrong else None


def vector_problems(connection: apsw.Connection) -> Iterator[tuple[str, str | None]]:
    """Yield each model's id, and what is wrong with its vectors."""
    shards = dict(sql.rows(connection, f"SELECT m.id, {SHARD_OF_MEMORY} FROM memory m"))
    for model in vector_tables.models(connection):
        recorded = {
            memory
            for (memory,) in sql.rows(
                connection, "SELECT memory FROM embedding WHERE model = ?", (model.no,)
            )
        }
        try:
            stored = list(_stored(connection, model))
            n_other = _other_passages(connection, model)
        except (apsw.Error, LookupError, TypeError, ValueError) as error:
            yield model.model_id, str(error)
            continue
        present = {memory for memory, _, _ in stored}
        counts = {
            "without a memory": len((present | recorded) - shards.keys()),
            "missing": len(recorded - present),
            "not recorded": len(present - recorded),
            "twice": len(stored) - len(present),
            "in another shard": sum(
                shards.get(memory, shard) != shard for memory, shard, _ in stored
            ),
            "of zeros": sum(not is_vector for _, _, is_vector in stored),
            "of other passages": n_other,
        }
        yield model.model_id, ", ".join(f"{n:,} {name}" for name, n in counts.items() if n) or None


def _stored(connection: apsw.Connection, model: Model) -> Iterator[tuple[int, int, bool]]:
    """Yield a model's vectors as they are searched: (memory, shard, whether it is a vector)."""
    if model.storage != "vec0":
        for memory, shard, vector in connection.execute(
            f"SELECT id, shard, vector FROM {model.table}"
        ):
            yield memory, shard, _are_vectors(vector, model)
        return
    for shard, validity, chunk_ids, chunk in connection.execute(
        f"SELECT c.partition00, c.validity, c.rowids, v.vectors FROM {model.table}_chunks c"
        f" JOIN {model.table}_vector_chunks00 v ON v.rowid = c.chunk_id"
    ):
        used = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little") == 1
        ids: IdArray = np.frombuffer(chunk_ids, np.int64)[used]
        rows = np.frombuffer(chunk, np.int8).reshape(-1, model.dim)[used]
        for memory, is_vector in zip(ids.tolist(), rows.any(axis=1).tolist(), strict=True):
            yield memory, shard, is_vector


def _are_vectors(stored: bytes, model: Model) -> bool:
    """Whether a row holds a vector, or vectors of passages, and none of zeros."""
    if model.role != PASSAGE:
        return len(stored) == model.dim and any(stored)
    if not stored or len(stored) % model.dim:
        return False
    return bool(np.frombuffer(stored, np.int8).reshape(-1, model.dim).any(axis=1).all())


def _other_passages(connection: apsw.Connection, model: Model) -> int:
    """Count the memories that have more or fewer vectors than their texts have passages."""
    if model.role != PASSAGE:
        return 0
    rows = connection.execute(
        f"SELECT m.text, length(v.vector) FROM {model.table} v JOIN memory m ON m.id = v.id"
    )
    return sum(len(passages(text)) * model.dim != n_bytes for text, n_bytes in rows)


@dataclass(frozen=True, slots=True)
class Rule:
    """Rows that must not exist: ``query`` finds them, ``problem`` names them after their number."""

    what: str
    problem: str
    query: str

    def problem_in(self, connection: apsw.Connection) -> str | None:
        """Count the rows that must not exist."""
        (n,) = sql.row(connection, f"SELECT count(*) FROM ({self.query})")
        return f"{n:,} {self.problem}" if n else None


_PLACE = f"p.no << {PARTITION_SHIFT}"

OF_RECORDS = (
    Rule(
        "places",
        "memories without a partition",
        f"SELECT 1 FROM memory m LEFT JOIN partition p ON p.no = m.id >> {PARTITION_SHIFT}"
        " WHERE p.no IS NULL OR p.space <> m.space OR p.band <> m.band"
        f" OR p.redacted_view <> m.redacted_view OR m.id - ({_PLACE}) >= p.next_seq",
    ),
    Rule(
        "contexts",
        "without a memory of their partition",
        "SELECT 1 FROM memory m WHERE m.context_id IS NOT NULL AND NOT EXISTS (SELECT 1"
        " FROM memory c WHERE c.id = m.context_id"
        f"  AND c.id >> {PARTITION_SHIFT} = m.id >> {PARTITION_SHIFT})",
    ),
    Rule(
        "names",
        "of nothing in their partition",
        f"SELECT 1 FROM entity e LEFT JOIN partition p ON p.no = -e.id >> {PARTITION_SHIFT}"
        f" WHERE p.no IS NULL OR -e.id - ({_PLACE}) >= p.next_entity"
        " UNION ALL SELECT 1 FROM alias a WHERE NOT EXISTS (SELECT 1 FROM entity e"
        f"  WHERE e.id = a.entity AND -e.id >> {PARTITION_SHIFT} = a.partition)",
    ),
    Rule(
        "relations",
        "without two entities of one partition",
        "SELECT 1 FROM relation r WHERE NOT EXISTS (SELECT 1 FROM entity n WHERE n.id = r.subject)"
        " OR NOT EXISTS (SELECT 1 FROM entity n WHERE n.id = r.object)"
        f" OR -r.subject >> {PARTITION_SHIFT} <> -r.object >> {PARTITION_SHIFT}",
    ),
)
"""Rules of what is exported."""

OF_DERIVED = (
    Rule(
        "edges",
        "without the opposite direction",
        "SELECT 1 FROM edge e WHERE NOT EXISTS (SELECT 1 FROM edge b WHERE b.src = e.dst"
        " AND b.weight = e.weight AND b.dst = e.src AND b.kind = e.kind"
        " AND b.valid_from_s = e.valid_from_s)",
    ),
    Rule(
        "edge ends",
        "whose node is not current",
        "SELECT 1 FROM edge e WHERE e.src > 0 AND NOT EXISTS (SELECT 1 FROM memory m"
        " WHERE m.id = e.src AND m.superseded_s IS NULL) UNION ALL"
        " SELECT 1 FROM edge e WHERE e.src < 0 AND NOT EXISTS"
        " (SELECT 1 FROM entity n WHERE n.id = e.src)",
    ),
    Rule(
        "edge partitions",
        "from one partition to another",
        f"SELECT 1 FROM edge WHERE abs(src) >> {PARTITION_SHIFT} <> abs(dst) >> {PARTITION_SHIFT}",
    ),
    Rule(
        "mentions",
        "without a memory, an entity or an edge",
        "SELECT 1 FROM mention t WHERE NOT EXISTS (SELECT 1 FROM memory m WHERE m.id = t.memory"
        " AND m.superseded_s IS NULL) OR NOT EXISTS (SELECT 1 FROM entity n WHERE n.id = t.entity)"
        " OR NOT EXISTS (SELECT 1 FROM edge e WHERE e.src = t.memory AND e.dst = t.entity"
        "  AND e.kind = t.role)",
    ),
    Rule(
        "mention edges",
        "without a mention",
        "SELECT 1 FROM edge e WHERE e.src > 0 AND e.kind IN ('mention', 'author') AND NOT EXISTS"
        " (SELECT 1 FROM mention t WHERE t.memory = e.src AND t.entity = e.dst"
        "  AND t.role = e.kind)",
    ),
    Rule(
        "identifiers",
        "without a memory",
        "SELECT 1 FROM identifier i WHERE NOT EXISTS (SELECT 1 FROM memory m WHERE m.id = i.memory)"
        f" OR i.partition <> i.memory >> {PARTITION_SHIFT}",
    ),
    Rule(
        "mentioned times",
        "without a memory",
        "SELECT 1 FROM mentioned_time t WHERE t.end_s <= t.start_s OR NOT EXISTS"
        " (SELECT 1 FROM memory m WHERE m.id = t.memory)",
    ),
)
"""Rules of what is derived from it; rebuild repairs what breaks them."""

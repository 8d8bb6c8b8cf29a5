"""Delete memories by row id with everything derived from them, and record what was deleted.

Words, vectors, edges, mentions, identifiers, feedback, and relations without other evidence are
deleted too. A memory's context is the memory before it in its session, whose words also find it;
after an erasure the next memory gets a new context. :mod:`family_recall.forget` updates entities;
:mod:`family_recall.store.erase.byte_search` searches the file for the bytes.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from family_recall.store import graph, memories
from family_recall.store.file import sql
from family_recall.store.file.schema import partition_of
from family_recall.store.memories import StoredMemory
from family_recall.store.transaction import WriteTransaction

REFERENCES: tuple[tuple[str, str], ...] = (
    ("memory", "id"), ("memory", "context_id"), ("embedding", "memory"), ("mention", "memory"),
    ("identifier", "memory"), ("mentioned_time", "memory"), ("edge", "src"), ("edge", "dst"),
    ("feedback", "memory"), ("shown", "memory"), ("audit_memory", "memory"),
)  # fmt: skip
"""All columns that hold a memory's row id."""

_SOURCES = (
    "doc_id, title, text, summary, author, session_id, labels, fact_key, fact_value, event_type,"
    " url, section, source, header"
)
_IDS = "(SELECT value FROM json_each(?1))"


@dataclass(slots=True)
class Erased:
    """What a transaction erased.

    ``texts``, ``vectors`` and ``stems``, words that no memory has any more, are held to search the
    file for them. ``counts`` are rows by table; ``relations`` the erased relations. ``entities``
    lost a mention or relation; ``people`` lost feedback.
    """

    texts: list[str] = field(default_factory=list)
    vectors: list[bytes] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    stems: set[str] = field(default_factory=set)
    entities: set[int] = field(default_factory=set)
    people: set[str] = field(default_factory=set)
    relations: list[dict[str, Any]] = field(default_factory=list)


def clear_copies(writing: WriteTransaction) -> None:
    """Delete copies of erased values: SQLite's samples and, if much was removed, word indexes.

    ``PRAGMA optimize`` takes new samples.
    """
    if sql.row(writing.connection, "SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat4'"):
        writing.connection.execute("DELETE FROM sqlite_stat4")
    writing.words.rewrite_if_stale()


class Eraser:
    """Erases memories of one file, inside one write transaction."""

    def __init__(self, writing: WriteTransaction, next_weight: float) -> None:
        """Erase within a transaction; ``next_weight`` links neighbours in a session."""
        self._connection = writing.connection
        self._words = writing.words
        self._relations = writing.relations
        self._versions = writing.versions
        self._next_weight = next_weight
        self._vectors = writing.vectors

    def erase(self, memories: Iterable[int]) -> Erased:
        """Delete memories, by row id, with everything derived from them."""
        ids = sorted(set(memories))
        erased = Erased()
        if not ids:
            return erased
        rows = self._rows(f"SELECT {_SOURCES} FROM memory WHERE id IN {_IDS}", ids)
        rows += self._rows(f"SELECT value FROM identifier WHERE memory IN {_IDS}", ids)
        erased.texts = [text for texts in rows for text in texts if text]
        erased.vectors = self._vectors.bytes_of(ids)
        mentioned = self._rows(f"SELECT DISTINCT entity FROM mention WHERE memory IN {_IDS}", ids)
        erased.entities |= {entity for (entity,) in mentioned}
        erased.people |= self._people_who_lose_feedback(ids)
        stems = self._words.stems_of(ids)
        followers = sorted({*self._versions.with_following(ids)} - {*ids})
        erased.counts.update(self._counts(ids))
        self._words.remove([*ids, *followers])
        erased.relations = self._relations.remove_evidence(frozenset(ids))
        for relation in erased.relations:
            erased.counts["relation"] += 1
            erased.entities |= {relation["subject"], relation["object"]}
        for memory in ids:
            graph.remove_node(self._connection, memory)
        self._vectors.remove(ids)
        for table, column in REFERENCES:
            if table not in {"memory", "edge"}:
                self._rows(f"DELETE FROM {table} WHERE {column} IN {_IDS}", ids)
        self._rows(f"DELETE FROM memory WHERE id IN {_IDS}", ids)
        self._set_contexts(self._contexts(followers))
        self._words.add(followers)
        erased.stems = self._words.unused(stems)
        return erased

    def raw_rows(self, ids: Sequence[int]) -> list[dict[str, Any]]:
        """Return whole rows of memories by column, for :meth:`restore`."""
        columns = sql.columns(self._connection, "memory")
        statement = f"SELECT {', '.join(columns)} FROM memory WHERE id IN {_IDS} ORDER BY id"
        rows = self._rows(statement, ids)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def restore(self, rows: Sequence[dict[str, Any]], zone: dt.tzinfo) -> list[StoredMemory]:
        """Write erased rows again; the caller derives words and the rest.

        A row whose memory has a newer current version is superseded by it. A row whose partition
        was removed stays erased.
        """
        ids = []
        for row in rows:
            partition = partition_of(row["id"])
            if not sql.row(self._connection, "SELECT 1 FROM partition WHERE no = ?", (partition,)):
                continue
            newer = sql.row(
                self._connection,
                "SELECT recorded_s FROM memory WHERE space = :space AND doc_id = :doc_id"
                " AND redacted_view = :redacted_view AND superseded_s IS NULL",
                {name: row[name] for name in ("space", "doc_id", "redacted_view")},
            )
            superseded_s = row["superseded_s"]
            if superseded_s is None and newer is not None:
                superseded_s = newer[0]
            self._connection.execute(
                f"INSERT INTO memory({', '.join(row)})"
                f" VALUES({', '.join(f':{name}' for name in row)})",
                {**row, "superseded_s": superseded_s},
            )
            ids.append(row["id"])
        self._connection.executemany(
            "UPDATE memory SET context_id = ? WHERE id = ?",
            [(context, memory) for memory, context in self._contexts(ids).items()],
        )
        return memories.load(
            self._connection,
            "m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id",
            (json.dumps(ids),),
            zone,
        )

    def update_contexts_after(self, ids: Sequence[int]) -> None:
        """Update the contexts of memories that follow restored ones."""
        followers = sorted({after for memory in ids for after in self._after(memory)} - {*ids})
        self._words.remove(followers)
        self._set_contexts(self._contexts(followers))
        self._words.add(followers)

    def _after(self, memory: int) -> list[int]:
        """List the next current and all later superseded memories in the session of one."""
        rows = sql.rows(
            self._connection,
            "SELECT n.id, n.superseded_s IS NULL FROM memory m JOIN memory n ON n.space = m.space"
            " AND n.session_id = m.session_id AND n.id >> 40 = m.id >> 40"
            " AND (n.order_s, n.id) > (m.order_s, m.id)"
            " WHERE m.id = ? ORDER BY n.order_s, n.id",
            (memory,),
        )
        current = [after for after, is_current in rows if is_current]
        return [*current[:1], *(after for after, is_current in rows if not is_current)]

    def _contexts(self, ids: Sequence[int]) -> dict[int, int | None]:
        """Return the memory before each of some memories in its session.

        For a superseded memory it is the one before it when it was superseded.
        """
        contexts: dict[int, int | None] = {}
        for memory in ids:
            row = sql.row(
                self._connection,
                "SELECT p.id FROM memory m JOIN memory p ON p.space = m.space"
                " AND p.session_id = m.session_id AND p.id >> 40 = m.id >> 40"
                " AND (p.order_s, p.id) < (m.order_s, m.id)"
                " WHERE m.id = ? AND CASE WHEN m.superseded_s IS NULL THEN p.superseded_s IS NULL"
                "  ELSE p.recorded_s <= m.superseded_s AND p.doc_id <> m.doc_id"
                "   AND (p.superseded_s IS NULL OR p.superseded_s > m.superseded_s) END"
                " ORDER BY p.order_s DESC, p.id DESC LIMIT 1",
                (memory,),
            )
            contexts[memory] = row[0] if row else None
        return contexts

    def _set_contexts(self, contexts: Mapping[int, int | None]) -> None:
        self._connection.executemany(
            "UPDATE memory SET context_id = ? WHERE id = ?",
            [(context, memory) for memory, context in contexts.items()],
        )
        rows = self._rows(
            f"SELECT context_id, id FROM memory WHERE id IN {_IDS}"
            " AND superseded_s IS NULL AND context_id IS NOT NULL",
            contexts,
        )
        graph.add_edges(
            self._connection,
            [(context, memory, self._next_weight, "next") for context, memory in rows],
        )

    def _people_who_lose_feedback(self, ids: Sequence[int]) -> set[str]:
        """List people with feedback on these memories or on superseded versions of them."""
        rows = self._rows(
            f"WITH gone(id) AS {_IDS} SELECT p.person_id FROM person p WHERE p.no IN ("
            "  SELECT j.person FROM feedback j WHERE j.memory IN gone"
            "  UNION SELECT j.person FROM shown s JOIN feedback j ON j.no = s.feedback"
            "   WHERE s.memory IN gone"
            "  UNION SELECT l.person FROM learned l WHERE EXISTS"
            "   (SELECT 1 FROM memory m JOIN gone ON gone.id = m.id"
            "    WHERE m.superseded_s IS NOT NULL)"
            "   AND l.feedback NOT IN (SELECT no FROM feedback))",
            ids,
        )
        return {person_id for (person_id,) in rows}

    def _counts(self, ids: Sequence[int]) -> dict[str, int]:
        """Count the rows to erase by table; an edge counts once."""
        counts = {
            table: self._rows(f"SELECT count(*) FROM {table} WHERE {column} IN {_IDS}", ids)[0][0]
            for table, column in REFERENCES
            if column not in {"context_id", "dst"}
        }
        return {table: n for table, n in counts.items() if n}

    def _rows(self, statement: str, ids: Iterable[int]) -> list[Any]:
        """Run a statement with memory ids bound to ``_IDS``."""
        return sql.rows(self._connection, statement, (json.dumps(list(ids)),))

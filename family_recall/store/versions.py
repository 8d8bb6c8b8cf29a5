"""Versions of memories: those that a choice of what to forget, or a source, means."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import apsw

from family_recall.store import scope_sql
from family_recall.store.file import sql
from family_recall.store.file.schema import PARTITION_SHIFT, id_range
from family_recall.store.memories import name_of
from family_recall.store.scope_sql import Condition

_IN_PARTITIONS = f"id >> {PARTITION_SHIFT} IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a memory, or of a redacted view of it (``view`` above 0)."""

    id: int
    space_id: str
    doc_id: str
    author: str | None
    text: str
    occurred_at: str | None
    recorded_s: float
    past: bool
    view: int
    author_name: str | None
    content_hash: bytes

    @property
    def memory(self) -> tuple[str, str]:
        """The space and doc_id of the memory it is a version of."""
        return self.space_id, self.doc_id


@dataclass(frozen=True, slots=True)
class Criteria:
    """Conditions that all hold of a version; None means any. Moments are epoch seconds.

    ``memories`` are (space_id, doc_id), the space None for any; ``authors`` are as written;
    intervals are half-open.
    """

    memories: Collection[tuple[str | None, str]] | None = None
    authors: Collection[str] | None = None
    ids: Collection[int] | None = None
    space_id: str | None = None
    session_id: str | None = None
    occurred_s: tuple[float | None, float | None] = (None, None)
    recorded_s: tuple[float | None, float | None] = (None, None)
    category: str | None = None
    source: str | None = None
    older_than_s: float | None = None

    def condition(self) -> Condition:
        """Return the criteria as a condition on ``memory m`` joined with its ``space s``."""
        memories = None if self.memories is None else json.dumps([*map(list, self.memories)])
        conditions: list[tuple[str, object]] = [
            (
                (
                    "((m.doc_id, s.space_id) IN"
                    " (SELECT d.value ->> 1, d.value ->> 0 FROM json_each(?) d) OR m.doc_id IN"
                    " (SELECT d.value ->> 1 FROM json_each(?) d WHERE d.value ->> 0 IS NULL))"
                ),
                memories,
            ),
            ("m.author IN (SELECT value FROM json_each(?))", _json(self.authors)),
            ("m.id IN (SELECT value FROM json_each(?))", _json(self.ids)),
            ("s.space_id = ?", self.space_id),
            ("m.session_id = ?", self.session_id),
            ("m.occurred_s >= ?", self.occurred_s[0]),
            ("m.occurred_s < ?", self.occurred_s[1]),
            ("m.recorded_s >= ?", self.recorded_s[0]),
            ("m.recorded_s < ?", self.recorded_s[1]),
            ("m.category = ?", self.category),
            ("m.source = ?", self.source),
            (
                "max(m.recorded_s, coalesce(m.occurred_s, m.recorded_s)) < ?",
                self.older_than_s,
            ),
        ]
        return scope_sql.every(
            *((sql, (value,) * sql.count("?")) for sql, value in conditions if value is not None)
        )


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of memories in one file, inside one transaction."""

    connection: apsw.Connection

    def find(self, partitions: Collection[int] | None, criteria: Criteria) -> list[Version]:
        """List the versions that meet the criteria, by id; None means every partition."""
        condition = criteria.condition()
        if partitions is not None:
            condition = scope_sql.every((f"m.{_IN_PARTITIONS}", (_json(partitions),)), condition)
        return self._load(condition)

    def superseded(self, partition: int) -> list[Version]:
        """List the superseded versions of a partition, by id."""
        in_partition = ("m.id BETWEEN ? AND ? AND m.superseded_s IS NOT NULL", id_range(partition))
        return self._load(in_partition)

    def texts(self) -> Iterator[tuple[int, str]]:
        """Yield the texts of each version in which a name may stand, joined, by row id."""
        rows = sql.rows(
            self.connection,
            "SELECT id, text, title, summary, section, fact_value, labels FROM memory ORDER BY id",
        )
        for memory, *texts in rows:
            yield memory, "\n".join(filter(None, texts))

    def authors(self, partitions: Collection[int]) -> list[str]:
        """List the authors in some partitions, as written."""
        rows = sql.rows(
            self.connection,
            f"SELECT DISTINCT author FROM memory WHERE {_IN_PARTITIONS} AND author IS NOT NULL",
            (_json(partitions),),
        )
        return [author for (author,) in rows]

    def count_by_source(self, partitions: Collection[int]) -> list[tuple[str, int, int, str]]:
        """Count, for each source and space, current memories and those with history alone."""
        return sql.rows(
            self.connection,
            "SELECT source, sum(n_current > 0), sum(n_current = 0), space_id FROM"
            " (SELECT m.source, s.space_id, sum(m.superseded_s IS NULL) AS n_current"
            "  FROM memory m JOIN space s ON s.no = m.space"
            f" WHERE m.source IS NOT NULL AND m.{_IN_PARTITIONS}"
            "  GROUP BY m.source, m.space, m.doc_id)"
            " GROUP BY source, space_id ORDER BY source, space_id",
            (_json(partitions),),
        )

    def of_source(self, source: str, doc_id: str | None = None) -> list[Version]:
        """List the current memories of a source, or those of one id, with their redacted views."""
        originals = (
            "SELECT o.space, o.doc_id FROM memory o WHERE o.source = ?1 AND o.redacted_view = 0"
            " AND o.superseded_s IS NULL AND coalesce(?2, o.doc_id) = o.doc_id"
        )
        return self._load(
            (f"m.superseded_s IS NULL AND (m.space, m.doc_id) IN ({originals})", (source, doc_id))
        )

    def mentioning(self, partitions: Collection[int], person_id: str) -> list[int]:
        """List the current memories of some partitions that mention a person."""
        rows = sql.rows(
            self.connection,
            "SELECT DISTINCT n.memory AS id FROM person p JOIN entity e ON e.person = p.no"
            " JOIN mentioned n ON n.entity = e.id AND n.role = 'mention'"
            f" WHERE p.person_id = ? AND n.memory >> {PARTITION_SHIFT} IN"
            " (SELECT value FROM json_each(?))",
            (person_id, _json(partitions)),
        )
        return [memory for (memory,) in rows]

    def with_following(self, ids: Collection[int]) -> list[int]:
        """List memories and those whose context they are."""
        rows = sql.rows(
            self.connection,
            "SELECT value FROM json_each(?1) UNION SELECT id FROM memory"
            " WHERE context_id IN (SELECT value FROM json_each(?1))",
            (_json(ids),),
        )
        return [memory for (memory,) in rows]

    def _load(self, condition: Condition) -> list[Version]:
        where, values = condition
        return [
            Version(memory, space_id, doc_id, author, text, at, recorded_s, bool(past), *rest)
            for memory, space_id, doc_id, author, text, at, recorded_s, past, *rest in sql.rows(
                self.connection,
                "SELECT m.id, s.space_id, m.doc_id, m.author, m.text, m.occurred_at, m.recorded_s,"
                f" m.superseded_s IS NOT NULL, m.redacted_view, {name_of('m')}, m.content_hash"
                f" FROM memory m JOIN space s ON s.no = m.space WHERE {where} ORDER BY m.id",
                values,
            )
        ]


def _json(values: Collection[object] | None) -> str | None:
    return None if values is None else json.dumps(sorted(values))

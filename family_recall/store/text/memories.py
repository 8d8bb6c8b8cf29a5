"""Rows of memories: written one by one, read whole or as the columns that ranking needs."""

from __future__ import annotations

import datetime as dt
import json
import operator
from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any

import apsw
import numpy as np

from family_recall.store import scope_sql, word_entries
from family_recall.store.file import checksums, sql
from family_recall.store.file.row_ids import PARTITION_SHIFT
from family_recall.store.records import MemoryRow, NewMemory, Rows, Statement, StoredMemory
from family_recall.store.text.author_names import name_of
from family_recall.store.text.full_text import Words
from family_recall.types import CATEGORIES, KINDS, IdArray, Memory, Scope, parse_moment

_KINDS, _CATEGORIES = frozenset(KINDS), frozenset(CATEGORIES)
_BLANK: dict[str, Any] = {
    spec.name: "" if spec.default is MISSING else spec.default for spec in fields(Memory)
}
_AS_IT_IS = (
    "text", "title", "summary", "kind", "category", "author", "session_id", "source", "url",
    "section", "band", "guardians_of", "importance", "valence", "arousal", "fact_key", "fact_value",
    "event_type",
)  # fmt: skip
_SELECT = f"""
SELECT s.space_id, {name_of("m")}, m.superseded_s, m.checksum,
  {", ".join("m." + column for column in checksums.COVERED)}
FROM"""
_OF_SPACE = "JOIN space s ON s.no = m.space"


def body_of(memory: Memory) -> str:
    """Join the views of a memory that are searched as its own words."""
    return "\n".join(part for part in (memory.title, memory.text, memory.summary) if part)


def new_row(
    memory_id: int,
    new: NewMemory,
    *,
    space: int,
    redacted_view: int,
    recorded_s: float,
    order_s: float,
    context_id: int | None,
) -> tuple[Any, ...]:
    """Return a row but for its words, for :func:`insert`; ``space`` is the space's number."""
    memory = new.memory
    (text, title, summary, kind, category, author, session_id, source, url, section, band,
     guardians_of, importance, valence, arousal, fact_key, fact_value, event_type,
    ) = _as_it_is(memory)  # fmt: skip
    real = checksums.as_stored
    covered = (
        memory_id, space, real(new.occurred_s), real(recorded_s), new.doc_id, text, title,
        summary, kind, category, author, session_id, source, url, section,
        json.dumps(memory.labels) if memory.labels else None, band, guardians_of,
        real(importance), real(valence), real(arousal), fact_key, fact_value, event_type,
        new.occurred_at, real(new.valid_from_s), real(new.valid_until_s),
    )  # fmt: skip
    return (
        *covered, order_s, new.header, new.cues, context_id, new.content_hash,
        checksums.checksum_of(covered), redacted_view,
    )  # fmt: skip


def insert(
    connection: apsw.Connection, rows: Sequence[tuple[Any, ...]], words: Sequence[Words]
) -> None:
    """Write rows, each with its words."""
    connection.executemany(
        _INSERT,
        [(*row, each.n_words, each.entries) for row, each in zip(rows, words, strict=True)],
    )


_as_it_is = operator.attrgetter(*_AS_IT_IS)
_COLUMNS = (
    *checksums.COVERED, "order_s", "header", "cues", "context_id", "content_hash", "checksum",
    "redacted_view", "n_words", "words",
)  # fmt: skip
_INSERT = f"INSERT INTO memory({', '.join(_COLUMNS)}) VALUES({', '.join('?' * len(_COLUMNS))})"


def load(
    connection: apsw.Connection, where: str, values: Sequence[object], zone: dt.tzinfo
) -> list[StoredMemory]:
    """Load whole memories by a condition on ``m``."""
    rows = sql.rows(connection, f"{_SELECT} memory m {_OF_SPACE} WHERE {where}", tuple(values))
    return [_stored(MemoryRow._make(row), zone) for row in rows]


def load_ids(
    connection: apsw.Connection, ids: IdArray, condition: scope_sql.Condition, zone: dt.tzinfo
) -> list[StoredMemory]:
    """Load the memories of these ids that meet a condition, in the order of ``ids``."""
    return [_stored(row, zone) for row in load_rows(connection, ids, condition)]


def load_rows(
    connection: apsw.Connection, ids: IdArray, condition: scope_sql.Condition
) -> list[MemoryRow]:
    """Load the rows of these ids that meet a condition, in the order of ``ids``."""
    rows = sql.rows(
        connection,
        f"{_SELECT} carray(?) ids CROSS JOIN memory m ON m.id = ids.value {_OF_SPACE}"
        f" WHERE {condition[0]}",
        (sql.id_array(ids), *condition[1]),
    )
    return list(map(MemoryRow._make, rows))


def authors_and_texts(
    connection: apsw.Connection, ids: IdArray, scope: Scope
) -> dict[int, tuple[str | None, str]]:
    """Load what a model reads of memories: (author, text); none the scope does not cover."""
    condition, values = scope_sql.visible(scope)
    rows = sql.rows(
        connection,
        f"SELECT m.id, {name_of('m')}, m.text FROM memory m"
        f" WHERE m.id IN (SELECT value FROM carray(?)) AND {condition}",
        (sql.id_array(ids), *values),
    )
    return {memory: (author, text) for memory, author, text in rows}


def statements(connection: apsw.Connection, ids: IdArray, scope: Scope) -> dict[int, Statement]:
    """Load what memories say and from when, by id; none the scope does not cover."""
    condition, values = scope_sql.visible(scope)
    rows = sql.rows(
        connection,
        "SELECT m.id, m.text, m.space, m.fact_key, m.fact_value,"
        " coalesce(m.valid_from_s, m.occurred_s, m.recorded_s)"
        f" FROM carray(?) ids CROSS JOIN memory m ON m.id = ids.value WHERE {condition}",
        (sql.id_array(ids), *values),
    )
    return {memory: Statement(*columns) for memory, *columns in rows}


def covered(connection: apsw.Connection, ids: IdArray, scope: Scope) -> IdArray:
    """Return those of the ids that the scope's moments and filters let through."""
    condition, values = scope_sql.visible(scope)
    rows = sql.rows(
        connection,
        f"SELECT m.id FROM carray(?) ids CROSS JOIN memory m ON m.id = ids.value WHERE {condition}",
        (sql.id_array(ids), *values),
    )
    return np.array([memory for (memory,) in rows], np.int64)


def ranking_columns(connection: apsw.Connection, ids: IdArray, scope: Scope) -> Rows:
    """Load the ranking columns of these ids that the scope covers, ascending by id.

    Raises:
        ValueError: If a value could not have been stored: the file is damaged there.
    """
    condition, values = scope_sql.visible(scope)
    rows = sql.rows(
        connection,
        "SELECT m.id, m.doc_id, m.author, m.kind, m.category, m.occurred_s, m.importance,"
        " m.valence, m.arousal, m.n_words, m.session_id, m.words, m.cues"
        f" FROM carray(?) ids CROSS JOIN memory m ON m.id = ids.value WHERE {condition}",
        (sql.id_array(np.sort(ids)), *values),
    )
    columns = list(zip(*rows, strict=True)) if rows else [()] * 13
    if rows:
        _check(columns[1:3], columns[3], columns[4], {*columns[6], *columns[7], *columns[8]})
    return Rows(
        ids=np.array(columns[0], np.int64),
        doc_ids=columns[1],
        authors=columns[2],
        kinds=columns[3],
        categories=columns[4],
        occurred_s=np.array(columns[5], np.float64),  # None becomes NaN
        importance=columns[6],
        valence=columns[7],
        arousal=columns[8],
        n_words=np.array(columns[9], np.int64),
        cues=np.array(columns[12], np.int64),
        sessions=_session_numbers(columns[0], columns[10]),
        words=word_entries.row_words(columns[11]),
    )


def _check(
    names: Sequence[Sequence[object]],
    kinds: Sequence[str],
    categories: Sequence[str],
    numbers: set[float],
) -> None:
    """Refuse what could not have been stored: ranking has a place for each kind and category."""
    if bytes in {*map(type, names[0]), *map(type, names[1])}:
        raise ValueError("a damaged row: a name of bytes")
    unknown = {*kinds} - _KINDS or {*categories} - _CATEGORIES
    if unknown or max(numbers) > 1.0 or min(numbers) < -1.0:
        raise ValueError(f"a damaged row: {unknown or 'a number'}")


def _session_numbers(ids: Sequence[int], names: Sequence[str | None]) -> IdArray:
    """Number the sessions within their partitions; a memory without one gets its own number."""
    numbers: dict[object, int] = {}
    keys = [
        memory if name is None else (memory >> PARTITION_SHIFT, name)
        for memory, name in zip(ids, names, strict=True)
    ]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def _stored(row: MemoryRow, zone: dt.tzinfo) -> StoredMemory:
    content = row[-len(checksums.CONTENT) :]
    record: dict[str, Any] = dict(zip(checksums.CONTENT, content, strict=True))
    if not checksums.is_intact(row):
        # Not a word of it goes any further.
        blank = {**_BLANK, "space_id": row.space_id, "doc_id": str(row.doc_id)}
        return StoredMemory(
            row.id, Memory.as_stored(**blank), row.recorded_s, row.superseded_s, intact=False
        )
    record["occurred_at"] = parse_moment(row.occurred_at, "occurred_at")
    for name in ("valid_from", "valid_until"):
        moment_s = record.pop(f"{name}_s")
        record[name] = None if moment_s is None else dt.datetime.fromtimestamp(moment_s, zone)
    record["labels"] = tuple(json.loads(row.labels)) if row.labels else ()
    return StoredMemory(
        row.id,
        Memory.as_stored(space_id=row.space_id, **record),
        row.recorded_s,
        row.superseded_s,
        author_name=row.author_name,
    )

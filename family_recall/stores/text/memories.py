"""Memory rows: records in, whole memories or the columns that ranking reads out."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, replace
from typing import Any

import apsw
import numpy as np

from family_recall.stores import scope_sql
from family_recall.stores.file import checksums, sql
from family_recall.stores.file.row_ids import PARTITION_SHIFT, id_range
from family_recall.stores.records import (
    WORD_ENTRY,
    Hits,
    Milestone,
    NewMemory,
    Occurred,
    Rows,
    StoredMemory,
    ToEmbed,
    View,
)
from family_recall.stores.text import full_text
from family_recall.types import CATEGORIES, KINDS, Filters, IdArray, Memory, Scope, parse_moment

_COLUMNS = checksums.TOLD
# Epoch seconds of the years 1 to 9999: whatever else stands for a moment, a disk has made of it.
_MOMENTS = "-62135650000 AND 253402345000"
_KINDS, _CATEGORIES = frozenset(KINDS), frozenset(CATEGORIES)
_UNTOLD: dict[str, Any] = {
    spec.name: "" if spec.default is MISSING else spec.default for spec in fields(Memory)
}


def body_of(memory: Memory) -> str:
    """Join the views of a memory that are searched as its own words."""
    return "\n".join(part for part in (memory.title, memory.text, memory.summary) if part)


def insert(
    connection: apsw.Connection,
    memory_id: int,
    new: NewMemory,
    *,
    recorded_s: float,
    order_s: float,
    context_id: int | None,
    words: full_text.Words,
) -> None:
    """Write one row."""
    memory = new.memory
    values: dict[str, Any] = {
        "id": memory_id, "doc_id": new.doc_id, "text": memory.text, "title": memory.title,
        "summary": memory.summary, "kind": memory.kind, "category": memory.category,
        "author": memory.author, "session_id": memory.session_id, "source": memory.source,
        "url": memory.url, "section": memory.section,
        "labels": json.dumps(memory.labels) if memory.labels else None, "band": memory.band,
        "guardians_of": memory.guardians_of,
        "importance": memory.importance, "valence": memory.valence, "arousal": memory.arousal,
        "fact_key": memory.fact_key, "fact_value": memory.fact_value,
        "event_type": memory.event_type, "occurred_s": new.occurred_s,
        "occurred_at": memory.occurred_at.isoformat() if memory.occurred_at else None,
        "valid_from_s": new.valid_from_s, "valid_until_s": new.valid_until_s,
        "recorded_s": recorded_s, "order_s": order_s, "header": new.header,
        "context_id": context_id, "n_words": words.n_words, "words": words.entries,
        "content_hash": new.content_hash,
    }  # fmt: skip
    (values["space"],) = sql.row(
        connection, "SELECT no FROM space WHERE space_id = ?", (memory.space_id,)
    )
    values["seal"] = checksums.checksum_of(
        [checksums.as_kept(name, values[name]) for name in checksums.SEALED]
    )
    connection.execute(_INSERT, values)


_INSERT = """
INSERT INTO memory(
  id, space, doc_id, text, title, summary, kind, category, author, session_id, source, url,
  section, labels, band, guardians_of, importance, valence, arousal, fact_key, fact_value,
  event_type, occurred_s, occurred_at, valid_from_s, valid_until_s, recorded_s, order_s,
  header, context_id, n_words, words, content_hash, seal, veil)
VALUES(
  :id, :space, :doc_id, :text, :title, :summary,
  :kind, :category, :author, :session_id, :source, :url, :section, :labels, :band,
  :guardians_of, :importance, :valence, :arousal, :fact_key, :fact_value, :event_type,
  :occurred_s, :occurred_at, :valid_from_s, :valid_until_s, :recorded_s, :order_s, :header,
  :context_id, :n_words, :words, :content_hash, :seal,
  (SELECT veil FROM partition WHERE no = :id >> 40))
"""

_SELECT = f"""
SELECT s.space_id, m.superseded_s, m.seal,
  {", ".join("m." + column for column in checksums.SEALED)}
FROM memory m JOIN space s ON s.no = m.space
"""


def load(
    connection: apsw.Connection, where: str, values: Sequence[object], zone: dt.tzinfo
) -> list[StoredMemory]:
    """Load whole memories by a condition on ``m``."""
    return [
        _stored(row, zone)
        for row in sql.rows(connection, f"{_SELECT} WHERE {where}", tuple(values))
    ]


def load_ids(
    connection: apsw.Connection, ids: IdArray, scope: Scope, zone: dt.tzinfo
) -> list[StoredMemory]:
    """Load the memories of these ids that the scope covers, in the order of ``ids``."""
    condition, values = scope_sql.visible(scope)
    found = {
        stored.id: stored
        for stored in load(
            connection,
            f"m.id IN (SELECT value FROM carray(?)) AND {condition}",
            (sql.id_array(ids), *values),
            zone,
        )
    }
    return [found[memory] for memory in ids.tolist() if memory in found]


def passages(connection: apsw.Connection, ids: IdArray, scope: Scope) -> dict[int, str]:
    """Load memories as a model reads them, `Author: text`; none the scope does not cover."""
    condition, values = scope_sql.visible(scope)
    found = sql.rows(
        connection,
        "SELECT m.id, m.author, m.text FROM memory m"
        f" WHERE m.id IN (SELECT value FROM carray(?)) AND {condition}",
        (sql.id_array(ids), *values),
    )
    return {memory: f"{author}: {text}" if author else text for memory, author, text in found}


def rows(connection: apsw.Connection, ids: IdArray, scope: Scope) -> Rows:
    """Load the ranking columns of these ids that the scope covers, ascending by id."""
    condition, values = scope_sql.visible(scope)
    found = sql.rows(
        connection,
        "SELECT m.id, m.doc_id, m.author, m.kind, m.category, m.occurred_s, m.importance,"
        " m.valence, m.arousal, m.n_words, m.session_id, m.words"
        f" FROM carray(?) ids CROSS JOIN memory m ON m.id = ids.value WHERE {condition}",
        (sql.id_array(np.sort(ids)), *values),
    )  # fmt: skip
    columns = list(zip(*found, strict=True)) if found else [()] * 12
    if found:
        _check(columns[3], columns[4], columns[6:9])
    blobs: tuple[bytes, ...] = columns[11]
    counts = [len(blob) // WORD_ENTRY.itemsize for blob in blobs]
    occurred = [np.nan if moment is None else moment for moment in columns[5]]
    return Rows(
        ids=np.array(columns[0], np.int64),
        doc_ids=columns[1],
        authors=columns[2],
        kinds=columns[3],
        categories=columns[4],
        occurred_s=np.array(occurred, np.float64),
        importance=np.array(columns[6], np.float32),
        valence=np.array(columns[7], np.float32),
        arousal=np.array(columns[8], np.float32),
        n_words=np.array(columns[9], np.int64),
        sessions=_numbered(columns[0], columns[10]),
        words=np.frombuffer(b"".join(blobs), WORD_ENTRY),
        word_rows=np.repeat(np.arange(len(found)), counts),
    )


def _check(
    kinds: Sequence[str], categories: Sequence[str], numbers: Sequence[Sequence[float]]
) -> None:
    """Refuse what could not have been stored: ranking has a place for each kind and category."""
    strange = {*kinds} - _KINDS or {*categories} - _CATEGORIES
    if strange or max(map(max, numbers)) > 1.0 or min(map(min, numbers)) < -1.0:
        raise ValueError(f"a damaged row: {strange or 'a number'}")


def newest(connection: apsw.Connection, scope: Scope, k: int, *, lasting: bool) -> Hits:
    """Give each partition's k newest memories in scope, the newest recorded of all first."""
    condition, values = scope_sql.visible(scope)
    # The words of the partial index `memory_lasting`.
    kinds = "m.kind IN ('fact', 'profile', 'milestone')" if lasting else "TRUE"
    found = [
        row
        for partition in scope.partitions
        for row in sql.rows(
            connection,
            f"SELECT m.recorded_s, m.id FROM memory m WHERE m.id BETWEEN ? AND ? AND {kinds}"
            f" AND m.recorded_s BETWEEN {_MOMENTS} AND {condition} ORDER BY m.id DESC LIMIT ?",
            (*id_range(partition), *values, k),
        )
    ]
    found.sort(reverse=True)
    return Hits(
        np.array([memory for _, memory in found], np.int64),
        np.array([moment for moment, _ in found], np.float32),
    )


def occurred(connection: apsw.Connection, scope: Scope) -> Occurred:
    """Give everything in scope that has a moment and lies in the scope's interval."""
    condition, values = scope_sql.visible(scope)
    found = sql.rows(
        connection,
        "SELECT m.id, m.occurred_s, m.importance FROM memory m"
        f" WHERE m.occurred_s IS NOT NULL AND m.occurred_s BETWEEN {_MOMENTS}"
        f" AND m.importance BETWEEN 0 AND 1 AND {condition}"
        f" AND m.id >> {PARTITION_SHIFT} IN (SELECT value FROM carray(?))",
        (*values, sql.id_array(np.array(scope.partitions, np.int64))),
    )
    columns = list(zip(*found, strict=True)) if found else [()] * 3
    return Occurred(
        ids=np.array(columns[0], np.int64),
        moments_s=np.array(columns[1], np.float64),
        importance=np.array(columns[2], np.float32),
    )


# The words of the partial index `memory_milestone`, to the letter: else it is not used.
_DATED = (
    "(m.kind = 'milestone' OR m.fact_key GLOB '*birth*' OR m.fact_key GLOB '*anniversary*'"
    " OR m.fact_key GLOB '*date*' OR m.fact_key GLOB '*wedding*')"
)


def milestones(
    connection: apsw.Connection,
    scope: Scope,
    wanted: Callable[[str | None, str | None], bool],
    limit: int,
) -> list[Milestone]:
    """Load milestones and dated facts of wanted (event_type, fact_key), in the order of ids.

    The names are read from the index alone, and of what is wanted the first 300 characters.
    """
    names = sql.rows(
        connection,
        f"SELECT m.event_type, m.fact_key, group_concat(m.id) FROM memory m WHERE {_DATED}"
        f" AND m.id >> {PARTITION_SHIFT} IN (SELECT value FROM carray(?))"
        f" GROUP BY m.id >> {PARTITION_SHIFT}, m.event_type, m.fact_key",
        (sql.id_array(np.array(scope.partitions, np.int64)),),
    )
    chosen = [row[2] for row in names if wanted(*row[:2])]
    ids = [int(memory) for together in chosen for memory in together.split(",")]
    if not ids:
        return []
    condition, values = scope_sql.visible(replace(scope, filters=Filters()))
    found = sql.rows(
        connection,
        "SELECT substr(m.text, 1, 300), m.author, m.event_type, m.fact_key, m.fact_value,"
        " m.occurred_at FROM carray(?) ids CROSS JOIN memory m ON m.id = ids.value"
        f" WHERE {condition} LIMIT ?",
        (sql.id_array(np.sort(np.array(ids, np.int64))), *values, limit),
    )
    return [
        Milestone(
            text=text,
            author=author,
            event_type=event_type,
            fact_key=fact_key,
            fact_value=fact_value,
            occurred_at=dt.datetime.fromisoformat(moment) if moment else None,
        )
        for text, author, event_type, fact_key, fact_value, moment in found
    ]


def to_embed(
    connection: apsw.Connection, model_id: str, *, after: int, limit: int
) -> list[ToEmbed]:
    """List memories past an id that have no vector of a model yet, in the order of ids."""
    return _readings(
        connection,
        "m.id > ? AND NOT EXISTS (SELECT 1 FROM embedding e JOIN embedding_model k"
        " ON k.no = e.model AND k.model_id = ? WHERE e.memory = m.id) ORDER BY m.id LIMIT ?",
        (after, model_id, limit),
    )


def n_to_embed(connection: apsw.Connection, model_id: str) -> int:
    """Count the memories that have no vector of a model yet."""
    (n,) = sql.row(
        connection,
        "SELECT (SELECT count(*) FROM memory) - (SELECT count(*) FROM embedding e"
        " JOIN embedding_model k ON k.no = e.model WHERE k.model_id = ?)",
        (model_id,),
    )
    return int(n)


def readings(connection: apsw.Connection, ids: Sequence[int]) -> list[ToEmbed]:
    """Give what a model is to read of some memories."""
    return _readings(
        connection,
        "m.id IN (SELECT value FROM carray(?)) ORDER BY m.id",
        (sql.id_array(np.array(ids, np.int64)),),
    )


def _readings(
    connection: apsw.Connection, condition: str, values: tuple[object, ...]
) -> list[ToEmbed]:
    rows = sql.rows(
        connection,
        f"SELECT m.id, m.author, m.title, m.text, m.summary FROM memory m WHERE {condition}",
        values,
    )
    return [
        ToEmbed(memory, author, text, _views(title, summary))
        for memory, author, title, text, summary in rows
    ]


def _views(title: str | None, summary: str | None) -> dict[View, str]:
    views: dict[View, str] = {}
    if title:
        views["title"] = title
    if summary:
        views["summary"] = summary
    return views


def _numbered(ids: Sequence[int], names: Sequence[str | None]) -> IdArray:
    """Number the sessions within their partitions; a memory without one gets its own number."""
    numbers: dict[object, int] = {}
    keys = [
        memory if name is None else (memory >> PARTITION_SHIFT, name)
        for memory, name in zip(ids, names, strict=True)
    ]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def covered(connection: apsw.Connection, ids: IdArray, scope: Scope) -> IdArray:
    """Give those of the ids that the scope's moments and filters let through."""
    condition, values = scope_sql.visible(scope)
    found = sql.rows(
        connection,
        f"SELECT m.id FROM carray(?) ids CROSS JOIN memory m ON m.id = ids.value WHERE {condition}",
        (sql.id_array(ids), *values),
    )
    return np.array([row[0] for row in found], np.int64)


def _stored(row: tuple[Any, ...], zone: dt.tzinfo) -> StoredMemory:
    space_id, superseded_s, seal, *sealed = row
    memory_id, _, _, recorded_s, *told = sealed
    record = dict(zip(_COLUMNS, told, strict=True))
    if checksums.checksum_of(sealed) != seal:
        # Not a word of it goes any further.
        blank = {**_UNTOLD, "space_id": space_id, "doc_id": str(record["doc_id"])}
        return StoredMemory(
            memory_id, Memory.as_stored(**blank), recorded_s, superseded_s, intact=False
        )
    record["occurred_at"] = parse_moment(record["occurred_at"], "occurred_at")
    for name in ("valid_from", "valid_until"):
        moment_s = record.pop(f"{name}_s")
        record[name] = None if moment_s is None else dt.datetime.fromtimestamp(moment_s, zone)
    record["labels"] = tuple(json.loads(record["labels"])) if record["labels"] else ()
    return StoredMemory(
        memory_id, Memory.as_stored(space_id=space_id, **record), recorded_s, superseded_s
    )

"""Rows of memories: written, and read whole."""

from __future__ import annotations

import datetime as dt
import json
import operator
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, NamedTuple

import apsw

from family_recall.store import scope_sql
from family_recall.store.file import checksums, sql
from family_recall.types import (
    IdArray,
    Memory,
    parse_moment,
)

MIN_MOMENT_S = -62_104_200_000.0
MAX_MOMENT_S = 253_370_900_000.0
"""Between these, in epoch seconds, any zone can show a moment: the years 2 to 9998."""


class MemoryRow(NamedTuple):
    """A memory's row as it lies in the file, with what its answer names: its space and author."""

    space_id: str
    author_name: str | None
    superseded_s: float | None
    checksum: bytes
    id: int
    space: int
    occurred_s: float | None
    recorded_s: float
    doc_id: str
    text: str
    title: str | None
    summary: str | None
    kind: str
    category: str
    author: str | None
    session_id: str | None
    source: str | None
    url: str | None
    section: str | None
    labels: str | None
    band: str
    guardians_of: str | None
    importance: float
    valence: float
    arousal: float
    fact_key: str | None
    fact_value: str | None
    event_type: str | None
    occurred_at: str | None
    valid_from_s: float | None
    valid_until_s: float | None

    @property
    def is_intact(self) -> bool:
        """Whether it matches its checksum."""
        return checksums.checksum_of(self[-len(checksums.COVERED) :]) == self.checksum


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory as stored.

    Where it is not ``intact``, its row was changed by a damaged disk: the memory has then its
    ``space_id`` and ``doc_id``, and an empty text. ``author_name`` is the name of the person whom
    the memory has as its author, or the author as heard.
    """

    id: int
    memory: Memory
    recorded_s: float
    superseded_s: float | None
    intact: bool = True
    author_name: str | None = None


class NewMemory(NamedTuple):
    """A memory prepared for writing: moments in epoch seconds, and its header.

    ``occurred_at`` is that moment as it is written down.
    """

    memory: Memory
    doc_id: str
    recorded_s: float
    occurred_at: str | None
    occurred_s: float | None
    valid_from_s: float | None
    valid_until_s: float | None
    header: str
    content_hash: bytes

    @property
    def said_s(self) -> float:
        """When it happened or, where that is unknown, when it was recorded."""
        return self.recorded_s if self.occurred_s is None else self.occurred_s


class Place(NamedTuple):
    """Where in its session a memory stands: its neighbours' row ids, None at either end."""

    previous: int | None
    following: int | None


class MentionedTime(NamedTuple):
    """A time that a text mentions: half-open, in epoch seconds, and how surely in [0, 1]."""

    start_s: float
    end_s: float
    certainty: float


def name_of(memory: str) -> str:
    """Return the SQL expression for the name of the author of an aliased ``memory``.

    An author who is no person's id is a name as heard; without an author it is NULL. Who may
    read a memory may know what its author is called.
    """
    person = f"SELECT p.name FROM person p WHERE p.person_id = {memory}.author"
    return f"coalesce(({person}), {memory}.author)"


_BLANK: dict[str, Any] = {
    spec.name: "" if spec.default is MISSING else spec.default for spec in fields(Memory)
}
_AS_IT_IS = (
    "text", "title", "summary", "kind", "category", "author", "session_id", "source", "url",
    "section", "band", "guardians_of", "importance", "valence", "arousal", "fact_key", "fact_value",
    "event_type",
)  # fmt: skip
COLUMNS = ", ".join((
    "(SELECT s.space_id FROM space s WHERE s.no = m.space)", name_of("m"), "m.superseded_s",
    "m.checksum", *("m." + column for column in checksums.COVERED),
))  # fmt: skip
"""The columns of a :class:`MemoryRow`, of an aliased ``memory m``."""


def insert(
    connection: apsw.Connection,
    memory_id: int,
    new: NewMemory,
    *,
    space: int,
    redacted_view: int,
    context_id: int | None,
) -> None:
    """Write a memory's row, without its words; ``space`` is the space's number."""
    memory, real = new.memory, checksums.as_stored
    (text, title, summary, kind, category, author, session_id, source, url, section, band,
     guardians_of, importance, valence, arousal, fact_key, fact_value, event_type,
    ) = _as_it_is(memory)  # fmt: skip
    covered = (
        memory_id, space, real(new.occurred_s), real(new.recorded_s), new.doc_id, text, title,
        summary, kind, category, author, session_id, source, url, section,
        json.dumps(memory.labels) if memory.labels else None, band, guardians_of,
        real(importance), real(valence), real(arousal), fact_key, fact_value, event_type,
        new.occurred_at, real(new.valid_from_s), real(new.valid_until_s),
    )  # fmt: skip
    row = (
        *covered, new.said_s, new.header, context_id, new.content_hash,
        checksums.checksum_of(covered), redacted_view, 0, b"",
    )  # fmt: skip
    connection.execute(_INSERT, row)


_as_it_is = operator.attrgetter(*_AS_IT_IS)
_COLUMNS = (
    *checksums.COVERED, "order_s", "header", "context_id", "content_hash", "checksum",
    "redacted_view", "n_words", "words",
)  # fmt: skip
_INSERT = f"INSERT INTO memory({', '.join(_COLUMNS)}) VALUES({', '.join('?' * len(_COLUMNS))})"


def load(
    connection: apsw.Connection, where: str, values: Sequence[object], zone: dt.tzinfo
) -> list[StoredMemory]:
    """Load whole memories by a condition on ``m``."""
    rows = sql.rows(connection, f"SELECT {COLUMNS} FROM memory m WHERE {where}", tuple(values))
    return [_stored(MemoryRow._make(row), zone) for row in rows]


def load_ids(
    connection: apsw.Connection,
    ids: IdArray,
    zone: dt.tzinfo,
    condition: scope_sql.Condition = ("TRUE", ()),
) -> list[StoredMemory]:
    """Load the memories of these ids that meet a condition, in the order of ``ids``."""
    return [_stored(row, zone) for row in load_rows(connection, ids, condition)]


def load_rows(
    connection: apsw.Connection, ids: IdArray, condition: scope_sql.Condition = ("TRUE", ())
) -> list[MemoryRow]:
    """Load the rows of these ids that meet a condition, in the order of ``ids``."""
    rows = sql.rows(
        connection,
        f"SELECT {COLUMNS} FROM carray(?) ids CROSS JOIN memory m ON m.id = ids.value"
        f" WHERE {condition[0]}",
        (sql.id_array(ids), *condition[1]),
    )
    return list(map(MemoryRow._make, rows))


def _stored(row: MemoryRow, zone: dt.tzinfo) -> StoredMemory:
    content = row[-len(checksums.CONTENT) :]
    record: dict[str, Any] = dict(zip(checksums.CONTENT, content, strict=True))
    if not row.is_intact:
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


def epoch_s(moment: dt.datetime | None, zone: dt.tzinfo) -> float | None:
    """Seconds since 1970 UTC; a naive moment is read in the household's zone."""
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()

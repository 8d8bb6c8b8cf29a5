"""What is derived from a memory's text: header, hash, cues, identifiers, and times mentioned.

By which rules, and for which place, texts were read is a fact about the file. Where those have
changed since, everything is read again while the file is opened.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import hashlib
from collections.abc import Iterable

from family_recall.english import BITS_VERSION, bits_of
from family_recall.english.identifiers import RULES_VERSION, identifiers_in
from family_recall.english.times import times_mentioned
from family_recall.errors import InvalidMemoryError
from family_recall.store.memories import MemoryRow, MentionedTime, NewMemory, epoch_s
from family_recall.store.store import Store
from family_recall.store.transaction import WriteTransaction
from family_recall.types import Memory, Region

INFO_KEY = "derived"
_TIMES_VERSION = "4"
"""Raised when other times are found in the same text."""


def upgrade(store: Store) -> None:
    """Read again, by today's rules, what earlier ones found: part of opening a household."""
    version = _version(store.zone, store.region)
    with store.reading() as reading:
        if reading.info(INFO_KEY) == version:
            return
    with store.writing() as writing:
        # Another process may have done it while this one waited for the lock.
        if writing.info(INFO_KEY) != version:
            derive_all(writing, store.region)


def derive_all(writing: WriteTransaction, region: Region) -> None:
    """Read the texts of every memory of a file again, superseded ones too."""
    for row in writing.load_rows(writing.every_id()):
        said_s = row.recorded_s if row.occurred_s is None else row.occurred_s
        derive(writing, row.id, row, said_s, region)
    writing.put_info(INFO_KEY, _version(writing.zone, region))


def derive(
    writing: WriteTransaction,
    memory_id: int,
    memory: Memory | MemoryRow,
    said_s: float,
    region: Region,
) -> None:
    """Store the cues and identifiers of a memory, and the times that it mentions.

    A fact is read as *invoice number 4711*, so that its key says what its value is.
    """
    texts = [part for part in (memory.title, memory.text, memory.summary) if part]
    key = (memory.fact_key or "").replace("_", " ")
    fact = [f"{key} {memory.fact_value}"] if memory.fact_value else []
    writing.put_derived(
        memory_id,
        bits_of(memory.text, memory.fact_key),
        identifiers_in([*texts, *fact], url=memory.url),
        _times_of(texts, said_s, writing.zone, region),
    )


def _version(zone: dt.tzinfo, region: Region) -> str:
    place = f"{zone} {region.country} {region.hemisphere}"
    return f"{RULES_VERSION} {BITS_VERSION} {_TIMES_VERSION} {place}"


def _times_of(
    texts: Iterable[str], said_s: float, zone: dt.tzinfo, region: Region
) -> tuple[MentionedTime, ...]:
    """Find the times that some texts of one memory mention, said at a moment in epoch seconds."""
    try:
        said_at = dt.datetime.fromtimestamp(said_s, zone)
    except (ValueError, OverflowError, OSError):
        return ()  # a moment outside the calendar, of a damaged row
    times = {
        MentionedTime(mention.start.timestamp(), mention.end.timestamp(), mention.certainty)
        for text in texts
        for mention in times_mentioned(
            text,
            said_at=said_at,
            country=region.country,
            hemisphere="south" if region.hemisphere == "south" else "north",
        )
    }
    return tuple(sorted(times))


_HASHED = tuple(sorted({spec.name for spec in dataclasses.fields(Memory)} - {"doc_id"}))


def prepare(
    memory: Memory, recorded_s: float, zone: dt.tzinfo, author_name: str | None
) -> NewMemory:
    """Return a memory ready to be written; naive moments are in the household's zone.

    ``author_name`` is the name of the person whom it has as its author, or its author as heard.

    Raises:
        InvalidMemoryError: If it is not valid from an earlier moment than until.
    """
    start, end = epoch_s(memory.valid_from, zone), epoch_s(memory.valid_until, zone)
    if start is not None and end is not None and start >= end:
        raise InvalidMemoryError(
            f"valid_from {memory.valid_from} must be before valid_until {memory.valid_until}"
        )
    hashed = content_hash(memory)
    return NewMemory(
        memory=memory,
        # From the content and the clock, so that it reveals nothing about other spaces.
        doc_id=memory.doc_id or _digest(hashed, repr(recorded_s).encode()).hex(),
        recorded_s=recorded_s,
        occurred_at=memory.occurred_at.isoformat() if memory.occurred_at else None,
        occurred_s=epoch_s(memory.occurred_at, zone),
        valid_from_s=start,
        valid_until_s=end,
        header=header_of(memory, zone, author_name),
        content_hash=hashed,
    )


def header_of(memory: Memory, zone: dt.tzinfo, author_name: str | None) -> str:
    """Return the header of a memory in words: its author's name, its day, and its labels.

    >>> header_of(Memory("Hi", "s", author="u2", occurred_at="2025-03-01"), dt.UTC, "Priya")
    'Priya Saturday 1 March 2025'
    """
    parts = [author_name]
    if memory.occurred_at is not None:
        moment = memory.occurred_at
        local = moment.astimezone(zone) if moment.tzinfo else moment
        parts.append(_day(local.date()))
    fact = memory.fact_key and memory.fact_key.replace("_", " ")
    parts += [memory.section, memory.event_type, fact, memory.fact_value, *memory.labels]
    return " ".join(part for part in parts if part)


def content_hash(memory: Memory) -> bytes:
    """Return 12 bytes that stand for all of a memory but its id: equal where it says the same."""
    parts = []
    for name in _HASHED:
        value = getattr(memory, name)
        if isinstance(value, dt.datetime):
            value = value.isoformat()
        elif isinstance(value, tuple):
            value = list(value)
        if value is not None:
            parts.append(f"{name}={value!r}".encode())
    return _digest(*parts)


@functools.lru_cache(maxsize=4096)
def _day(day: dt.date) -> str:
    return f"{day:%A} {day.day} {day:%B %Y}"


def _digest(*parts: bytes) -> bytes:
    sized = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hashlib.blake2b(sized, digest_size=12).digest()

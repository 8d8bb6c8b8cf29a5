"""Prepares a memory to be written: its moments, header, cues and content hash."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import hashlib

from family_recall import english
from family_recall.errors import InvalidMemoryError
from family_recall.store.memories import NewMemory, epoch_s
from family_recall.types import Memory

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
        occurred_at=memory.occurred_at.isoformat() if memory.occurred_at else None,
        occurred_s=epoch_s(memory.occurred_at, zone),
        valid_from_s=start,
        valid_until_s=end,
        header=header_of(memory, zone, author_name),
        author_name=author_name,
        cues=english.bits_of(memory.text, memory.fact_key),
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

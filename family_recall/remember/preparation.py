"""Prepares a memory to be written: its moments, header, identifiers and content hash."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import hashlib
import itertools
import operator

from family_recall import english
from family_recall.english.identifiers import identifiers_in
from family_recall.errors import InvalidMemoryError
from family_recall.store.identifiers import Texts
from family_recall.store.memories import NewMemory, epoch_s
from family_recall.types import Memory
from family_recall.types.understanding import Identifier


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
    occurred_at = _occurred_at(memory)
    hashed = _hash_of(memory, occurred_at)
    return NewMemory(
        memory=memory,
        # From the content and the clock, so that it reveals nothing about other spaces.
        doc_id=memory.doc_id or _digest(hashed, repr(recorded_s).encode()).hex(),
        occurred_at=occurred_at,
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


@functools.lru_cache(maxsize=4096)
def _day(day: dt.date) -> str:
    return f"{day:%A} {day.day} {day:%B %Y}"


def identifiers_of(views: Memory | Texts) -> tuple[Identifier, ...]:
    """Find the identifiers in a memory's views, its link, and its fact.

    A fact is read as *invoice number 4711*, so that its key says what its value is.
    """
    fact = views.fact_value and f"{(views.fact_key or '').replace('_', ' ')} {views.fact_value}"
    parts = (views.title, views.text, views.summary, fact)
    return identifiers_in([part for part in parts if part], url=views.url)


def content_hash(memory: Memory) -> bytes:
    """Return 12 bytes that stand for all of a memory but its id: equal where it says the same."""
    return _hash_of(memory, _occurred_at(memory))


def _occurred_at(memory: Memory) -> str | None:
    return memory.occurred_at.isoformat() if memory.occurred_at else None


def _hash_of(memory: Memory, occurred_at: str | None) -> bytes:
    # What `Memory.to_json` returns, by name; written out because every memory is hashed.
    values, parts = _hashed(memory), list(_PARTS_OF_DEFAULTS)
    for at in itertools.compress(_FIELDS, map(operator.is_not, values, _DEFAULTS)):
        name, value = _HASHED[at], values[at]
        if name == "occurred_at":
            value = occurred_at
        is_shared = name in _SHARED and type(value) is str
        parts[at] = _shared_part(name, value) if is_shared else _part(name, value)
    return _digest_of_sized(b"".join(parts))


def _part(name: str, value: object) -> bytes:
    if value is None:
        return b""
    if isinstance(value, dt.datetime):
        value = value.isoformat()
    elif isinstance(value, tuple):
        value = list(value)
    return _sized(f"{name}={value!r}".encode())


_SHARED = frozenset(("author", "band", "category", "kind", "session_id", "source", "space_id"))
"""Fields of which many memories have the same value; no texts."""
_shared_part = functools.lru_cache(maxsize=1024)(_part)


def _sized(part: bytes) -> bytes:
    return len(part).to_bytes(8, "big") + part


_DEFAULT_OF = {spec.name: spec.default for spec in dataclasses.fields(Memory)}
_HASHED = tuple(sorted(_DEFAULT_OF.keys() - {"doc_id"}))
_FIELDS = range(len(_HASHED))
_DEFAULTS = tuple(_DEFAULT_OF[name] for name in _HASHED)
_PARTS_OF_DEFAULTS = tuple(map(_part, _HASHED, _DEFAULTS))
_hashed = operator.attrgetter(*_HASHED)


def _digest(*parts: bytes) -> bytes:
    return _digest_of_sized(b"".join(map(_sized, parts)))


def _digest_of_sized(parts: bytes) -> bytes:
    return hashlib.blake2b(parts, digest_size=12).digest()

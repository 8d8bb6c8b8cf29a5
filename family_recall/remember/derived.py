"""What is read out of a memory's texts: its identifiers, the times that it mentions, its cues.

By which rules, and for which place, this was done is a fact about the file. Where those have
changed since, everything is read again while the file is opened.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from family_recall.english import BITS_VERSION, bits_of
from family_recall.english.identifiers import RULES_VERSION, identifiers_in
from family_recall.english.times import times_mentioned
from family_recall.store.identifiers import Texts
from family_recall.store.memories import MentionedTime
from family_recall.store.store import Store
from family_recall.store.transaction import WriteTransaction
from family_recall.types import Memory, Region
from family_recall.types.understanding import Identifier

INFO_KEY = "derived"
_TIMES_VERSION = "1"
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
    for memory_id, said_s, texts in writing.texts():
        writing.put_cues(memory_id, bits_of(texts.text, texts.fact_key))
        writing.put_identifiers(memory_id, identifiers_of(texts))
        views = (texts.title, texts.text, texts.summary)
        writing.put_times(memory_id, _times_of(views, said_s, writing.zone, region))
    writing.put_info(INFO_KEY, _version(writing.zone, region))


def derive(
    writing: WriteTransaction, memory_id: int, memory: Memory, said_s: float, region: Region
) -> None:
    """Store the identifiers of a new memory, and the times that it mentions."""
    if identifiers := identifiers_of(memory):
        writing.put_identifiers(memory_id, identifiers)
    views = (memory.title, memory.text, memory.summary)
    if times := _times_of(views, said_s, writing.zone, region):
        writing.put_times(memory_id, times)


def identifiers_of(views: Memory | Texts) -> tuple[Identifier, ...]:
    """Find the identifiers in a memory's views, its link, and its fact.

    A fact is read as *invoice number 4711*, so that its key says what its value is.
    """
    fact = views.fact_value and f"{(views.fact_key or '').replace('_', ' ')} {views.fact_value}"
    parts = (views.title, views.text, views.summary, fact)
    return identifiers_in([part for part in parts if part], url=views.url)


def _version(zone: dt.tzinfo, region: Region) -> str:
    place = f"{zone} {region.country} {region.hemisphere}"
    return f"{RULES_VERSION} {BITS_VERSION} {_TIMES_VERSION} {place}"


def _times_of(
    texts: Iterable[str | None], said_s: float, zone: dt.tzinfo, region: Region
) -> tuple[MentionedTime, ...]:
    """Find the times that some texts of one memory mention, said at a moment in epoch seconds."""
    try:
        said_at = dt.datetime.fromtimestamp(said_s, zone)
    except (ValueError, OverflowError, OSError):
        return ()  # a moment outside the calendar, of a damaged row
    times = {
        MentionedTime(mention.start.timestamp(), mention.end.timestamp(), mention.certainty)
        for text in texts
        if text
        for mention in times_mentioned(
            text,
            said_at=said_at,
            country=region.country,
            hemisphere="south" if region.hemisphere == "south" else "north",
        )
    }
    return tuple(sorted(times))

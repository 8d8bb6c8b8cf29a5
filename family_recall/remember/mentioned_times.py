"""Find the times that memories mention, when they are written or a file is brought up to date."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from family_recall.english.times import times_mentioned
from family_recall.store.memories import MentionedTime
from family_recall.store.transaction import WriteTransaction
from family_recall.types import Memory, Region

INFO_KEY = "mentioned_times"
_RULES_VERSION = "1"
"""Raised when other times are found in the same text."""


def version(zone: dt.tzinfo, region: Region) -> str:
    """Return by which rules, and for which place, the times of a file were found."""
    return f"{_RULES_VERSION} {zone} {region.country} {region.hemisphere}"


def times_of(
    texts: Iterable[str | None], said_s: float, zone: dt.tzinfo, region: Region
) -> tuple[MentionedTime, ...]:
    """Find the times that some texts of one memory mention, said at a moment in epoch seconds."""
    try:
        said_at = dt.datetime.fromtimestamp(said_s, zone)
    except (ValueError, OverflowError, OSError):
        return ()  # a moment outside the calendar, of a damaged row
    found = {
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
    return tuple(sorted(found))


def put(
    writing: WriteTransaction, memory_id: int, memory: Memory, said_s: float, region: Region
) -> None:
    """Store the times that a new memory mentions."""
    views = (memory.title, memory.text, memory.summary)
    if times := times_of(views, said_s, writing.zone, region):
        writing.put_times(memory_id, times)


def find_all(writing: WriteTransaction, region: Region) -> None:
    """Store the times of every memory of a file that has none."""
    for memory, said_s, texts in writing.dated_texts():
        if times := times_of(texts, said_s, writing.zone, region):
            writing.put_times(memory, times)
    writing.put_info(INFO_KEY, version(writing.zone, region))

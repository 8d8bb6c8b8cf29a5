"""The earlier versions of a memory, and what changed from one to the next."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from family_recall.types import Memory, MemoryDetail, StoredVersion

_MAX_COMPARED_WORDS = 600
"""The time of a comparison grows with the square of the words."""


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """One version that was replaced.

    Args:
        version: The version itself.
        pieces: Its text in pieces, each ``same``, ``removed`` by the next version or ``added``.
        changes: Other fields that changed: name, value here, value in the next version.
    """

    version: StoredVersion
    pieces: tuple[tuple[str, str], ...]
    changes: tuple[tuple[str, str, str], ...]


def earlier_versions(detail: MemoryDetail) -> list[EarlierVersion]:
    """Return the versions that a memory replaced, the newest first."""
    return [
        EarlierVersion(
            older,
            tuple(_compared(older.memory.text, newer.memory.text)),
            tuple(_changes(older.memory, newer.memory)),
        )
        for newer, older in itertools.pairwise([detail.current, *detail.earlier])
    ]


def _changes(before: Memory, after: Memory) -> Iterator[tuple[str, str, str]]:
    for spec in dataclasses.fields(Memory):
        was, now = getattr(before, spec.name), getattr(after, spec.name)
        if spec.name != "text" and was != now:
            yield spec.name.replace("_", " "), _value_text(was), _value_text(now)


def _value_text(value: object) -> str:
    if value in {None, ()}:
        return "nothing"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _compared(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield an earlier text in pieces, with the words that the next one removed or added."""
    removed, added = before.split(" "), after.split(" ")
    if before == after or max(len(removed), len(added)) > _MAX_COMPARED_WORDS:
        yield "same", before
        return
    matcher = difflib.SequenceMatcher(None, removed, added, autojunk=False)
    for kind, start, end, start_added, end_added in matcher.get_opcodes():
        if kind == "equal":
            yield "same", " ".join(removed[start:end])
            continue
        if start < end:
            yield "removed", " ".join(removed[start:end])
        if start_added < end_added:
            yield "added", " ".join(added[start_added:end_added])

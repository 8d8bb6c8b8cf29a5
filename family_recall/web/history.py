"""History: the versions of a memory in; what each said, and what was changed of it, out."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
from collections.abc import Iterator

from family_recall.reports.markup import Markup, folded, joined, spoken, tag
from family_recall.types import Detail, Memory, StoredVersion
from family_recall.web.layout import NOTHING, items, said_when, section
from family_recall.web.searching import EXCERPT_CHARS

_WORDS_COMPARED = 600
"""Words up to which two texts are compared, which takes time that grows with their square."""


def section_of(detail: Detail) -> Markup:
    """Show the versions a memory replaced, the newest first; nothing where there are none."""
    if not detail.earlier:
        return NOTHING
    versions = [detail.kept, *detail.earlier]
    told = [_version(newer, older) for newer, older in itertools.pairwise(versions)]
    return section("What it said before", tag("ol", *told, class_="history"), id_="history")


def _version(newer: StoredVersion, older: StoredVersion) -> Markup:
    until = f" to {said_when(older.replaced_at)}" if older.replaced_at else ""
    changed = [
        joined(name.replace("_", " "), ": ", spoken(_short(was)), " → ", spoken(_short(now)))
        for name, was, now in _changes(older.memory, newer.memory)
    ]
    text = (
        joined(*_compared(older.memory.text, newer.memory.text))
        if older.memory.text != newer.memory.text
        else joined(older.memory.text)
    )
    return tag(
        "li",
        tag("p", f"Kept from {said_when(older.recorded_at)}{until}", class_="quiet"),
        tag("p", text, dir="auto", class_="text"),
        *([folded(_other_changes(len(changed)), items([tag("li", one) for one in changed], ""))]
          if changed else []),
    )  # fmt: skip


def _other_changes(n: int) -> str:
    return "1 other change" if n == 1 else f"{n} other changes"


def _changes(was: Memory, now: Memory) -> Iterator[tuple[str, object, object]]:
    for spec in dataclasses.fields(Memory):
        before, after = getattr(was, spec.name), getattr(now, spec.name)
        if spec.name != "text" and before != after:
            yield spec.name, before, after


def _short(value: object) -> str:
    told = ", ".join(value) if isinstance(value, tuple) else str(value)
    return "nothing" if value in {None, ()} else told[:EXCERPT_CHARS]


def _compared(was: str, now: str) -> Iterator[str]:
    """Give an earlier text with the words marked that the later one left out or put in."""
    before, after = was.split(" "), now.split(" ")
    if max(len(before), len(after)) > _WORDS_COMPARED:
        yield was
        return
    for kind, a, b, c, d in difflib.SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if kind == "equal":
            yield " ".join(before[a:b]) + " "
            continue
        if a < b:
            yield tag("del", " ".join(before[a:b]))
            yield " "
        if c < d:
            yield tag("ins", " ".join(after[c:d]))
            yield " "

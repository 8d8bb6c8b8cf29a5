"""What readers of foreign files return: drafts of memories, and what they left out."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

INVISIBLE = "\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff"
"""Characters that only steer the direction of a text, as the inside of a character class."""

_INVISIBLE = re.compile(f"[{INVISIBLE}]")


@dataclass(frozen=True, slots=True)
class Draft:
    """One thing that a file says, before it is a memory.

    Args:
        key: Its own id in the file: the same whenever the file is read again.
        where: Its file and line, for messages.
        text: The words of the memory.
        author_names: What its author is called there, the name to show first; empty for nobody.
        fields: Other fields of a memory, by name.
        relation: Subject, relation and object that it states, if any.
    """

    key: str
    where: str
    text: str
    author_names: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    relation: tuple[str, str, str] | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What is not stored: where it stands, and what it is, in the plural."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """What a reader needs to know beside the file.

    Args:
        zone: The household's time zone.
        now: The current moment, with a zone.
        day_first: Whether 3/4/2026 is in April; as the file shows, when None.
        columns: Headers of a table by the field that they hold; by their names, when empty.
    """

    zone: dt.tzinfo
    now: dt.datetime
    day_first: bool | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reading:
    """A file as read.

    Args:
        drafts: What it says, in its order; no key twice.
        left_out: What was passed over.
        keeps: Whether what an earlier reading had under a key stays although this one lacks it,
            because this one does not reach so far back.
    """

    drafts: tuple[Draft, ...]
    left_out: tuple[LeftOut, ...] = ()
    keeps: Callable[[str], bool] = lambda _key: False

    @classmethod
    def of(
        cls, items: Iterable[Draft | LeftOut], keeps: Callable[[str], bool] = lambda _key: False
    ) -> Reading:
        """Divide what a reader yields."""
        drafts, left_out = list[Draft](), list[LeftOut]()
        for item in items:
            if isinstance(item, Draft):
                drafts.append(item)
            else:
                left_out.append(item)
        return cls(tuple(drafts), tuple(left_out), keeps)


class ContentKeys:
    """Keys made of contents, for what has no id of its own; what is said again is numbered."""

    def __init__(self) -> None:
        self._seen = Counter[str]()

    def key(self, *parts: str, prefix: str = "") -> str:
        """Return the key of some parts: the same in every reading of the same file."""
        key = f"{prefix}{digest(*parts)}"
        self._seen[key] += 1
        n = self._seen[key]
        return key if n == 1 else f"{key} {n}"


def digest(*parts: str) -> str:
    """Return 16 hexadecimal digits that stand for some texts."""
    sized = b"".join(
        len(raw).to_bytes(8, "big") + raw for raw in (p.encode("utf-8", "replace") for p in parts)
    )
    return hashlib.blake2b(sized, digest_size=8).hexdigest()


def visible(text: str) -> str:
    """Return a text without characters that only steer its direction, or are no characters."""
    return _INVISIBLE.sub("", text).replace("\0", "").encode("utf-8", "replace").decode()

"""Entries of the audit log: who recalled what, and when; ids, without a word of text."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Literal, TypeAlias

from family_recall.types.json_records import JsonRecord

Call: TypeAlias = Literal["recall", "opening", "explain", "look", "gap"]
"""What was called; a ``gap`` is a time of which calls may be missing."""


@dataclass(frozen=True, slots=True)
class AuditEntry(JsonRecord):
    """One call, as far as it concerns the reader of the log.

    Args:
        at: When it was called.
        call: What was called.
        person_id: Who asked; None for an unknown voice, and for a gap.
        asked_in: The space it was asked in; None for everywhere, or for one that is not the
            reader's.
        memories: (space_id, doc_id) of what was returned, best first, in the reader's spaces only.
        lost: Of a gap, how many calls are known to be missing; 0 where that is unknown.
    """

    at: dt.datetime
    call: Call
    person_id: str | None
    asked_in: str | None
    memories: tuple[tuple[str, str], ...] = ()
    lost: int = 0

"""Entries of the audit log: who recalled what, and when; ids, without a word of text."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Literal, TypeAlias

from family_recall.errors import InvalidRequestError
from family_recall.types.json_records import JsonRecord

Call: TypeAlias = Literal["recall", "opening", "explain", "look", "gap"]
"""What was called; a ``gap`` is a time of which calls may be missing."""


LONGEST_AUDIT_DAYS = 99_999


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


def check_audit_days(days: int) -> None:
    """Refuse what is no number of days for the log to go back.

    Raises:
        InvalidRequestError: If it is no whole number from 0 to :data:`LONGEST_AUDIT_DAYS`.
    """
    whole = isinstance(days, int) and not isinstance(days, bool)
    if not whole or not 0 <= days <= LONGEST_AUDIT_DAYS:
        raise InvalidRequestError(
            f"days must be a whole number from 0 to {LONGEST_AUDIT_DAYS:,}, got {days!r}"
        )

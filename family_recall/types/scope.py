"""What one request may see, decided once and handed to every query of the store."""

from __future__ import annotations

from dataclasses import dataclass, field

from family_recall.types.request import Filters


@dataclass(frozen=True, slots=True)
class Scope:
    """Everything a request may see.

    A partition holds the memories of one space and one band, with words, statistics, vectors
    and edges of its own; so what is outside ``partitions`` cannot be counted by accident.

    Args:
        person_id: Who asks; None for an unknown voice.
        partitions: Partition numbers, ascending.
        filters: What the request narrows to; never widens.
        as_of_s: Only what was true at this moment, in epoch seconds.
        known_at_s: Only what had been recorded, and not yet replaced, at this moment; None
            for the current versions.
        valid_s: Only what was true at some moment of this half-open interval, in epoch seconds;
            None for ``as_of_s`` alone.
        lies_in_s: Only what occurred, begins to be valid, or is told to be, in this interval.
        expired: (category, moment): memories of this category that happened and were recorded
            before the moment have expired, and only wait to be erased.
    """

    person_id: str | None
    partitions: tuple[int, ...]
    as_of_s: float
    known_at_s: float | None = None
    filters: Filters = field(default_factory=Filters)
    expired: tuple[tuple[str, float], ...] = ()
    valid_s: tuple[float, float] | None = None
    lies_in_s: tuple[float, float] | None = None

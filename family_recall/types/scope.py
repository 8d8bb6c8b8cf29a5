"""Scope: what one request may see, decided once and handed to every query of the store."""

from __future__ import annotations

from dataclasses import dataclass, field

from family_recall.types.request import Filters


@dataclass(frozen=True, slots=True)
class Scope:
    """Everything a request may see.

    A partition holds the memories of one space and one band, with words, statistics, vectors
    and edges of its own; so what is outside ``partitions`` cannot be counted by accident.

    Args:
        person_id: Who asks; None for a voice nobody knows.
        partitions: Partition numbers, ascending.
        filters: What the request narrows to; never widens.
        as_of_s: Only what was true at this moment, in epoch seconds.
        known_at_s: Only what had been recorded, and not yet replaced, at this moment; None
            for what is believed now.
        expired: (category, moment): what is of a category, and happened and was recorded before
            the moment, is not kept any more, and only waits to be forgotten.
    """

    person_id: str | None
    partitions: tuple[int, ...]
    as_of_s: float
    known_at_s: float | None = None
    filters: Filters = field(default_factory=Filters)
    expired: tuple[tuple[str, float], ...] = ()

"""Which facts of an answer a newer one contradicts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from family_recall.query.text import normalise
from family_recall.stores.records import StoredMemory, epoch_s

SAME_WORDS = 0.75
"""Share of words, values apart, from which two facts with one key are about one thing."""


def outdated_by(stored: Sequence[StoredMemory], now: dt.datetime) -> dict[int, str]:
    """Return the newest fact for each one that it contradicts: doc_id by row id.

    Facts of one space, author and key contradict each other where they state different values
    in the same words: two birthdays are two people's. The newer one holds from later on, or else
    happened or was recorded later.
    """
    facts: dict[tuple[str, str | None, str], list[tuple[float, StoredMemory]]] = {}
    for fact in stored:
        memory = fact.memory
        if memory.fact_key and memory.fact_value:
            valid_s = epoch_s(memory.valid_from or memory.occurred_at, now.tzinfo or dt.UTC)
            dated = (fact.recorded_s if valid_s is None else valid_s, fact)
            facts.setdefault((memory.space_id, memory.author, memory.fact_key), []).append(dated)
    newest_by_id: dict[int, str] = {}
    for rivals in facts.values():
        _, newest = max(rivals, key=lambda dated: (dated[0], dated[1].id))
        for _, fact in rivals:
            if fact.memory.fact_value != newest.memory.fact_value and _same_words(fact, newest):
                newest_by_id[fact.id] = str(newest.memory.doc_id)
    return newest_by_id


def _same_words(fact: StoredMemory, other: StoredMemory) -> bool:
    """Whether two facts use the same words but for their values."""
    left, right = (
        set(normalise(stored.memory.text).split(" "))
        - set(normalise(stored.memory.fact_value or "").split(" "))
        for stored in (fact, other)
    )
    return len(left & right) >= SAME_WORDS * len(left | right)

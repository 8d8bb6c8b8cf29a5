"""Which of the question's words a memory holds."""

from __future__ import annotations

from collections.abc import Collection

from family_recall.recall.dataflow import QueryContext
from family_recall.recall.ranking.bm25 import inverse_document_frequency
from family_recall.store.memory_queries import Rows
from family_recall.store.words import stem_number
from family_recall.types import BoolArray, IdArray


def question_weights(context: QueryContext) -> dict[int, float]:
    """Return how rare each of the question's stems is, by its number."""
    rarity = inverse_document_frequency(context.plan.statistics)
    numbers = [stem_number(stem) for _, stem in context.plan.terms]
    return dict(zip(numbers, rarity.tolist(), strict=True))


def covers(rows: Rows, stems: Collection[int], of: IdArray, *, header: bool = True) -> BoolArray:
    """Return which of some rows hold which of the question's stems as their own words: (n, t).

    ``header``: whether their title, author and people count, or their text alone.
    """
    counts = rows.counts_of(stems)[of]
    held: BoolArray = counts[..., 0] > 0
    if header:
        held |= counts[..., 1] > 0
    return held

"""Folding: candidates in order in, near copies of a better one put behind it out.

Somebody says the same thing twice, or the same note is imported twice. Nothing is deleted: the
better one stands for its copies, and says how many there are.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from family_recall.ranking.diversify import word_jaccard
from family_recall.stage import Ranking

NEAR_COPY = 0.9
"""Share of words in common from which two of one author and one kind are copies."""
FEWEST_WORDS = 4
"""Words below which nothing is a copy: "yes, please" is said every day."""


def fold_copies(ranking: Ranking, wanted: int) -> Ranking:
    """Take near copies out of the first of a ranking, and keep what stands for which.

    Args:
        ranking: Candidates in order.
        wanted: Results that are wanted; copies further down than twice that are left alone.
    """
    rows = ranking.rows
    head = ranking.order[: 2 * wanted]
    long = np.bincount(
        rows.word_rows, weights=rows.words["body"] > 0, minlength=len(rows)
    )[head] >= FEWEST_WORDS  # fmt: skip
    if long.sum() < 2:
        return ranking
    alike = word_jaccard(rows, columns=("body",), among=head)[np.ix_(head, head)] >= NEAR_COPY
    folded: dict[int, tuple[int, ...]] = {}
    gone: set[int] = set()
    for at, row in enumerate(head.tolist()):
        if row in gone or not long[at]:
            continue
        later = np.flatnonzero(alike[at, at + 1 :] & long[at + 1 :]) + at + 1
        copies = [
            other
            for other in head[later].tolist()
            if other not in gone
            and rows.authors[other] == rows.authors[row]
            and rows.kinds[other] == rows.kinds[row]
        ]
        if copies:
            folded[row] = tuple(copies)
            gone.update(copies)
    order = ranking.order[~np.isin(ranking.order, list(gone))]
    return dataclasses.replace(ranking, order=order, folded=folded)

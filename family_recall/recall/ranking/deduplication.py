"""Deduplication: near copies of a better candidate are collapsed into it.

The same thing is said twice, or the same note is imported twice. Nothing is deleted: the best
candidate represents its copies, and the answer lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec.structs import replace

from family_recall.recall.dataflow import Ranking
from family_recall.store.ids import among
from family_recall.types import IdArray

NEAR_COPY = 0.9
"""Jaccard similarity of words from which two memories of one author and kind are copies."""
FEWEST_WORDS = 4
"""Shorter texts are never copies: "yes, please" is said every day."""
MOST_COMPARED = 128
"""Distinct candidates among which near copies are looked for; exact ones are found in all."""
FEWEST_DISTINCT = 0.5
"""Share of the candidate pool below which copies have displaced other candidates."""


def collapse_duplicates(
    ranking: Ranking, top_k: int, stopped: Callable[[], bool] = lambda: False
) -> Ranking:
    """Collapse copies into their best representative.

    Copies have one author and one kind. Exact ones, of the same set of words, are found anywhere
    in the ranking; near ones among the best ``2 · top_k`` that are no copies.

    Args:
        ranking: Candidates in order.
        top_k: Results wanted.
        stopped: Whether the time is up; copies not found by then stay as they are.
    """
    words, authors, kinds = ranking.rows.words, ranking.rows.authors, ranking.rows.kinds
    own = words.in_body.nonzero()[0]
    stems, bounds = words.stems[own], own.searchsorted(words.bounds).tolist()
    packed, width = stems.tobytes(), stems.itemsize
    n_left = min(2 * top_k, MOST_COMPARED)
    first: dict[tuple[str | None, str, bytes], int] = {}
    distinct: dict[tuple[str | None, str], list[tuple[int, frozenset[int]]]] = {}
    representative: dict[int, int] = {}
    for row in ranking.order.tolist():
        start, end = bounds[row], bounds[row + 1]
        if end - start < FEWEST_WORDS:
            continue
        author, kind = authors[row], kinds[row]
        # Stems ascend, so that equal sets have equal bytes.
        best = first.setdefault((author, kind, packed[start * width : end * width]), row)
        if best == row and n_left:
            if stopped():
                break
            text = frozenset(stems[start:end].tolist())
            others = distinct.setdefault((author, kind), [])
            best = next((other for other, of in others if is_near_copy(text, of)), row)
            if best == row:
                others.append((row, text))
                n_left -= 1
        if best != row:
            representative[row] = representative.get(best, best)
    return _collapse(ranking, representative)


def is_near_copy(left: frozenset[int], right: frozenset[int]) -> bool:
    """Return whether two sets of words have :data:`NEAR_COPY` of all words in common, or more."""
    n_left, n_right = len(left), len(right)
    if n_left < NEAR_COPY * n_right or n_right < NEAR_COPY * n_left:
        return False
    common = len(left & right)
    return common >= NEAR_COPY * (n_left + n_right - common)


def lacks_distinct_results(ranking: Ranking, pool_size: int) -> bool:
    """Whether copies took so much of the candidate pool that other memories may be missing."""
    return bool(ranking.duplicates) and len(ranking) < FEWEST_DISTINCT * pool_size


def without(ranking: Ranking, ids: IdArray) -> Ranking:
    """Remove memories from a ranking; their copies become candidates again.

    The first copy of a removed representative takes the position of its own score, and
    represents the other copies. Ids that are not in the ranking change nothing.
    """
    removed = set(np.flatnonzero(among(ranking.rows.ids, ids)).tolist())
    order = ranking.order.tolist()
    duplicates: dict[int, tuple[int, ...]] = {}
    for row, copies in ranking.duplicates.items():
        remaining = tuple(copy for copy in copies if copy not in removed)
        if row not in removed:
            duplicates[row] = remaining
        elif remaining:
            heir, position = remaining[0], order.index(row) + 1
            while position < len(order) and ranking.score[order[position]] > ranking.score[heir]:
                position += 1
            order.insert(position, heir)
            duplicates[heir] = remaining[1:]
    return replace(
        ranking,
        order=np.array([row for row in order if row not in removed], np.int64),
        duplicates={row: copies for row, copies in duplicates.items() if copies},
    )


def _collapse(ranking: Ranking, representative: Mapping[int, int]) -> Ranking:
    """Take copies out of the order, and list them with their representative."""
    if not representative:
        return ranking
    duplicates: dict[int, tuple[int, ...]] = {}
    for copy, row in representative.items():
        duplicates[row] = (*duplicates.get(row, ()), copy)
    order = ranking.order[~np.isin(ranking.order, list(representative))]
    return replace(ranking, order=order, duplicates=duplicates)

"""Deduplication: near copies of a better candidate are collapsed into it.

The same thing is said twice, or the same note is imported twice. Nothing is deleted: the best
candidate represents its copies, and the answer lists them.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Mapping

import numpy as np

from family_recall.recall.dataflow import Ranking
from family_recall.recall.ranking.near_copies import FEWEST_WORDS, Stems, WordSets, near_copies
from family_recall.store.records import among
from family_recall.types import IdArray
from family_recall.types.record import replace

MOST_COMPARED = 128
"""Candidates among which near copies are looked for, where the best of them hold any."""
FEWEST_DISTINCT = 0.5
"""Share of the candidate pool below which copies have displaced other candidates."""


def collapse_duplicates(
    ranking: Ranking, top_k: int, stopped: Callable[[], bool] = lambda: False
) -> Ranking:
    """Collapse copies into their best representative.

    Exact copies (the same set of words) are found anywhere in the ranking; near copies among
    the best ``2 · top_k`` and, where there are any, among the best :data:`MOST_COMPARED`.

    Args:
        ranking: Candidates in order.
        top_k: Results wanted.
        stopped: Whether the time is up; near copies not found by then stay as they are.
    """
    words = ranking.rows.words
    own = words.in_body.nonzero()[0]
    stems, bounds = words.stems[own], own.searchsorted(words.bounds)
    ranking = _collapse(ranking, _exact_copies(ranking, stems, bounds))
    near = _near_copies(ranking, stems, bounds, 2 * top_k, stopped)
    if near and 2 * top_k < min(len(ranking), MOST_COMPARED):
        near = _near_copies(ranking, stems, bounds, MOST_COMPARED, stopped)
    return _collapse(ranking, near)


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


def _exact_copies(ranking: Ranking, stems: Stems, bounds: IdArray) -> dict[int, int]:
    """Map each row to the best row with exactly its words, author and kind.

    The stems of row i's own words are those from ``bounds[i]`` up to ``bounds[i + 1]``.
    """
    # Copies have the same sum of stems; that leaves few of all to compare.
    total = np.empty(len(stems) + 1, np.int64)
    total[0] = 0
    stems.cumsum(out=total[1:])
    totals = total[bounds]
    sums = totals[1:] - totals[:-1]
    ordered = np.sort(sums)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(repeated):
        return {}
    rows = ranking.rows
    first: dict[tuple[bytes, str | None, str], int] = {}
    representative: dict[int, int] = {}
    for row in ranking.order[among(sums, repeated, ordered=True)[ranking.order]].tolist():
        own = stems[bounds[row] : bounds[row + 1]]
        if len(own) >= FEWEST_WORDS:
            best = first.setdefault((own.tobytes(), rows.authors[row], rows.kinds[row]), row)
            if best != row:
                representative[row] = best
    return representative


def _near_copies(
    ranking: Ranking, stems: Stems, bounds: IdArray, n: int, stopped: Callable[[], bool]
) -> dict[int, int]:
    """Map each near copy among the best n to the best row that it is a copy of."""
    rows, starts = ranking.order[:n], bounds[ranking.order[:n]]
    authors, kinds = ranking.rows.authors, ranking.rows.kinds
    numbers = collections.defaultdict[object, int](itertools.count().__next__)
    groups = np.array([numbers[authors[row], kinds[row]] for row in rows.tolist()], np.int64)
    copies = near_copies(WordSets(stems, starts, bounds[rows + 1] - starts, groups), stopped)
    return {int(rows[copy]): int(rows[best]) for copy, best in copies.items()}


def _collapse(ranking: Ranking, representative: Mapping[int, int]) -> Ranking:
    """Collapse rows, and the copies they represented, into their representative."""
    if not representative:
        return ranking
    copies_of = {row: list(copies) for row, copies in ranking.duplicates.items()}
    for copy, row in representative.items():
        copies_of.setdefault(row, []).extend([copy, *copies_of.pop(copy, [])])
    return replace(
        ranking,
        order=ranking.order[~np.isin(ranking.order, list(representative))],
        duplicates={row: tuple(copies) for row, copies in copies_of.items()},
    )

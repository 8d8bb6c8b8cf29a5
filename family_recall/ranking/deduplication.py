"""Deduplication: near copies of a better candidate are collapsed into it.

The same thing is said twice, or the same note is imported twice. Nothing is deleted: the best
candidate represents its copies, and the answer lists them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from family_recall.dataflow import Ranking
from family_recall.stores.records import Rows, among
from family_recall.types import IdArray

NEAR_COPY = 0.9
"""Jaccard similarity of words from which two memories of one author and kind are copies."""
FEWEST_WORDS = 4
"""Shorter texts are never copies: "yes, please" is said every day."""
MOST_COMPARED = 128
"""Candidates that are compared pairwise where the best of them hold near copies."""
FEWEST_DISTINCT = 0.5
"""Share of the candidate pool below which copies have displaced other candidates."""


def collapse_duplicates(ranking: Ranking, top_k: int) -> Ranking:
    """Collapse copies into their best representative.

    Exact copies (the same set of words) are found anywhere in the ranking; near copies among
    the best ``2 · top_k`` and, where there are any, among the best :data:`MOST_COMPARED`.

    Args:
        ranking: Candidates in order.
        top_k: Results wanted.
    """
    words = _RowWords.of(ranking.rows)
    ranking = _collapse(ranking, _exact_copies(ranking, words))
    near = _near_copies(ranking, words, ranking.order[: 2 * top_k].tolist())
    if near and len(ranking) > 2 * top_k:
        near = _near_copies(ranking, words, ranking.order[:MOST_COMPARED].tolist())
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
    return dataclasses.replace(
        ranking,
        order=np.array([row for row in order if row not in removed], np.int64),
        duplicates={row: copies for row, copies in duplicates.items() if copies},
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _RowWords:
    """Stems of each row's own words, ascending; row i's are ``stems[ends[i]:ends[i + 1]]``."""

    stems: npt.NDArray[np.uint32]
    ends: IdArray

    @classmethod
    def of(cls, rows: Rows) -> _RowWords:
        own = np.flatnonzero(rows.words["body"])
        ends = np.searchsorted(rows.word_rows[own], np.arange(len(rows) + 1))
        return cls(rows.words["stem"][own], ends)


def _exact_copies(ranking: Ranking, words: _RowWords) -> dict[int, int]:
    """Map each row to the best row with exactly its words, author and kind."""
    rows = ranking.rows
    long = ranking.order[np.diff(words.ends)[ranking.order] >= FEWEST_WORDS]
    # Copies have the same sum of stems; that leaves few of all to compare.
    sums = np.diff(np.concatenate([[0], np.cumsum(words.stems, dtype=np.int64)])[words.ends])[long]
    ordered = np.sort(sums)
    alike = long[among(sums, ordered[1:][ordered[1:] == ordered[:-1]], ordered=True)]
    stems, ends = words.stems, words.ends.tolist()
    first: dict[tuple[bytes, str | None, str], int] = {}
    representative: dict[int, int] = {}
    for row in alike.tolist():
        key = (stems[ends[row] : ends[row + 1]].tobytes(), rows.authors[row], rows.kinds[row])
        if (best := first.setdefault(key, row)) != row:
            representative[row] = best
    return representative


def _near_copies(ranking: Ranking, words: _RowWords, compared: Sequence[int]) -> dict[int, int]:
    """Map each row of ``compared`` to the best row that shares enough of its words.

    Texts that share that much are of nearly one length, so few pairs are compared in full.
    """
    rows, stems, ends = ranking.rows, words.stems, words.ends.tolist()
    n_words = np.diff(words.ends)[compared]
    numbers: dict[tuple[str | None, str], int] = {}
    author_and_kind = np.array(
        [numbers.setdefault((rows.authors[row], rows.kinds[row]), len(numbers)) for row in compared]
    )
    similar = np.minimum.outer(n_words, n_words) >= NEAR_COPY * np.maximum.outer(n_words, n_words)
    similar &= (author_and_kind[:, None] == author_and_kind) & (n_words >= FEWEST_WORDS)
    pairs = np.argwhere(np.triu(similar, 1))
    sets = {
        row: frozenset(stems[ends[row] : ends[row + 1]].tolist())
        for row in {compared[position] for position in pairs.ravel().tolist()}
    }
    representative: dict[int, int] = {}
    for better, worse in pairs.tolist():
        row, copy = compared[better], compared[worse]
        if row in representative or copy in representative:
            continue
        left, right = sets[row], sets[copy]
        if len(left & right) >= NEAR_COPY * len(left | right):
            representative[copy] = row
    return representative


def _collapse(ranking: Ranking, representative: Mapping[int, int]) -> Ranking:
    """Collapse rows, and the copies they represented, into their representative."""
    if not representative:
        return ranking
    copies_of = {row: list(copies) for row, copies in ranking.duplicates.items()}
    for copy, row in representative.items():
        copies_of.setdefault(row, []).extend([copy, *copies_of.pop(copy, [])])
    return dataclasses.replace(
        ranking,
        order=ranking.order[~np.isin(ranking.order, list(representative))],
        duplicates={row: tuple(copies) for row, copies in copies_of.items()},
    )

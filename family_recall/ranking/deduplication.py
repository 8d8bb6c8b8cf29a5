"""Folding: candidates in order in, near copies of a better one put behind it out.

Somebody says the same thing twice, or the same note is imported twice. Nothing is deleted: the
better one stands for its copies, and says how many there are.
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
"""Share of words in common from which two of one author and one kind are copies."""
FEWEST_WORDS = 4
"""Words below which nothing is a copy: "yes, please" is said every day."""
MOST_COMPARED = 128
"""Candidates that are compared with each other where the first of them hold near copies."""
FEWEST_LEFT = 0.5
"""Share of the room for candidates below which copies have crowded others out."""


def collapse_duplicates(ranking: Ranking, wanted: int) -> Ranking:
    """Take copies out of a ranking, and keep what stands for which.

    What has all words in common is found wherever it stands; what has nearly all, among the
    first ``2 · wanted`` and, where there is any, among the first :data:`MOST_COMPARED`.

    Args:
        ranking: Candidates in order.
        wanted: Results that are wanted.
    """
    said = _Said.by(ranking.rows)
    ranking = _behind(ranking, _same(ranking, said))
    near = _near(ranking, said, ranking.order[: 2 * wanted].tolist())
    if near and len(ranking) > 2 * wanted:
        near = _near(ranking, said, ranking.order[:MOST_COMPARED].tolist())
    return _behind(ranking, near)


def lacks_distinct_results(ranking: Ranking, room: int) -> bool:
    """Whether copies took so much of the room for candidates that others may have found none."""
    return bool(ranking.folded) and len(ranking) < FEWEST_LEFT * room


def without(ranking: Ranking, ids: IdArray) -> Ranking:
    """Take memories out of a ranking; what they stood for is a candidate again.

    The first copy of one that goes takes the place that its own score gives it, and stands for
    the other copies. Ids that are not in the ranking change nothing.
    """
    gone = set(np.flatnonzero(among(ranking.rows.ids, ids)).tolist())
    order = ranking.order.tolist()
    folded: dict[int, tuple[int, ...]] = {}
    for row, copies in ranking.folded.items():
        left = tuple(copy for copy in copies if copy not in gone)
        if row not in gone:
            folded[row] = left
        elif left:
            first, at = left[0], order.index(row) + 1
            while at < len(order) and ranking.score[order[at]] > ranking.score[first]:
                at += 1
            order.insert(at, first)
            folded[first] = left[1:]
    return dataclasses.replace(
        ranking,
        order=np.array([row for row in order if row not in gone], np.int64),
        folded={row: copies for row, copies in folded.items() if copies},
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Said:
    """The stems of some rows' own words, ascending in a row; row i's are from end i to i + 1."""

    stems: npt.NDArray[np.uint32]
    ends: IdArray

    @classmethod
    def by(cls, rows: Rows) -> _Said:
        own = np.flatnonzero(rows.words["body"])
        ends = np.searchsorted(rows.word_rows[own], np.arange(len(rows) + 1))
        return cls(rows.words["stem"][own], ends)


def _same(ranking: Ranking, said: _Said) -> dict[int, int]:
    """Give which row stands for which: the first of those that share every word."""
    rows = ranking.rows
    stems, ends = said.stems, said.ends.tolist()
    first: dict[tuple[bytes, str | None, str], int] = {}
    behind: dict[int, int] = {}
    for row in ranking.order.tolist():
        start, end = ends[row], ends[row + 1]
        if end - start >= FEWEST_WORDS:
            key = (stems[start:end].tobytes(), rows.authors[row], rows.kinds[row])
            if (own_row := first.setdefault(key, row)) != row:
                behind[row] = own_row
    return behind


def _near(ranking: Ranking, said: _Said, among: Sequence[int]) -> dict[int, int]:
    """Give which row of ``among`` stands for which: the first that shares enough words.

    Two texts that share so much are nearly of one length, so hardly any are compared in full.
    """
    rows, stems, ends = ranking.rows, said.stems, said.ends.tolist()
    n_words = np.diff(said.ends)[among]
    voices: dict[tuple[str | None, str], int] = {}
    voice = np.array(
        [voices.setdefault((rows.authors[row], rows.kinds[row]), len(voices)) for row in among]
    )
    close = np.minimum.outer(n_words, n_words) >= NEAR_COPY * np.maximum.outer(n_words, n_words)
    close &= (voice[:, None] == voice) & (n_words >= FEWEST_WORDS)
    pairs = np.argwhere(np.triu(close, 1))
    words = {
        row: frozenset(stems[ends[row] : ends[row + 1]].tolist())
        for row in {among[at] for at in pairs.ravel().tolist()}
    }
    behind: dict[int, int] = {}
    for one, other in pairs.tolist():
        row, copy = among[one], among[other]
        if row in behind or copy in behind:
            continue
        left, right = words[row], words[copy]
        if len(left & right) >= NEAR_COPY * len(left | right):
            behind[copy] = row
    return behind


def _behind(ranking: Ranking, behind: Mapping[int, int]) -> Ranking:
    """Put rows behind those that stand for them, with what they stood for themselves."""
    if not behind:
        return ranking
    folded = {row: list(copies) for row, copies in ranking.folded.items()}
    for copy, row in behind.items():
        folded.setdefault(row, []).extend([copy, *folded.pop(copy, [])])
    order = ranking.order[~np.isin(ranking.order, list(behind))]
    copies_of = {row: tuple(copies) for row, copies in folded.items()}
    return dataclasses.replace(ranking, order=order, folded=copies_of)

"""Results that are unlike each other: copies collapsed, and maximal marginal relevance.

The same thing is said twice, or the same note is imported twice. Nothing is deleted: the newest
represents its copies, and the answer lists them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from family_recall.deadline import has_stopped
from family_recall.english.text import FILLERS
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking.temporal import LASTING
from family_recall.recall.runner import Runner
from family_recall.store.memory_queries import Rows
from family_recall.store.scope_sql import among
from family_recall.store.words import split, stem_number
from family_recall.types import FloatArray, IdArray

FEWEST_WORDS = 4
"""Shorter texts are never copies: "yes, please" is said every day."""


def deduplicate(run: Runner, ranking: Ranking) -> Ranking:
    """Collapse copies into the newest of them, and count them."""
    n = len(ranking)
    if not run.can_start("deduplicate", n):
        return ranking

    def collapse() -> Ranking:
        collapsed = collapse_duplicates(ranking)
        if has_stopped():
            run.trace.skip("deduplicate", "stopped", "no time to look for more near copies", n)
        return collapsed

    distinct = run.run("deduplicate", n, collapse, ranking)
    run.trace.counts["duplicates"] = sum(map(len, distinct.duplicates.values()))
    return distinct


def collapse_duplicates(ranking: Ranking) -> Ranking:
    """Collapse copies into the newest of them; into the best where no moment tells which it is.

    Copies have one author, one kind and the same words, but for words that tell nothing. So
    whatever differs in a number, a day, a name or a *not* is no copy. Those not found when the time
    is up stay as they are.
    """
    words, authors, kinds = ranking.rows.words, ranking.rows.authors, ranking.rows.kinds
    empty = _empty_stems()
    is_empty = empty[empty.searchsorted(words.stems).clip(max=len(empty) - 1)] == words.stems
    own = (words.in_body & ~is_empty).nonzero()[0]
    stated = np.empty(len(own), [("stem", words.stems.dtype), ("count", np.uint8)])
    stated["stem"], stated["count"] = words.stems[own], words.columns[words.codes[own], 0]
    packed, width = stated.tobytes(), stated.itemsize
    bounds = (own.searchsorted(words.bounds) * width).tolist()
    # Stems ascend, so that the same words have the same bytes.
    own_words = [packed[start:end] for start, end in itertools.pairwise(bounds)]
    alike: dict[tuple[str | None, str, bytes], list[int]] = {}
    for row in ranking.order.tolist():
        if has_stopped():
            break
        if len(own_words[row]) >= FEWEST_WORDS * width:
            alike.setdefault((authors[row], kinds[row], own_words[row]), []).append(row)
    occurred_s = np.nan_to_num(ranking.rows.occurred_s, nan=-np.inf).tolist()
    duplicates: dict[int, tuple[int, ...]] = {}
    for copies in alike.values():
        if len(copies) > 1:
            newest = max(copies, key=lambda row: occurred_s[row])
            duplicates[newest] = tuple([row for row in copies if row != newest])
    if not duplicates:
        return ranking
    removed = list(itertools.chain.from_iterable(duplicates.values()))
    order = ranking.order[~among(ranking.order, np.array(removed, np.int64))]
    return replace(ranking, order=order, duplicates=duplicates)


@functools.cache
def _empty_stems() -> npt.NDArray[np.uint32]:
    stems = [stem_number(stem) for word in FILLERS for _, stem in split(word)]
    return np.array(sorted(set(stems)), np.uint32)


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
            heir, position = remaining[0], order.index(row)
            while position and ranking.score[order[position - 1]] < ranking.score[heir]:
                position -= 1
            while position < len(order) and ranking.score[order[position]] > ranking.score[heir]:
                position += 1
            order.insert(position, heir)
            duplicates[heir] = remaining[1:]
    return replace(
        ranking,
        order=np.array([row for row in order if row not in removed], np.int64),
        duplicates={row: copies for row, copies in duplicates.items() if copies},
    )


def diversify(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Choose results that are unlike each other, if the profile or the request wants that."""
    ctx = context.request.ctx
    mmr_lambda = context.profile.mmr_lambda if ctx.mmr_lambda is None else ctx.mmr_lambda
    rows = ranking.order[: max(ctx.top_k, run.config.mmr_pool)]
    n = len(rows)
    run.trace.decisions["diversify"] = f"λ = {mmr_lambda:g}"
    if mmr_lambda == 1.0 or n < 2 or not run.can_start("diversify", n):
        return ranking

    def pick() -> Ranking:
        similarity: Callable[[int], FloatArray]
        bodies = np.zeros((n, 0), np.float32)
        if context.model_id is not None:
            ids = ranking.rows.ids
            bodies = context.snapshot.bodies(context.model_id, ids, context.scope)[rows]
        if np.vecdot(bodies, bodies).all():
            similarity = partial(_cosines, context, bodies)
        else:  # one has no vector
            similarity = word_jaccard(ranking.rows, rows)
        picks = maximal_marginal_relevance(
            normalised(ranking.score[rows]), similarity, mmr_lambda=mmr_lambda, top_k=ctx.top_k
        )
        ranks = dict(zip(rows.tolist(), itertools.count(1), strict=False))
        if has_stopped():
            detail = f"no time to compare more than {len(picks)} results"
            run.trace.skip("diversify", "stopped", detail, n - len(picks))
        picked = list(dict.fromkeys([*rows[picks].tolist(), *ranks]))
        picked = _below_what_they_follow(ranking, picked, ranks)
        moved = {row: ranks[row] for rank, row in enumerate(picked, start=1) if ranks[row] != rank}
        order = np.concatenate([np.array(picked, np.int64), ranking.order[n:]])
        return replace(ranking, order=order, rank_by_score=moved)

    return run.run("diversify", n, pick, ranking)


def _below_what_they_follow(
    ranking: Ranking, rows: list[int], ranks: Mapping[int, int]
) -> list[int]:
    """Keep questions below their replies, and what is outdated below what replaces it.

    Args:
        ranking: Before anything was picked.
        rows: In the order of the picks.
        ranks: Where each stood before.
    """
    pairs = [(row, successor.row) for row, successor in ranking.superseded_by.items()]
    pairs += [(asked, reply) for reply, asked in ranking.reply_to.items()]
    follows = {
        row: above
        for row, above in pairs
        if row in ranks and above in ranks and ranks[above] < ranks[row]
    }
    if not follows:
        return rows
    held, order = dict[int, list[int]](), list[int]()

    def place(row: int) -> None:
        order.append(row)
        for waiting in held.pop(row, ()):
            place(waiting)

    for row in rows:
        above = follows.get(row)
        if above is not None and above not in order:
            held.setdefault(above, []).append(row)
        else:
            place(row)
    return order


def maximal_marginal_relevance(
    relevance: FloatArray,
    similarity: Callable[[int], FloatArray],
    *,
    mmr_lambda: float,
    top_k: int,
) -> list[int]:
    """Pick memories that are relevant and unlike the ones already picked.

    Greedy: each pick maximises ``λ·relevance − (1 − λ)·(closest earlier pick)``.
    With λ = 1 this is the relevance order; with λ = 0 relevance is ignored.

    Args:
        relevance: Shape (n,), in [0, 1].
        similarity: Returns the cosines (n,), in [−1, 1], of a row with all.
        mmr_lambda: λ, in [0, 1].
        top_k: Picks wanted; at most n come back, and those alone that there is time for.

    Returns:
        Row numbers, first pick first, none twice. Ties go to the lower row.

    Raises:
        ValueError: If λ is outside [0, 1].

    Source: Carbonell & Goldstein, SIGIR 1998, doi:10.1145/290941.291025.

    Two notes about the same flight (rows 0 and 1) and one about the cake:

    >>> relevance = np.array([0.90, 0.89, 0.60])
    >>> similarity = np.array([[1.0, 0.95, 0.1], [0.95, 1.0, 0.1], [0.1, 0.1, 1.0]])
    >>> maximal_marginal_relevance(relevance, similarity.__getitem__, mmr_lambda=0.7, top_k=3)
    [0, 2, 1]
    """
    if not 0.0 <= mmr_lambda <= 1.0:
        raise ValueError(f"mmr_lambda must be in [0, 1], got {mmr_lambda}")
    relevant = (mmr_lambda * relevance).astype(np.float64)
    gain, picks = relevant, list[int]()
    for _ in range(min(top_k, len(relevant))):
        if picks:
            if has_stopped():
                break
            gain_after = relevant - (1.0 - mmr_lambda) * similarity(picks[-1]).astype(np.float64)
            gain = np.minimum(gain, gain_after) if len(picks) > 1 else gain_after
            gain[picks[-1]] = -np.inf
        picks.append(int(gain.argmax()))
    return picks


def _cosines(context: QueryContext, bodies: FloatArray, row: int) -> FloatArray:
    """Return the cosines of one of some unit rows with all, on one thread: vecdot asks no BLAS."""
    return context.above_level(np.vecdot(bodies, bodies[row]))


def word_jaccard(rows: Rows, among_rows: IdArray) -> Callable[[int], FloatArray]:
    """Return what gives the Jaccard similarity of one of some rows with each of them: (n,), [0, 1].

    Replaces cosine where vectors are missing. Only a memory's own words count. Its words are
    counted when it is asked for, so that picking results can end at any of them.
    """
    own = rows.words.in_own().nonzero()[0]
    stems, numbers = np.unique(rows.words.stems[own], return_inverse=True)
    of_row = rows.words.rows_of(own)
    sizes = np.bincount(of_row, minlength=len(rows)).astype(np.float32)

    def similarity(at: int) -> FloatArray:
        row = among_rows[at]
        held = np.zeros(len(stems), np.bool_)
        held[numbers[slice(*of_row.searchsorted((row, row + 1)))]] = True
        both = np.bincount(of_row[held[numbers]], minlength=len(rows)).astype(np.float32)
        jaccard: FloatArray = both / np.maximum(sizes[row] + sizes - both, 1.0)
        return jaccard[among_rows]

    return similarity


def normalised(score: FloatArray) -> FloatArray:
    """Scale scores to [0, 1], to compare them with a similarity; all 1 if they are equal.

    >>> normalised(np.array([0.03, 0.02, 0.01], np.float32)).tolist()
    [1.0, 0.5, 0.0]
    """
    low, high = float(score.min(initial=np.inf)), float(score.max(initial=-np.inf))
    if high <= low:
        return np.ones_like(score)
    return ((score - low) / (high - low)).astype(np.float32)


def recent_first(ranking: Ranking, top_k: int, ahead: Mapping[int, float]) -> Ranking:
    """Choose the best conversations and key facts in equal parts; each part newest first.

    Conversations come first. Where there are too few of one part, the other has more; what has no
    moment counts as the oldest. Ties are in the order of the ranking. Before them all stands what
    is ``ahead``, by row with its moment, the first to come first; it takes half of the places.
    """
    soon = sorted((row for row in ranking.order.tolist() if row in ahead), key=ahead.__getitem__)
    soon = soon[: top_k // 2]
    top_k -= len(soon)
    order = ranking.order[~np.isin(ranking.order, soon)]
    lasts = np.isin(np.array(ranking.rows.kinds, dtype=str), LASTING)[order]
    said, facts = order[~lasts], order[lasts]
    n_facts = min(len(facts), max(top_k // 2, top_k - len(said)))
    n_said = min(len(said), top_k - n_facts)
    parts = [
        part[np.argsort(-np.nan_to_num(ranking.rows.occurred_s[part], nan=-np.inf), kind="stable")]
        for part in (said[:n_said], facts[:n_facts])
    ]
    order = np.concatenate([soon, *parts, said[n_said:], facts[n_facts:]]).astype(np.int64)
    return replace(ranking, order=order)

"""Measures by kind of question, and what scores are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from family_recall.evaluation.intervals import Interval
from family_recall.evaluation.outcomes import Outcome, measured

LENGTHS = ((1, 5), (6, 10), (11, 20))
"""Words of a question, first and last; longer ones are a segment too."""

NOT_FOUND = "none"


def source_of_first_right(outcome: Outcome) -> str:
    """Return the source that ranked the first right result best; ``none`` where none is right."""
    ranked = zip(outcome.ranking, outcome.sources, strict=True)
    return next((source for doc_id, source in ranked if doc_id in outcome.gold), NOT_FOUND)


def length_of(outcome: Outcome) -> str:
    """Return the band of the question's length: ``1-5 words``, …, ``21+ words``."""
    for first, last in LENGTHS:
        if outcome.n_words <= last:
            return f"{first}-{last} words"
    return f"{LENGTHS[-1][1] + 1}+ words"


SEGMENTS: Mapping[str, Callable[[Outcome], str]] = {
    "category": lambda outcome: outcome.category,
    "mode": lambda outcome: outcome.mode,
    "strategy": lambda outcome: outcome.strategy,
    "source": source_of_first_right,
    "length": length_of,
}


def segmented(
    outcomes: Sequence[Outcome], name: str, *, seed: int
) -> dict[str, dict[str, int | Interval]]:
    """Return the measures of each of one of :data:`SEGMENTS`, sorted by the segment's name.

    Outcomes without gold are left out. A segment by ``source`` is chosen by the answer itself: it
    shows where right answers come from and how high they rank, not how a source would do alone.
    """
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.gold:
            groups.setdefault(SEGMENTS[name](outcome), []).append(outcome)
    return {key: measured(groups[key], seed) for key in sorted(groups)}


def mean_shares(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Return each feature's mean share of the first result's score, largest first; they sum to 1.

    Questions without a result, or with a score of 0, are left out. Features that the profile does
    not weigh have no share.
    """
    known = [outcome.shares for outcome in outcomes if outcome.shares]
    means = {
        name: sum(shares.get(name, 0.0) for shares in known) / len(known)
        for name in {name for shares in known for name in shares}
    }
    return dict(sorted(means.items(), key=lambda item: (-item[1], item[0])))

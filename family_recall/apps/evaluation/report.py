"""The report of an evaluation: ranking, calibration, abstention and latency."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import structs

from family_recall.api.files import write_text
from family_recall.apps.evaluation import measures
from family_recall.apps.evaluation.alternatives import Ablation, BaselineComparison, BudgetResult
from family_recall.apps.evaluation.measures import Interval
from family_recall.apps.evaluation.outcomes import Outcome, measured, plain

STATUSES = ("ok", "weak", "no_match")
LENGTHS = ((1, 5), (6, 10), (11, 20))
"""Words of a question, first and last; longer ones are a segment too."""

NOT_FOUND = "none"
_FIRSTS = ("n", "with_gold", "right", "stale")


class EvaluationReport(msgspec.Struct, frozen=True):
    """What an evaluation measured.

    ``overall`` and each of ``by_category`` hold ``n`` (questions with gold) and the measures,
    each with a 95 % interval; so do ``segments``, by mode, strategy, source of the first right
    result and question length. ``shares`` is what first results' scores are made of. ``firsts``
    has by category what first results were worth and what the status said, see :func:`firsts`.
    ``n_hurried`` counts the answers that skipped a stage for lack of time.
    ``calibration`` compares confidence with *the first result is right* over all questions.
    ``abstention`` is None when every question has gold. ``ablation``, ``baseline``,
    ``without_gold`` and ``faithfulness`` are None, ``budgets`` empty, unless requested.
    ``outcomes`` holds every question; it stays out of the JSON unless requested.
    """

    overall: dict[str, int | Interval]
    by_category: dict[str, dict[str, int | Interval]]
    segments: dict[str, dict[str, dict[str, int | Interval]]]
    shares: dict[str, float]
    firsts: dict[str, dict[str, int]]
    calibration: dict[str, Any]
    abstention: dict[str, Any] | None
    latency_ms: dict[str, float]
    n_queries: int
    n_hurried: int
    n_memories: int
    config: dict[str, Any]
    ablation: Ablation | None = None
    baseline: BaselineComparison | None = None
    without_gold: dict[str, Any] | None = None
    faithfulness: dict[str, Any] | None = None
    budgets: tuple[BudgetResult, ...] = ()
    outcomes: tuple[Outcome, ...] = ()

    def to_json(self, *, outcomes: bool = False) -> dict[str, Any]:
        """Return every field; ``outcomes`` only when requested."""
        record: dict[str, Any] = plain(self if outcomes else structs.replace(self, outcomes=()))
        return record if outcomes else {k: v for k, v in record.items() if k != "outcomes"}

    def save(self, path: Path) -> None:
        """Write the report with its outcomes as JSON, to be compared with others.

        Raises:
            StoreError: If it cannot be written.
        """
        write_text(path, json.dumps(self.to_json(outcomes=True), ensure_ascii=False))


def summarise(outcomes: Sequence[Outcome], *, seed: int) -> dict[str, Any]:
    """Return the measured parts of a report.

    Questions without gold count for calibration, abstention and latency only.
    """
    times_ms = [outcome.used_time_ms for outcome in outcomes]
    return {
        "overall": measured(outcomes, seed),
        "by_category": segmented(outcomes, "category", seed=seed),
        "segments": {
            name: segmented(outcomes, name, seed=seed) for name in SEGMENTS if name != "category"
        },
        "shares": mean_shares(outcomes),
        "firsts": firsts(outcomes),
        "calibration": calibration(outcomes),
        "abstention": None if all(o.gold for o in outcomes) else abstention(outcomes),
        "latency_ms": {f"p{q}": float(np.percentile(times_ms, q)) for q in (50, 95, 99)},
        "n_queries": len(outcomes),
        "n_hurried": sum(outcome.hurried for outcome in outcomes),
    }


def firsts(outcomes: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    """Count by category what the first result was worth, and what the status said of it.

    ``n`` questions, ``with_gold`` of them answerable; ``right`` where the first result is gold,
    ``stale`` where it is an older memory that must not be first; by status how many answers, and
    ``ok_right`` how many of the ``ok`` ones may be acted on.
    """
    counts: dict[str, dict[str, int]] = {}
    for outcome in sorted(outcomes, key=lambda o: o.category):
        row = counts.setdefault(
            outcome.category, dict.fromkeys((*_FIRSTS, *STATUSES, "ok_right"), 0)
        )
        row["n"] += 1
        row["with_gold"] += bool(outcome.gold)
        row["right"] += outcome.first_is_right
        row["stale"] += outcome.first_is_stale
        row[outcome.status] += 1
        row["ok_right"] += outcome.status == "ok" and outcome.first_is_right
    return counts


def calibration(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Compare confidence with accuracy: ``ece``, the ten ``bins``, the ``curve`` and ``status``.

    ``right`` is the share of questions in a bin whose first result is gold. The ``curve`` has, for
    each share of the questions that is told an answer, the surest first, the share of wrong ones.
    ``status`` has how many answers are ``ok``; which share of them is right, and of the right
    first results ``ok``; and of the questions with gold among the first ten, which is ``no_match``.
    """
    confidences = [outcome.confidence for outcome in outcomes]
    right = [outcome.first_is_right for outcome in outcomes]
    accepted = [outcome for outcome in outcomes if outcome.status == "ok"]
    retrieved = [outcome for outcome in outcomes if outcome.is_found]
    accepted_right = sum(outcome.first_is_right for outcome in accepted)
    return {
        "ece": measures.ece(confidences, right),
        "bins": measures.reliability(confidences, right, "right"),
        "curve": measures.risk_coverage(confidences, right),
        "status": {
            "ok": len(accepted),
            "ok_right": accepted_right / len(accepted) if accepted else None,
            "right_ok": accepted_right / sum(right) if any(right) else None,
            "found_no_match": (
                sum(o.status == "no_match" for o in retrieved) / len(retrieved)
                if retrieved
                else None
            ),
        },
    }


def abstention(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Measure how well ``answerable`` and status separate answerable questions from the others.

    ``auroc`` and ``ece`` compare ``answerable`` with whether there is gold, ``auroc_confidence``
    the confidence; ``ece_first_result`` compares that with *the first result is gold*, which is
    what it promises.
    """
    confidences = [outcome.confidence for outcome in outcomes]
    stored = [outcome.answerable for outcome in outcomes]
    answerable = [bool(outcome.gold) for outcome in outcomes]
    both = len(set(answerable)) == 2
    return {
        "auroc": measures.auroc(stored, answerable) if both else None,
        "auroc_confidence": measures.auroc(confidences, answerable) if both else None,
        "ece": measures.ece(stored, answerable),
        "ece_first_result": measures.ece(confidences, [o.first_is_right for o in outcomes]),
        "status": {
            name: {
                status: sum(o.status == status and bool(o.gold) == has_gold for o in outcomes)
                for status in STATUSES
            }
            for name, has_gold in (("answerable", True), ("unanswerable", False))
        },
        "reliability": measures.reliability(stored, answerable, "answerable"),
    }


def separation(with_gold: Sequence[Outcome], without: Sequence[Outcome]) -> dict[str, Any]:
    """Measure how well ``answerable`` separates a question with its answer from the same without.

    As :func:`abstention` over both halves, with ``n`` of each
    and ``lower``, the share of questions whose confidence fell, an unchanged one counting half.
    Questions that never had gold do not count.
    """
    removed = {outcome.query_id: outcome for outcome in without}
    pairs = [(o, removed[o.query_id]) for o in with_gold if o.query_id in removed]
    if not pairs:
        return {"n": 0}
    falls = [
        (after.confidence < before.confidence) + 0.5 * (after.confidence == before.confidence)
        for before, after in pairs
    ]
    both = [outcome for pair in pairs for outcome in pair]
    return {"n": len(pairs), "lower": sum(falls) / len(falls), **abstention(both)}


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

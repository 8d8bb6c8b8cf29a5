"""Compare two configurations, or two saved files, by question with a paired bootstrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from family_recall.apps.evaluation import trec
from family_recall.apps.evaluation.measures import Interval, bootstrap_means
from family_recall.apps.evaluation.outcomes import Outcome, values
from family_recall.errors import DatasetError

COMPARED = ("ndcg@10", "recall@10", "mrr@10")
UNKNOWN = "unknown"
"""The category of a question that only a run and its qrels know."""

Verdict = Literal["better", "worse", "undecided"]


class ComparisonRow(msgspec.Struct, frozen=True):
    """Two configurations over the same ``n`` questions: both means, and second less first.

    ``verdict`` says by measure whether the second is better; ``undecided`` while the interval
    holds 0. One of twenty comparisons of a configuration with itself is decided all the same.
    """

    n: int
    first: dict[str, float]
    second: dict[str, float]
    difference: dict[str, Interval]
    verdict: dict[str, Verdict]


class Comparison(msgspec.Struct, frozen=True):
    """How two configurations compare: overall, by category, and how many rankings differ.

    ``n_left_out`` counts the questions with gold that only one of the two was asked.
    """

    overall: ComparisonRow
    by_category: dict[str, ComparisonRow]
    n_changed: int
    n_left_out: int


def compare(first: Sequence[Outcome], second: Sequence[Outcome], *, seed: int) -> Comparison:
    """Compare two configurations by the difference of each question, second less first.

    Whole questions are drawn with replacement, so what makes a question hard for both does not
    widen the interval. Questions without gold, and those only one of the two was asked, are left
    out.

    Raises:
        DatasetError: If no question is left, or the two have different gold for one.

    Source: Sakai, SIGIR 2006, doi:10.1145/1148170.1148261; see :func:`bootstrap_means`.
    """
    before = {outcome.query_id: outcome for outcome in first if outcome.gold}
    after = {outcome.query_id: outcome for outcome in second if outcome.gold}
    pairs = [(before[name], after[name]) for name in before if name in after]
    if not pairs:
        raise DatasetError("the two have no question with gold in common; were both of one set?")
    for old, new in pairs:
        if set(old.gold) != set(new.gold):
            raise DatasetError(
                f"question {old.query_id!r} has different gold in the two; "
                "make both from the same dataset"
            )
    categories = sorted({old.category for old, _ in pairs})
    return Comparison(
        overall=_row(pairs, seed),
        by_category={
            name: _row([pair for pair in pairs if pair[0].category == name], seed)
            for name in categories
        },
        n_changed=sum(old.ranking != new.ranking for old, new in pairs),
        n_left_out=len(before.keys() ^ after.keys()),
    )


def sentence(row: ComparisonRow, first: str, second: str, measure: str = COMPARED[0]) -> str:
    """Return in plain words how the second compares with the first by one measure."""
    difference, verdict = row.difference[measure], row.verdict[measure]
    text = (
        f"it is undecided whether {second} is better than {first}"
        if verdict == "undecided"
        else f"{second} is {verdict} than {first}"
    )
    return (
        f"{text}: {measure} {difference.value:+.3f}, 95 % interval {difference.low:+.3f} to "
        f"{difference.high:+.3f}, {row.n:,} questions"
    )


def load_pair(
    first: Path, second: Path, qrels: Path | None = None
) -> tuple[list[Outcome], list[Outcome]]:
    """Return the outcomes of two saved reports (``.json``) or TREC runs (any other name).

    A run has no gold and no categories: the gold comes from ``qrels``, or else from the report
    it is compared with, and so do the categories. A question that a run does not name got no
    result.

    Raises:
        DatasetError: If a file cannot be read, or two runs come without qrels.
    """
    reports = {path: read_report(path) for path in (first, second) if path.suffix == ".json"}
    known = [outcome for outcomes in reports.values() for outcome in outcomes]
    category = {outcome.query_id: outcome.category for outcome in known}
    if qrels is not None:
        gold: Mapping[str, tuple[str, ...]] = trec.read_qrels(qrels)
    elif known:
        gold = {outcome.query_id: outcome.gold for outcome in known}
    else:
        raise DatasetError(f"{first}: a run has no gold of its own; name its qrels with --qrels")

    def outcomes_of(path: Path) -> list[Outcome]:
        if path in reports:
            return reports[path]
        run = trec.read_run(path)
        return [
            Outcome(name, category.get(name, UNKNOWN), wanted, run.get(name, ()), "", 0.0, 0.0)
            for name, wanted in gold.items()
        ]

    return outcomes_of(first), outcomes_of(second)


class _SavedReport(msgspec.Struct):
    outcomes: list[Outcome]


def read_report(path: Path) -> list[Outcome]:
    """Return the outcomes of a report that ``eval --save`` wrote.

    Raises:
        DatasetError: If the file cannot be read, or holds no outcomes.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=_SavedReport).outcomes
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise DatasetError(
            f"{path}: expected a report with its outcomes; make one with: "
            f"family-recall eval DIR --save {path.name}"
        ) from None


def _row(pairs: Sequence[tuple[Outcome, Outcome]], seed: int) -> ComparisonRow:
    before = values([old for old, _ in pairs], COMPARED)
    after = values([new for _, new in pairs], COMPARED)
    difference = dict(zip(COMPARED, bootstrap_means(after - before, seed=seed), strict=True))
    return ComparisonRow(
        n=len(pairs),
        first=dict(zip(COMPARED, before.mean(axis=0).tolist(), strict=True)),
        second=dict(zip(COMPARED, after.mean(axis=0).tolist(), strict=True)),
        difference=difference,
        verdict={name: _verdict(interval) for name, interval in difference.items()},
    )


def _verdict(interval: Interval) -> Verdict:
    if interval.low > 0.0:
        return "better"
    return "worse" if interval.high < 0.0 else "undecided"

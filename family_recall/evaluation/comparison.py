"""Comparison: the outcomes of two configurations in, which is better and how surely out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from family_recall.errors import DatasetError
from family_recall.evaluation.intervals import Interval, bootstrap_means
from family_recall.evaluation.outcomes import Outcome, values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COMPARED = ("ndcg@10", "recall@10", "mrr@10")
Verdict = Literal["better", "worse", "cannot be told"]


@dataclass(frozen=True, slots=True)
class Row:
    """Two configurations over the same ``n`` questions: both means, and second less first."""

    n: int
    first: Mapping[str, float]
    second: Mapping[str, float]
    difference: Mapping[str, Interval]

    def verdict(self, measure: str = COMPARED[0]) -> Verdict:
        """Say whether the second is better; it cannot be told while the interval holds 0.

        One of twenty comparisons of the same with the same is told apart all the same.
        """
        interval = self.difference[measure]
        if interval.low > 0.0:
            return "better"
        return "worse" if interval.high < 0.0 else "cannot be told"

    def to_json(self) -> dict[str, Any]:
        """Give every number, and the verdict by measure."""
        return {
            "n": self.n,
            "first": dict(self.first),
            "second": dict(self.second),
            "difference": {name: found.to_json() for name, found in self.difference.items()},
            "verdict": {name: self.verdict(name) for name in self.difference},
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two configurations compare: overall, by category, and how many rankings differ.

    ``n_left_out`` counts the questions with gold that only one of the two was asked.
    """

    overall: Row
    by_category: Mapping[str, Row]
    n_changed: int
    n_left_out: int

    def to_json(self) -> dict[str, Any]:
        """Give every row."""
        return {
            "overall": self.overall.to_json(),
            "by_category": {name: row.to_json() for name, row in self.by_category.items()},
            "n_changed": self.n_changed,
            "n_left_out": self.n_left_out,
        }


def compare(first: Sequence[Outcome], second: Sequence[Outcome], *, seed: int) -> Comparison:
    """Compare two configurations question by question, with a paired bootstrap.

    Each question gives one difference, second less first, and whole questions are drawn with
    replacement, so what makes a question hard for both does not widen the interval. Questions
    without gold, and those only one of the two was asked, are left out.

    Raises:
        DatasetError: If no question is left, or the two judge one by different gold.

    Source: Sakai, SIGIR 2006, doi:10.1145/1148170.1148261; see :func:`bootstrap_means`.
    """
    judged = {outcome.query_id: outcome for outcome in first if outcome.gold}
    others = {outcome.query_id: outcome for outcome in second if outcome.gold}
    pairs = [(judged[name], others[name]) for name in judged if name in others]
    if not pairs:
        raise DatasetError("the two have no question with gold in common; were both of one set?")
    for one, other in pairs:
        if set(one.gold) != set(other.gold):
            raise DatasetError(
                f"question {one.query_id!r} is judged by different gold in the two; "
                "make both from the same dataset"
            )
    categories = sorted({one.category for one, _ in pairs})
    return Comparison(
        overall=_row(pairs, seed),
        by_category={
            name: _row([pair for pair in pairs if pair[0].category == name], seed)
            for name in categories
        },
        n_changed=sum(one.ranking != other.ranking for one, other in pairs),
        n_left_out=len(judged.keys() ^ others.keys()),
    )


def sentence(row: Row, first: str, second: str, measure: str = COMPARED[0]) -> str:
    """Say in plain words how the second stands to the first by one measure."""
    found, verdict = row.difference[measure], row.verdict(measure)
    said = {
        "better": f"{second} is better than {first}",
        "worse": f"{second} is worse than {first}",
        "cannot be told": f"whether {second} is better than {first} cannot be told",
    }[verdict]
    return (
        f"{said}: {measure} {found.value:+.3f}, 95 % interval {found.low:+.3f} to "
        f"{found.high:+.3f}, {row.n:,} questions"
    )


def _row(pairs: Sequence[tuple[Outcome, Outcome]], seed: int) -> Row:
    before = values([one for one, _ in pairs], COMPARED)
    after = values([other for _, other in pairs], COMPARED)
    means = bootstrap_means(after - before, seed=seed)
    return Row(
        n=len(pairs),
        first=dict(zip(COMPARED, before.mean(axis=0).tolist(), strict=True)),
        second=dict(zip(COMPARED, after.mean(axis=0).tolist(), strict=True)),
        difference=dict(zip(COMPARED, means, strict=True)),
    )

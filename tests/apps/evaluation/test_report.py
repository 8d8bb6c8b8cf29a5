"""Report: what is made of the outcome of each question."""

from __future__ import annotations

import json

import msgspec
import pytest

from family_recall.apps.evaluation.measures import Interval, risk_coverage
from family_recall.apps.evaluation.outcomes import Outcome
from family_recall.apps.evaluation.report import EvaluationReport, summarise


def outcome(
    ranking: str, gold: str, confidence: float, *, category: str = "plain", ms: float = 5.0
) -> Outcome:
    """Return an outcome whose memories are called by single letters."""
    status = "ok" if confidence >= 0.5 else "no_match"
    sources = tuple("lexical" for _ in ranking)
    return Outcome(
        "q", category, tuple(gold), tuple(ranking), status, confidence, ms, sources=sources,
        answerable=confidence,
    )  # fmt: skip


OUTCOMES = [
    outcome("abc", "a", 0.9, ms=1.0),
    outcome("bca", "a", 0.8, category="hard", ms=2.0),
    outcome("bcd", "a", 0.2, category="hard", ms=3.0),
    outcome("xyz", "", 0.1, ms=4.0),
]


def value(row: dict[str, int | Interval], name: str) -> float:
    """Return the mean of one measure."""
    interval = row[name]
    assert isinstance(interval, Interval)
    return interval.value


def test_means_are_over_questions_with_gold() -> None:
    """Reciprocal ranks 1, 1/3 and 0 of three questions; the fourth has no gold."""
    summary = summarise(OUTCOMES, seed=0)

    assert summary["n_queries"] == 4
    assert summary["overall"]["n"] == 3
    assert value(summary["overall"], "mrr@10") == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert value(summary["overall"], "recall@5") == pytest.approx(2 / 3)
    assert list(summary["by_category"]) == ["hard", "plain"]
    assert value(summary["by_category"]["hard"], "hit@10") == 0.5
    assert summary["by_category"]["plain"]["n"] == 1


def test_abstention_is_about_telling_the_unanswerable_apart() -> None:
    """All three answerable questions are surer than the other: AUROC 1.

    Four bins of one question each: (0.1 + 0.2 + 0.8 + 0.1) / 4 = 0.3 off *answerable*; the
    first result is gold only once, so (0.1 + 0.8 + 0.2 + 0.1) / 4 = 0.3 off *first is gold*.
    """
    abstention = summarise(OUTCOMES, seed=0)["abstention"]

    assert abstention["auroc"] == 1.0
    assert abstention["ece"] == pytest.approx((0.1 + 0.2 + 0.8 + 0.1) / 4)
    assert abstention["ece_first_result"] == pytest.approx((0.1 + 0.8 + 0.2 + 0.1) / 4)
    assert abstention["status"] == {
        "answerable": {"ok": 2, "weak": 0, "no_match": 1},
        "unanswerable": {"ok": 0, "weak": 0, "no_match": 1},
    }
    assert sum(row["n"] for row in abstention["reliability"]) == 4


def test_abstention_needs_questions_of_both_kinds() -> None:
    """With gold everywhere it is None; with gold nowhere there is no area to give."""
    assert summarise(OUTCOMES[:3], seed=0)["abstention"] is None

    nowhere = summarise(OUTCOMES[3:], seed=0)
    assert nowhere["abstention"]["auroc"] is None
    assert nowhere["overall"] == {"n": 0}
    assert nowhere["by_category"] == {}


def test_confidence_is_compared_with_the_first_result_being_right() -> None:
    """Of four only the surest, at 0.9, is right first: bins of one are off by 0.1, 0.8, 0.2, 0.1.

    ECE (0.1 + 0.8 + 0.2 + 0.1) / 4 = 0.3, and each filled bin says what it holds.
    """
    calibration = summarise(OUTCOMES, seed=0)["calibration"]

    assert calibration["ece"] == pytest.approx(0.3)
    filled = [row for row in calibration["bins"] if row["n"]]
    assert [(row["n"], row["confidence"], row["right"]) for row in filled] == [
        (1, 0.1, 0.0),
        (1, 0.2, 0.0),
        (1, 0.8, 0.0),
        (1, 0.9, 1.0),
    ]


def test_what_telling_fewer_answers_is_worth() -> None:
    """Told the surest alone, none is wrong; told all, three of four.

    Two are ok and one of them right, which is the only right one; of the two with an answer among
    the first ten none is called no_match.
    """
    calibration = summarise(OUTCOMES, seed=0)["calibration"]

    assert calibration["curve"] == [(0.25, 0.0), (0.5, 0.5), (0.75, 0.6667), (1.0, 0.75)]
    assert calibration["status"] == {
        "ok": 2, "ok_right": 0.5, "right_ok": 1.0, "found_no_match": 0.0,
    }  # fmt: skip
    assert risk_coverage([], []) == []


def test_questions_are_measured_by_what_kind_they_are() -> None:
    """Two of three are found by words; all are short, and of one mode and strategy."""
    segments = summarise(OUTCOMES, seed=0)["segments"]

    assert {name: {k: row["n"] for k, row in rows.items()} for name, rows in segments.items()} == {
        "mode": {"hybrid": 3},
        "strategy": {"HYBRID": 3},
        "source": {"lexical": 2, "none": 1},
        "length": {"1-5 words": 3},
    }


def test_firsts_are_counted_by_category_with_what_the_status_said() -> None:
    """Of two hard questions one first result is stale; of two plain ones one is right, and ok."""
    stale = msgspec.structs.replace(OUTCOMES[1], stale=("b",))
    rows = summarise([OUTCOMES[0], stale, *OUTCOMES[2:]], seed=0)["firsts"]

    nothing = {"right": 0, "stale": 0, "ok": 0, "weak": 0, "no_match": 0, "ok_right": 0}
    assert rows == {
        "hard": nothing | {"n": 2, "with_gold": 2, "stale": 1, "ok": 1, "no_match": 1},
        "plain": nothing
        | {"n": 2, "with_gold": 1, "right": 1, "ok": 1, "ok_right": 1, "no_match": 1},
    }


def test_latency_is_given_at_three_percentiles() -> None:
    """Of 1, 2, 3 and 4 ms the middle is 2.5 ms."""
    latency = summarise(OUTCOMES, seed=0)["latency_ms"]

    assert latency["p50"] == 2.5
    assert latency["p50"] <= latency["p95"] <= latency["p99"] <= 4.0


def test_a_report_is_plain_json_and_holds_single_outcomes_when_asked() -> None:
    """The keys are fixed, and what is written reads back the same."""
    report = EvaluationReport(
        **summarise(OUTCOMES, seed=0), n_memories=6, config={"seed": 0}, outcomes=tuple(OUTCOMES)
    )

    written = report.to_json()

    assert list(written) == [
        "overall",
        "by_category",
        "segments",
        "shares",
        "firsts",
        "calibration",
        "abstention",
        "latency_ms",
        "n_queries",
        "n_hurried",
        "n_memories",
        "config",
        "ablation",
        "baseline",
        "without_gold",
        "faithfulness",
        "budgets",
    ]
    assert json.loads(json.dumps(written)) == written
    assert written["overall"]["hit@10"].keys() == {"value", "low", "high"}
    assert [outcome["gold"] for outcome in report.to_json(outcomes=True)["outcomes"]] == [
        ["a"]
    ] * 3 + [[]]

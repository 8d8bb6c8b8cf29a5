"""TREC files: what another tool measures from them is what we measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from family_recall.apps.evaluation.outcomes import Outcome, measured
from family_recall.apps.evaluation.trec import (
    escaped,
    falling,
    read_qrels,
    read_run,
    unescaped,
    write_qrels,
    write_run,
)
from family_recall.errors import DatasetError

if TYPE_CHECKING:
    from pathlib import Path

    from family_recall.apps.evaluation.measures import Interval

THEIRS = {"ndcg@10": "nDCG@10", "recall@10": "R@10", "mrr@10": "RR@10", "recall@5": "R@5"}


def outcome(name: str, ranking: list[str], scores: list[float], gold: list[str]) -> Outcome:
    """Return an outcome of which only the ranking matters."""
    return Outcome(name, "any", tuple(gold), tuple(ranking), "ok", 0.5, 1.0, tuple(scores))


OUTCOMES = [
    # In order of score, with gold at ranks 2 and 3.
    outcome("q1", ["a", "b", "c"], [0.9, 0.5, 0.25], ["b", "c", "never"]),
    # All tied: another tool would turn the order of the ids round.
    outcome("q2", list("abcdefghijkl"), [0.5] * 12, ["a", "l"]),
    # In order of time, so the scores rise and fall; blanks in both ids.
    outcome("session 7\tq3", ["S 1", "S 2", "100%"], [0.1, 0.7, 0.7], ["S 2"]),
    # Nothing was found; and nothing was to be found.
    outcome("q4", [], [], ["b"]),
    outcome("q5", ["a"], [0.3], []),
    # Closer than 32 bits can tell.
    outcome("q6", ["a", "b"], [0.30000000001, 0.3], ["a"]),
]


def value(row: dict[str, int | Interval], name: str) -> float:
    """Return the mean of one measure."""
    interval = row[name]
    assert not isinstance(interval, int)
    return interval.value


def test_ir_measures_gets_our_figures_from_the_two_files(tmp_path: Path) -> None:
    """Ties, results in order of time, blanks in ids and empty answers come out alike."""
    write_run(tmp_path / "run", OUTCOMES)
    write_qrels(tmp_path / "qrels", OUTCOMES)
    wanted = [ir_measures.parse_measure(name) for name in THEIRS.values()]

    theirs = ir_measures.calc_aggregate(
        wanted,
        list(ir_measures.read_trec_qrels(str(tmp_path / "qrels"))),
        list(ir_measures.read_trec_run(str(tmp_path / "run"))),
    )

    ours = measured([outcome for outcome in OUTCOMES if outcome.gold], seed=0)
    assert {name: value(ours, name) for name in THEIRS} == pytest.approx(
        {name: theirs[measure] for name, measure in zip(THEIRS, wanted, strict=True)}, abs=1e-12
    )


def test_a_run_reads_back_as_it_was_ranked(tmp_path: Path) -> None:
    """Each ranking comes back; a question without results has no line to come back from."""
    write_run(tmp_path / "run", OUTCOMES)
    write_qrels(tmp_path / "qrels", OUTCOMES)

    assert read_run(tmp_path / "run") == {o.query_id: o.ranking for o in OUTCOMES if o.ranking}
    assert read_qrels(tmp_path / "qrels") == {o.query_id: o.gold for o in OUTCOMES if o.gold}
    assert (tmp_path / "run").read_text().splitlines()[0] == "q1 Q0 a 1 0.899999976 family_recall"


def test_another_tools_run_is_read_by_score_and_not_by_rank(tmp_path: Path) -> None:
    """As trec_eval reads it: the rank is passed over, ties go to the later id."""
    path = tmp_path / "run"
    path.write_text("q Q0 a 1 0.5 x\nq Q0 b 2 0.5 x\n\nq Q0 c 3 7 x\n")

    assert read_run(path) == {"q": ("c", "b", "a")}


def test_a_relevance_of_0_is_no_gold(tmp_path: Path) -> None:
    """Relevance above 0 counts, whatever its grade."""
    path = tmp_path / "qrels"
    path.write_text("q 0 a 0\nq 0 b 2\nq 0 c -1\n")

    assert read_qrels(path) == {"q": ("b",)}


@given(st.text(min_size=1))
def test_an_id_is_written_without_blanks_and_reads_back(name: str) -> None:
    """Any id is one field of its line, and comes back to the letter."""
    assert len(f"x {escaped(name)} y".split()) == 3
    assert unescaped(escaped(name)) == name


def test_what_is_no_escape_stays() -> None:
    """Another tool's per cent signs are left alone: 50%off, and bytes that are no UTF-8."""
    assert unescaped("50%off") == "50%off"
    assert unescaped("%FF") == "%FF"


@given(st.lists(st.floats(-1e6, 1e6), max_size=30))
def test_scores_fall_strictly_and_no_further_than_they_must(scores: list[float]) -> None:
    """As 32-bit floats each is below the one before; those that fell already stay."""
    fallen = np.array(falling(scores), np.float32)

    assert (np.diff(fallen) < 0.0).all()
    assert (fallen <= np.array(scores, np.float32)).all()
    if (np.diff(np.array(scores, np.float32)) < 0.0).all():
        assert fallen.tolist() == np.array(scores, np.float32).tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q Q0 a 1 0.5\n", "run:1: expected qid Q0 docno rank score tag, got 'q Q0 a 1 0.5'"),
        ("q Q0 a 1 0.5 x\nq Q0 a 2 0.4 x\n", "run:2: 'a' is in the run of 'q' twice"),
        ("q Q0 a 1 high x\n", "run:1: expected qid Q0 docno rank score tag, got 'q Q0 a 1 high x'"),
    ],
)
def test_a_line_that_is_no_hit_is_named(tmp_path: Path, text: str, message: str) -> None:
    """File and line open the message."""
    path = tmp_path / "run"
    path.write_text(text)

    with pytest.raises(DatasetError, match=message):
        read_run(path)


def test_a_line_that_is_no_qrel_is_named(tmp_path: Path) -> None:
    """A relevance is a whole number; a missing file is named too."""
    path = tmp_path / "qrels"
    path.write_text("q 0 a yes\n")

    with pytest.raises(
        DatasetError, match="qrels:1: expected qid 0 docno relevance, got 'q 0 a yes'"
    ):
        read_qrels(path)
    with pytest.raises(DatasetError, match="check the path"):
        read_qrels(tmp_path / "nowhere")

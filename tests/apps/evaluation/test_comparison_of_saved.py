"""Saved reports and runs are compared later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from family_recall.apps.evaluation.comparison import load_pair
from family_recall.apps.evaluation.outcomes import Outcome, plain
from family_recall.apps.evaluation.trec import write_qrels, write_run
from family_recall.errors import DatasetError

OUTCOMES = [
    Outcome("q1", "plain", ("a",), ("a", "b"), "ok", 0.9, 1.0, (0.9, 0.1), ("lexical", "vector")),
    Outcome("q2", "hard", ("b",), (), "no_match", 0.0, 1.0),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the same outcomes as a report, a run and qrels."""
    record = {"outcomes": plain(OUTCOMES)}
    (tmp_path / "a.json").write_text(json.dumps(record))
    write_run(tmp_path / "a.run", OUTCOMES)
    write_qrels(tmp_path / "a.qrels", OUTCOMES)
    return tmp_path


def test_a_run_gets_gold_and_categories_from_the_report(folder: Path) -> None:
    """The question without results is in the run's outcomes too: it got none."""
    report, run = load_pair(folder / "a.json", folder / "a.run")

    assert [o.query_id for o in report] == [o.query_id for o in run] == ["q1", "q2"]
    assert [o.ranking for o in report] == [o.ranking for o in run] == [("a", "b"), ()]
    assert [o.category for o in run] == ["plain", "hard"]
    assert [o.gold for o in run] == [("a",), ("b",)]


def test_two_runs_need_qrels(folder: Path) -> None:
    """With them, every judged question is compared; without, the message names the option."""
    first, other = load_pair(folder / "a.run", folder / "a.run", folder / "a.qrels")

    assert [o.ranking for o in first] == [o.ranking for o in other] == [("a", "b"), ()]
    assert {o.category for o in first} == {"unknown"}
    with pytest.raises(DatasetError, match="name its qrels with --qrels"):
        load_pair(folder / "a.run", folder / "a.run")


@pytest.mark.parametrize("text", ["{}", "[]", "{oops", '{"outcomes": [{"id": "q"}]}', "7"])
def test_a_report_without_its_questions_is_refused(folder: Path, text: str) -> None:
    """What ``--json`` printed, or anything else, says how to make one that can be compared."""
    path = folder / "b.json"
    path.write_text(text)

    with pytest.raises(DatasetError, match=r"eval DIR --save b\.json"):
        load_pair(path, folder / "a.json")

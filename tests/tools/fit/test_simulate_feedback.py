"""The simulation: what it refuses, what the stated user does, and what it prints."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.conftest import found, recall
from tools.fit.simulate_feedback import User, main

if TYPE_CHECKING:
    from pathlib import Path

    from family_recall import FamilyRecall


@pytest.mark.parametrize("name", ["locomo", "realtalk", "locomo_plus"])
def test_evaluation_sets_are_never_learned_on(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their licence does not allow it; a link under another name changes nothing."""
    (tmp_path / name).mkdir()
    (tmp_path / "mine").symlink_to(tmp_path / name)

    for folder in (name, "mine"):
        with pytest.raises(SystemExit) as refused:
            main(["--data", str(tmp_path / folder), "--licence", "mine=MIT"])
        assert refused.value.code == 2
        assert f"{name} is for evaluation only" in capsys.readouterr().err


def test_the_user_does_what_is_stated(home: FamilyRecall) -> None:
    """A sure user clicks the first right result, a careless one any, a strict one rejects."""
    answer = recall(home, "cake and vacation", "rajesh")
    first, *_, last = found(answer)

    assert User(1.0, 0.0, 0.0).reacts(answer, [last, first], Random(0)) == (first, True)
    assert User(1.0, 0.0, 0.0).reacts(answer, ["nothing"], Random(0)) is None
    assert User(1.0, 0.0, 1.0).reacts(answer, ["nothing"], Random(0)) == (first, False)
    careless = {User(1.0, 1.0, 0.0).reacts(answer, [first], Random(n)) for n in range(60)}
    assert careless == {(doc_id, True) for doc_id in found(answer)[:10]}


def test_it_measures_before_and_after(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a set of two dozen notes: figures with intervals, bounded ratios, nothing else."""
    dev = tmp_path / "notes" / "dev"
    dev.mkdir(parents=True)
    things = "lamp kettle drill rope ladder tent bicycle clock mirror violin lantern globe".split()
    memories = [
        {"id": f"n/{at}", "text": f"The {thing} is on shelf {at} in the cellar", "space": "n"}
        for at, thing in enumerate(things)
    ]
    queries = [
        {"id": f"q{at}-{n}", "text": text.format(thing), "space": "n", "category": "plain",
         "gold": [f"n/{at}"]}
        for at, thing in enumerate(things)
        for n, text in enumerate(("Where is the {}?", "On which shelf is the {}?"))
    ]  # fmt: skip
    for name, records in (("memories", memories), ("queries", queries)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (dev / f"{name}.jsonl").write_text(lines, "utf-8")
    options = ["--licence", "notes=CC0-1.0", "--after", "5", "12", "--wrong", "0.2"]

    assert main(["--data", str(tmp_path / "notes"), *options]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["judged_questions"], record["unseen_questions"]) == (12, 12)
    for moment in ("after_5", "after_12"):
        assert record[moment]["gain"]["low"] <= record[moment]["gain"]["value"]
    assert all(1 / 3 <= ratio <= 3 for ratio in record["ratios"].values())

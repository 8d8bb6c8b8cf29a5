"""tools/train/generate_homes.py: households as a dataset, from cards."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from family_recall.apps.evaluation.datasets import load_dataset
from tools.train.generate_homes import main

if TYPE_CHECKING:
    from pathlib import Path


def test_an_invented_home_is_a_dataset_and_its_questions_stay_in_it(tmp_path: Path) -> None:
    """Two homes of two people each, in sessions that follow one another."""
    assert main(["--out", str(tmp_path), "--homes", "2"]) == 0
    dataset = load_dataset(tmp_path / "dev")
    speakers = defaultdict(set)
    days = defaultdict(set)
    for memory in dataset.memories:
        speakers[memory.space].add(memory.speaker)
        days[memory.space, memory.session].add(memory.occurred_at)

    assert [len(people) for people in speakers.values()] == [2, 2]
    assert all(len(moments) == 1 for moments in days.values())
    assert {query.category for query in dataset.queries} == {"question", "hint"}
    assert all(gold.startswith(query.space) for query in dataset.queries for gold in query.gold)


def test_the_same_seed_invents_the_same_homes(tmp_path: Path) -> None:
    """And another seed others."""
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        main(["--out", str(tmp_path / name), "--homes", "1", "--seed", seed])
    a, b, c = ((tmp_path / n / "dev" / "memories.jsonl").read_text("utf-8") for n in "abc")

    assert a == b
    assert a != c

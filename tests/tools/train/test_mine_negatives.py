"""tools/train/mine_negatives.py: wrong memories that the pipeline ranks high, for training."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from tools.train.mine_negatives import main, near_copy

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ("Mira baked a lemon cake.", "The oven is broken.", "Arjun ate the lemon cake.", "Rain.")


def data(folder: Path, name: str) -> Path:
    """Write a set of four memories, a question that the first answers, and one that none does."""
    dev = folder / name / "dev"
    dev.mkdir(parents=True)
    memories = [
        {"id": str(i), "text": text, "speaker": "Leo", "occurred_at": None, "session": None}
        for i, text in enumerate(TEXTS)
    ]
    query: dict[str, object]
    query = {"id": "q", "text": "Who baked the lemon cake?", "category": "c", "gold": ["0"]}
    query |= {"as_of": None, "asker": None, "session": None}
    nowhere = query | {"id": "n", "text": "Who ate the plum cake?", "gold": []}
    for file, rows in (("memories", memories), ("queries", [query, nowhere])):
        lines = [json.dumps({**row, "space": "home"}) for row in rows]
        (dev / f"{file}.jsonl").write_text("\n".join(lines), "utf-8")
    return folder


def test_the_most_alike_wrong_memory_comes_first_and_the_gold_never(tmp_path: Path) -> None:
    """With their speaker before them, as the index sees them."""
    main([str(data(tmp_path, "madial")), "--sets", "madial", "--out", str(tmp_path / "out")])
    with gzip.open(tmp_path / "out" / "madial" / "pairs.jsonl.gz", "rt", encoding="utf-8") as file:
        pair, nowhere = [json.loads(line) for line in file]

    assert pair["positive"] == "Leo: Mira baked a lemon cake."
    assert pair["hard_negative"][0] == "Leo: Arjun ate the lemon cake."
    assert pair["positive"] not in pair["hard_negative"]
    assert (nowhere["positive"], nowhere["kind"]) == (None, "c")
    assert nowhere["hard_negative"][0] == "Leo: Arjun ate the lemon cake."


@pytest.mark.parametrize("name", ["locomo", "realtalk", "locomo_plus"])
def test_sets_for_evaluation_only_are_refused(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is read."""
    with pytest.raises(SystemExit):
        main([str(tmp_path), "--sets", name, "--out", str(tmp_path / "out")])

    assert "for evaluation only" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "gold", "copies"),
    [
        ("We bought a car", "we bought a car", True),
        ("We bought a red car", "We bought a car", True),  # all four words of the shorter one
        ("We sold the red car", "We bought a car", False),  # two of four
        ("", "We bought a car", True),
    ],
)
def test_near_copies(text: str, gold: str, copies: bool) -> None:
    """At least four fifths of the words of the shorter text."""
    assert near_copy(text, gold) is copies

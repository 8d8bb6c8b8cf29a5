"""tools/train/written_homes.py and the homes themselves, as their file holds them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from family_recall.apps.evaluation.datasets import load_dataset
from tools.train.homes.loader import (
    HELD_OUT,
    MANY_HANDS,
    MANY_HANDS_CONSTANTS,
    MANY_HANDS_HELD_OUT,
    TRAINING,
    read_homes,
)
from tools.train.written_homes import main


def home(**changes: object) -> dict[str, Any]:
    """Return a home of two memories and two questions, as its file has it."""
    record: dict[str, Any] = {
        "home": "x01",
        "people": ["Ola", "Per"],
        "memories": [[3, "Ola", "gate code 2211"], [40, "Per", "gate is 3030, told the post"]],
        "questions": [
            ["changed", "Ola", "gate code", [1], [0]],
            ["unear", "Per", "code of the shed", [], []],
        ],
    }
    return record | changes


def written(folder: Path, *homes: dict[str, Any]) -> Path:
    """Write a file of homes."""
    path = folder / "some.jsonl"
    path.write_text("\n".join(json.dumps(each) for each in homes), "utf-8")
    return path


def test_a_home_is_written_as_a_dataset(tmp_path: Path) -> None:
    """Its questions come after its memories, each with those that answer and those that did."""
    assert main(["--homes", str(written(tmp_path, home())), "--out", str(tmp_path)]) == 0
    dataset = load_dataset(tmp_path / "dev")
    changed, nowhere = dataset.queries

    assert [m.text for m in dataset.memories] == ["gate code 2211", "gate is 3030, told the post"]
    assert [(m.occurred_at or 0, m.session) for m in dataset.memories] == sorted(
        (m.occurred_at or 0, m.session) for m in dataset.memories
    )
    assert (changed.gold, changed.stale) == (("x01/1",), ("x01/0",))
    assert nowhere.gold == ()
    assert all(query.as_of and m.occurred_at for query in dataset.queries for m in dataset.memories)


def test_a_home_alone_is_a_household_that_is_asked_by_its_people(tmp_path: Path) -> None:
    """With who is whose mother, and follow-ups as they were asked; else these stand alone."""
    more = {"after": "gate code", "alone": "code of the shed"}
    follow = ["follow", "Ola", "and of the shed?", [1], [], more]
    path = written(tmp_path, home(questions=[follow], kin=[["Ola", "mother of", "Per"]]))
    main(["--homes", str(path), "--each", "--out", str(tmp_path / "each")])
    main(["--homes", str(path), "--out", str(tmp_path / "all")])
    alone = load_dataset(tmp_path / "each" / "x01" / "dev")
    together = load_dataset(tmp_path / "all" / "dev")

    assert alone.household is not None
    assert alone.household.relations == (("Ola", "mother of", "Per"),)
    assert alone.household.person_id_of("Per") == "per"
    assert [(q.text, q.previous) for q in alone.queries] == [("and of the shed?", "gate code")]
    assert [(q.text, q.previous) for q in together.queries] == [("code of the shed", None)]


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"memories": [[3, "Ola", "a", {"slot": ["gate", "code", "5"]}]]}, "does not say '5'"),
        ({"memories": [[3, "Ola", "a", {"over": [1]}], [4, "Per", "b"]]}, "comes after it"),
        ({"memories": [[3, "Ola", "a"], [2, "Per", "b"]]}, "days must not fall"),
        ({"memories": [[3, "Ola", "a"], [4, "Eva", "b"]]}, "none of the people"),
        ({"memories": [[3, "Ola", "a"], [4, "Per", " "]]}, "no text"),
        ({"questions": [["odd", "Ola", "gate", [1], []]]}, "kind 'odd' is none of"),
        ({"questions": [["changed", "Eva", "gate", [1], []]]}, "none of the people"),
        ({"questions": [["changed", "Ola", "gate", [2], []]]}, "within the 2 memories"),
        ({"questions": [["changed", "Ola", "gate", [], []]]}, "have no gold"),
    ],
)
def test_a_malformed_home_is_named_by_its_line(
    tmp_path: Path, changes: dict[str, object], complaint: str
) -> None:
    """With what is wrong with it."""
    with pytest.raises(ValueError, match=rf"some.jsonl, line 2: not a home: .*{complaint}"):
        read_homes(written(tmp_path, home(), home(**changes)))


def test_a_file_without_homes_is_an_error(tmp_path: Path) -> None:
    """Nothing to train on is not silently nothing."""
    with pytest.raises(ValueError, match="no homes here"):
        read_homes(written(tmp_path))


def test_every_home_was_written_for_one_file_alone() -> None:
    """No text, and no home, is in both; every changed fact knows what it replaced."""
    training, held_out = read_homes(TRAINING), read_homes(HELD_OUT)
    hands = [read_homes(path) for path in (MANY_HANDS, MANY_HANDS_CONSTANTS, MANY_HANDS_HELD_OUT)]
    names = [each.name for homes in (training, held_out, *hands) for each in homes]
    texts = [
        {memory.text for each in homes for memory in each.memories}
        for homes in (training, held_out)
    ]
    wrote = [hand for homes in hands for hand in {each.hand for each in homes}]
    assert len(wrote) == len(set(wrote))

    assert len(names) == len(set(names))
    assert texts[0].isdisjoint(texts[1])
    assert all(
        question.stale and max(question.stale) < max(question.gold)
        for each in (*training, *held_out)
        for question in each.questions
        if question.kind == "changed"
    )

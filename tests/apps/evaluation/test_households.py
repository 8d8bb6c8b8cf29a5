"""``household.json``: the people, spaces and region that a dataset is asked in."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from family_recall.api import FamilyRecall
from family_recall.apps.evaluation.datasets import Dataset, load_dataset, to_memory
from family_recall.apps.evaluation.testbed import contexts, furnish, region_of
from family_recall.errors import DatasetError
from family_recall.types import RecallContext

HOUSEHOLD: dict[str, Any] = {
    "timezone": "Africa/Nairobi",
    "country": "KE",
    "hemisphere": "south",
    "now": "2026-03-01",
    "people": [["p1", "Wanjiru", ["Mum"]], ["p2", "Otieno", []]],
    "roles": {"p2": "child"},
    "spaces": {"home": {"kind": "shared"}, "diary": {"kind": "private", "owner": "p1"}},
    "relations": [["Wanjiru", "mother of", "Otieno"]],
    "stale": {"q1": ["m1"]},
}
MEMORIES = [
    {"id": "m1", "text": "Gate code is 4471", "speaker": "Wanjiru", "space": "home"},
    {"id": "m2", "text": "The gate has a new code, 9025", "speaker": "otieno", "space": "home"},
    {"id": "m3", "text": "I hid the gate remote", "speaker": "Mum", "space": "diary"},
    {"id": "m4", "text": "Parcel at the gate", "speaker": "A courier", "space": "home"},
]
QUERIES = [
    {"id": "q1", "text": "gate code", "space": "home", "category": "changed", "gold": ["m2"],
     "asker": "Mum"},
    {"id": "q2", "text": "gate remote", "space": "home", "category": "private", "gold": [],
     "asker": "Otieno"},
    {"id": "q3", "text": "gate parcel", "space": "home", "category": "direct", "gold": ["m4"],
     "asker": "The neighbour"},
]  # fmt: skip


def household_folder(folder: Path, **changed: Any) -> Path:
    """Write the household, with some keys changed."""
    for name, records in (("memories", MEMORIES), ("queries", QUERIES)):
        lines = "\n".join(map(json.dumps, records))
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (folder / "household.json").write_text(json.dumps({**HOUSEHOLD, **changed}), encoding="utf-8")
    return folder


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    """Return the household as it is read."""
    return load_dataset(household_folder(tmp_path))


def test_a_speaker_is_a_person_by_any_of_their_names(dataset: Dataset) -> None:
    """Name, other case and alias become the person's id; a stranger stays a name."""
    authors = [to_memory(memory, dataset.household).author for memory in dataset.memories]

    assert authors == ["p1", "p2", "p1", "A courier"]


def test_a_question_is_asked_by_its_asker_over_every_space(dataset: Dataset) -> None:
    """At the end of the household's day, in no space in particular; a stranger is nobody."""
    context_of = contexts(dataset, RecallContext(person_id="evaluator"))

    asked = [context_of(query) for query in dataset.queries]

    assert [ctx.person_id for ctx in asked] == ["p1", "p2", None]
    assert {ctx.space_id for ctx in asked} == {None}
    assert asked[0].now == dt.datetime(2026, 3, 1, 23, 59, 59)  # noqa: DTZ001 -- naive as read


def test_the_filled_household_opens_to_each_what_is_theirs(
    dataset: Dataset, tmp_path: Path
) -> None:
    """The owner finds the diary, the child does not; zone, relation and role are stored."""
    with FamilyRecall.open(tmp_path / "h.db", **region_of(dataset)) as home:
        furnish(home, dataset)
        context_of = contexts(dataset, RecallContext(time_budget_ms=1e5))
        found = {
            query.asker: {result.doc_id for result in home.recall("gate", context_of(query))}
            for query in dataset.queries
        }
        stated = home.relations.all(person_id="p2")
        roles = {access.space.space_id: access.role for access in home.spaces.accessible("p2")}

    assert found == {
        "Mum": {"m1", "m2", "m3", "m4"},
        "Otieno": {"m1", "m2", "m4"},
        "The neighbour": {"m1", "m2", "m4"},
    }
    assert region_of(dataset)["timezone"] == "Africa/Nairobi"
    assert [(r.subject, r.relation, r.object) for r in stated] == [
        ("Wanjiru", "mother of", "Otieno")
    ]
    assert roles == {"home": "child"}


def test_stale_memories_go_with_their_question(dataset: Dataset) -> None:
    """Only the changed question has some."""
    assert [query.stale for query in dataset.queries] == [("m1",), (), ()]


def test_a_dataset_without_household_is_as_before(tmp_path: Path) -> None:
    """No file, no household, and no question has stale memories."""
    folder = household_folder(tmp_path)
    (folder / "household.json").unlink()
    read = load_dataset(folder)

    assert read.household is None
    assert region_of(read) == {"timezone": "UTC"}
    assert contexts(read, RecallContext(person_id="evaluator"))(read.queries[0]).space_id == "home"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"people": [["p1", "Wanjiru"]]}, r"Expected `array` of length 3.*people"),
        ({"people": {}}, "Expected `array`.*people"),
        ({"roles": {"p9": "child"}}, "roles: expected a person's id"),
        ({"roles": {"p2": "king"}}, "roles: expected a person's id"),
        ({"spaces": {"home": {"kind": "shared"}}}, "memories are in space 'diary'; add it"),
        ({"spaces": {"home": {"kind": "private", "owner": "p9"}}}, "expected 'home' to be shared"),
        ({"spaces": {"home": "shared"}}, "Expected `object`.*spaces"),
        ({"relations": [["Wanjiru", "Otieno"]]}, r"Expected `array` of length 3.*relations"),
        ({"stale": {"q9": []}}, "stale: there is no question 'q9'"),
        ({"stale": {"q1": ["m9"]}}, "stale 'm9' is no memory of space 'home'"),
        ({"now": "soon"}, "now"),
        ({"hemisphere": "west"}, "hemisphere"),
        ({"pets": []}, "unknown field `pets`"),
    ],
)
def test_a_wrong_household_is_refused(
    tmp_path: Path, changed: Mapping[str, Any], message: str
) -> None:
    """The message names the file and what was expected."""
    with pytest.raises(DatasetError, match=message):
        load_dataset(household_folder(tmp_path, **changed))


@pytest.mark.parametrize("text", ["[1]", "{", "[" * 100_000])
def test_a_household_that_is_no_json_object_is_refused(tmp_path: Path, text: str) -> None:
    """Whatever the file holds, the error names it."""
    folder = household_folder(tmp_path)
    (folder / "household.json").write_text(text, encoding="utf-8")

    with pytest.raises(DatasetError, match=r"household\.json: "):
        load_dataset(folder)

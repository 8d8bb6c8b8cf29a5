"""The everyday calls: fields as keyword arguments, a default space, answers that print short."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest

from family_recall import (
    Answer,
    FamilyRecall,
    Memory,
    Person,
    RecallContext,
    Result,
    Selection,
    Space,
)
from family_recall.errors import InvalidMemoryError, InvalidRequestError
from family_recall.types.erasure import SelectionFields
from family_recall.types.memory import MemoryFields
from family_recall.types.request import ContextFields
from tests.conftest import HOME, NOW, PLENTY_MS, open_home, recall, written

ROOT = Path(__file__).resolve().parents[2]
KEY = "where is the spare key?"
FIELDS: dict[str, Any] = {"person_id": "mia", "now": NOW, "time_budget_ms": PLENTY_MS, "top_k": 3}
CTX = RecallContext(**FIELDS)


@pytest.mark.parametrize(
    ("fields", "record", "positional"),
    [
        (ContextFields, RecallContext, set()),
        (MemoryFields, Memory, {"text"}),
        (SelectionFields, Selection, set()),
    ],
)
def test_keyword_arguments_are_the_fields_of_the_class(
    fields: type, record: type, positional: set[str]
) -> None:
    """Every field can be given by name, with the type it has."""
    declared = {
        field.name: kind
        for field in dataclasses.fields(record)
        if field.name not in positional and (kind := get_type_hints(record)[field.name])
    }

    assert get_type_hints(fields) == declared


def test_fields_by_name_ask_what_a_context_asks(home: FamilyRecall) -> None:
    """Each call answers the same, to the last bit, with a context and with its fields."""
    assert written(home.recall(KEY, **FIELDS)) == written(home.recall(KEY, CTX))
    assert written(asyncio.run(home.arecall(KEY, **FIELDS))) == written(home.recall(KEY, CTX))
    assert home.explain(KEY, "key", **FIELDS).to_json() == home.explain(KEY, "key", CTX).to_json()
    assert home.inspect(KEY, **FIELDS).near_misses == home.inspect(KEY, CTX).near_misses
    assert home.understand(KEY, **FIELDS) == home.understand(KEY, CTX)
    assert written(home.opening(**FIELDS)) == written(home.opening(CTX))
    assert home.memories.page(person_id="mia") == home.memories.page(RecallContext("mia"))
    assert home.memories.entities(person_id="mia") == home.memories.entities(RecallContext("mia"))
    assert home.memories.get("key", person_id="mia") == home.memories.get("key", CTX)
    assert home.relations.all(person_id="mia") == home.relations.all(RecallContext("mia"))
    assert home.feedback(KEY, "key", accepted=True, **FIELDS).kept


def test_a_context_or_its_fields_but_not_both(home: FamilyRecall) -> None:
    """Both at once, and a field that there is not, are refused with the way out."""
    with pytest.raises(InvalidRequestError, match=r"ctx and person_id, top_k .*dataclasses"):
        home.recall(KEY, CTX, person_id="tom", top_k=3)
    with pytest.raises(InvalidRequestError, match=r"unknown field 'persn'.* has person_id"):
        home.recall(KEY, persn="tom")  # type: ignore[call-arg]  # wrong on purpose
    with pytest.raises(InvalidRequestError, match="top_k must be 1 or more"):
        home.recall(KEY, top_k=0)


def test_a_text_is_remembered_with_its_fields(home: FamilyRecall) -> None:
    """What a Memory has, a text with keyword arguments has too; both at once are refused."""
    home.remember("The kettle is Tom's", space_id=HOME, doc_id="a", author="tom", labels=("tea",))
    asyncio.run(home.aremember("Tea is at four", space_id=HOME, doc_id="b"))

    assert home.memories.get("a", person_id="mia").current.memory == Memory(
        "The kettle is Tom's", HOME, doc_id="a", author="tom", labels=("tea",)
    )
    assert home.memories.get("b", person_id="mia").current.memory.text == "Tea is at four"
    with pytest.raises(InvalidMemoryError, match="a memory and author were both given"):
        home.remember(Memory("x", HOME), author="tom")
    with pytest.raises(InvalidMemoryError, match="unknown field 'autor'"):
        home.remember("x", space_id=HOME, autor="tom")  # type: ignore[call-arg]  # wrong on purpose
    with pytest.raises(InvalidMemoryError, match="importance must be in"):
        home.remember("x", space_id=HOME, importance=2)


def test_without_a_space_it_goes_where_there_is_no_choice(path: Path) -> None:
    """To the only space, or to the only one that is a household; otherwise the error names them."""
    with open_home(path, encoder=None) as home:

        def space_of(text: str) -> str:
            doc_id = home.remember(text, author="tom").doc_id
            return home.memories.get(doc_id, person_id="tom").current.memory.space_id

        home.people.add(Person("tom", "Tom"))
        home.spaces.add(Space("private:sarah", "private"))
        with pytest.raises(InvalidMemoryError, match=r"there is no space .* home\.spaces\.add"):
            home.remember("The spare key is under the pot", person_id="tom")
        home.spaces.add(Space("home", "household"))
        assert space_of("The spare key is under the pot") == "home"
        home.spaces.add(Space("club", "shared"))
        home.spaces.add(Space("p:tom", "private"))
        assert space_of("The bin goes out on Monday") == "home"
        home.spaces.add(Space("cabin", "household"))
        with pytest.raises(
            InvalidMemoryError, match="choose among cabin, club, home, p:tom, private:sarah"
        ):
            home.remember("The axe is in the shed")


def test_criteria_by_name_select_what_a_selection_does(home: FamilyRecall) -> None:
    """Ids and criteria together mean what meets all of them; a Selection stands alone."""
    by_name = home.forget(by="rajesh", person_id="rajesh", dry_run=True)
    selected = home.forget(Selection(by="rajesh"), person_id="rajesh", dry_run=True)

    assert sorted(by_name.doc_ids) == ["goa", "march"]
    assert by_name.token == selected.token
    with pytest.raises(InvalidRequestError, match="a selection and about were both given"):
        home.forget(Selection(by="rajesh"), person_id="rajesh", about="priya")
    with pytest.raises(InvalidRequestError, match="unknown field 'abuot'"):
        home.forget(person_id="rajesh", abuot="priya")  # type: ignore[call-overload]  # on purpose
    with pytest.raises(InvalidRequestError, match="ids were given twice"):
        home.forget("goa", person_id="rajesh", doc_ids=("march",))
    with pytest.raises(InvalidRequestError, match="nothing was chosen to forget"):
        home.forget(person_id="rajesh")
    assert home.forget("goa", person_id="rajesh", space_id=HOME).counts["memories"] == 1


def test_an_answer_is_a_series_of_results(home: FamilyRecall) -> None:
    """It iterates, has a length and a best result; an empty one has none."""
    answer, empty = recall(home, KEY, "mia"), recall(home, "", "mia")

    assert list(answer) == list(answer.results)
    assert len(answer) == len(answer.results) > 1
    assert answer.best == answer.results[0]
    assert (list(empty), len(empty), empty.best) == ([], 0, None)


def test_an_answer_prints_in_a_few_lines(home: FamilyRecall) -> None:
    """What answers, how surely, three others in one line each, and what was missing."""
    best = Result(
        rank=1, doc_id="a", score=1.0, confidence=0.874, text="The spare\nkey " + "x" * 200,
        space_id=HOME, kind="fact", author="Tom", title=None, session_id=None, url=None,
        section=None, occurred_at="2025-06-01T18:00:00+00:00", superseded=False, source="lexical",
        contributions=(), superseded_by="b",
    )  # fmt: skip
    plain = msgspec.structs.replace(
        best,
        rank=2,
        text="Short",
        author=None,
        occurred_at=None,
        superseded_by=None,
        confidence=0.1,
    )
    answer: Answer = msgspec.structs.replace(
        recall(home, KEY), results=(best, plain), status="ok", confidence=0.874,
        degraded=("vector: no model",),
    )  # fmt: skip

    assert str(plain) == "Short (confidence 0.10)"
    assert str(answer).splitlines() == [
        f"The spare key {'x' * 145}… — Tom, 1 June 2025",
        "Sure (87 %).",
        "Also:",
        "  Short",
        "Answered without the search by meaning.",
    ]
    several = (msgspec.structs.replace(plain, text=text) for text in ("a", "b", "b", "c", "d"))
    longer = msgspec.structs.replace(answer, results=(best, *several), degraded=())
    assert str(longer).splitlines()[2:] == ["Also:", "  a", "  b", "  c"]
    assert str(recall(home, "")) == "Nothing stored answers that."


def test_every_public_method_is_in_the_reference() -> None:
    """The generated page has a heading for each method of a household and of its parts."""
    page = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8").splitlines()
    headings = {line.lstrip("#").strip() for line in page if line.startswith("#")}
    classes = {"FamilyRecall": FamilyRecall} | {
        f"home.{name}": kind for name, kind in get_type_hints(FamilyRecall).items()
    }
    methods = {
        f"{called}.{name}"
        for called, kind in classes.items()
        for name, _ in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }

    assert len(classes) == 10
    assert not methods - headings

"""Requests, memories, relations and vectors that are refused."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from family_recall import (
    FamilyRecall,
    Filters,
    Grant,
    Hidden,
    Memory,
    Person,
    RecallContext,
    RecallRequest,
    Region,
    Relation,
    RetentionRule,
    Space,
)
from family_recall.encoders.base import Encoding
from family_recall.errors import (
    FamilyRecallError,
    InvalidMemoryError,
    InvalidRequestError,
    UnknownMemoryError,
    UnknownPersonError,
    UnknownSpaceError,
)
from tests.conftest import (
    HOME,
    NOW,
    TinyEncoder,
    found,
    move_in,
    open_home,
    recall,
    remember,
)

BAD_CONTEXTS: tuple[dict[str, Any], ...] = (
    {"time_budget_ms": 0}, {"time_budget_ms": -5}, {"time_budget_ms": math.nan},
    {"time_budget_ms": math.inf}, {"time_budget_ms": "60"}, {"time_budget_ms": True},
    {"top_k": 0}, {"top_k": -1}, {"top_k": 2.0},
    {"top_k": True}, {"mmr_lambda": -0.1}, {"mmr_lambda": 1.1}, {"mmr_lambda": math.nan},
    {"mmr_lambda": "0.5"}, {"mode": "psychic"}, {"now": "yesterday"}, {"as_of": 5},
    {"known_at": "2025-13-01"}, {"person_id": 7}, {"space_id": b"x"}, {"colour": "red"},
    {"filters": 5}, {"filters": {"colour": "red"}}, {"filters": {"kinds": ["dream"]}},
    {"filters": {"kinds": "fact"}}, {"filters": {"authors": [1]}},
    {"filters": {"after": "soon"}},
)  # fmt: skip
BAD_FIELDS: tuple[dict[str, Any], ...] = (
    {"text": ""}, {"text": " \n"}, {"text": 5}, {"text": b"bytes"},
    {"text": "x" * 1_000_001}, {"text": "half \ud83d"}, {"space_id": ""}, {"doc_id": ""},
    {"doc_id": "x" * 1_001}, {"author": "\udc00"}, {"kind": "dream"}, {"category": "x"},
    {"band": "blue"}, {"importance": 1.1}, {"importance": -0.1}, {"importance": math.nan},
    {"importance": "high"}, {"valence": -2}, {"arousal": 2}, {"arousal": math.inf},
    {"labels": "pets"}, {"labels": [""]}, {"labels": [5]}, {"labels": 5},
    {"occurred_at": "yesterday"}, {"occurred_at": 5}, {"valid_from": "2025-02-30"},
    {"colour": "red"},
)  # fmt: skip


def accepted(
    records: Iterable[dict[str, Any]],
    read: Callable[[dict[str, Any]], object],
    error: type[Exception],
) -> list[str]:
    """List the records that are read without the error, or whose error does not name the field."""
    wrong = []
    for record in records:
        try:
            read(record)
        except error as refusal:
            if next(iter(record)) in str(refusal):
                continue
        wrong.append(str(record)[:60])
    return wrong


def test_a_request_that_cannot_be_meant_is_refused() -> None:
    """Impossible budgets, counts, λ, modes, moments and filters raise an error that names them."""
    assert not accepted(BAD_CONTEXTS, RecallContext.from_json, InvalidRequestError)


def test_an_enormous_budget_is_a_budget(home: FamilyRecall) -> None:
    """A budget of any finite size is taken: years of milliseconds harm nobody."""
    assert found(recall(home, "blue pot", "mia", time_budget_ms=1e300))[0] == "key"
    assert found(recall(home, "blue pot", "mia", time_budget_ms=10**400))[0] == "key"


def test_a_record_that_is_no_request_is_refused() -> None:
    """A JSON request has a query_text, a ctx, and nothing else."""
    records: tuple[dict[str, Any], ...] = (
        {}, {"ctx": {}}, {"query_text": "a", "budget": 1}, {"query_text": 5},
    )  # fmt: skip
    for record in records:
        with pytest.raises(InvalidRequestError):
            RecallRequest.from_json(record)


def test_unknown_names_are_refused(home: FamilyRecall) -> None:
    """An unknown person, space, profile or role is named in the error."""
    with pytest.raises(UnknownPersonError, match="'nobody'"):
        recall(home, "?", "nobody")
    with pytest.raises(UnknownSpaceError, match="'nowhere'"):
        recall(home, "?", "mia", space_id="nowhere")
    with pytest.raises(InvalidRequestError, match="profile must be one of"):
        recall(home, "?", "mia", profile="nothing")
    with pytest.raises(InvalidRequestError, match="role must be one of"):
        home.spaces.grant(Grant("mia", HOME, "king"))
    with pytest.raises(UnknownPersonError):
        home.spaces.grant(Grant("nobody", HOME))
    with pytest.raises(UnknownSpaceError):
        home.spaces.grant(Grant("mia", "nowhere"))
    with pytest.raises(UnknownSpaceError):
        remember(home, "Said nowhere", "nowhere")
    with pytest.raises(UnknownSpaceError):
        home.relations.add(Relation("A", "knows", "B", "nowhere"))
    with pytest.raises(UnknownMemoryError, match="evidence 'x'"):
        home.relations.add(Relation("A", "knows", "B", HOME, evidence=("x",)))
    with pytest.raises(InvalidMemoryError, match="kind must be one of shared, private, household"):
        home.spaces.add(Space("s", "open"))  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InvalidRequestError, match="batch_size"):
        home.remember_many([], batch_size=0)
    with pytest.raises(InvalidRequestError, match="embed"):
        home.remember_many([], embed="never")  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize("name", ["person_id", "space_id", "focus_event_id"])
def test_half_a_character_names_nobody(home: FamilyRecall, name: str) -> None:
    """A lone surrogate in a name is an unknown name, not a crash."""
    with pytest.raises(FamilyRecallError):
        recall(home, "?", **{"person_id": "mia", name: "\ud800"})


def test_an_array_is_no_choice(home: FamilyRecall) -> None:
    """Where one of some texts is expected, an array, which no comparison decides, is refused."""
    several: Any = np.zeros(2)
    calls: tuple[Callable[[], object], ...] = (
        lambda: RetentionRule(several, 1),
        lambda: Region(hemisphere=several),
        lambda: Memory("a", HOME, kind=several),
        lambda: Space("s", several),
        lambda: Grant("mia", HOME, several),
        lambda: Hidden(HOME, "guest", (several,)),
        lambda: Relation("A", "knows", "B", HOME, band=several),
        lambda: RecallContext("mia", mode=several),
        lambda: RecallContext("mia", service_class=several),
        lambda: recall(home, "?", "mia", profile=several),
    )
    for call in calls:
        with pytest.raises(FamilyRecallError, match="must be"):
            call()


def test_half_a_character_in_an_id_is_refused(home: FamilyRecall) -> None:
    """Wherever an id may be given, a lone surrogate is an error of this library's."""
    half = "\ud800"
    calls: tuple[Callable[[], object], ...] = (
        lambda: home.explain("key", half, person_id="mia"),
        lambda: home.correct(half, person_id="mia", text="new"),
        lambda: home.memories.get(half, person_id="mia"),
        lambda: home.erasure.undo(half, person_id="mia"),
        lambda: home.audit.entries(half),
        lambda: home.spaces.all(half),
        lambda: home.spaces.revoke(half, HOME),
        lambda: home.spaces.add(Space("s", "shared", half)),
        lambda: home.people.all(half),
        lambda: home.people.add_guardian(half, "mia"),
        lambda: home.maintenance.import_from(half),
        lambda: Hidden(HOME, "guest", [["author"]]),  # type: ignore[arg-type]  # wrong on purpose
        lambda: home.relations.add(Relation("A", "knows", "B", HOME, evidence=(half,))),
    )
    for call in calls:
        with pytest.raises(FamilyRecallError):
            call()


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_what_no_file_can_be_called_is_refused(home: FamilyRecall, name: str) -> None:
    """The character 0, or half a character, in a path is an error of this library's."""
    calls = (
        home.maintenance.backup, home.maintenance.export_to, home.maintenance.import_from,
        FamilyRecall.open,
    )  # fmt: skip
    for call in calls:
        with pytest.raises(FamilyRecallError):
            call(name)


def test_a_number_beyond_64_bits_is_refused(home: FamilyRecall) -> None:
    """SQLite's whole numbers have 64 bits; a larger one is an error of this library's."""
    with pytest.raises(InvalidRequestError, match="64 bits"):
        home.learning.undo(2**80)
    with pytest.raises(InvalidRequestError, match="64 bits"):
        home.relations.all(person_id="mia", limit=2**80)
    with pytest.raises(InvalidRequestError):
        home.erasure.set_rule("casual", 10**400)


def test_a_grant_that_could_not_be_read_back_is_refused(home: FamilyRecall) -> None:
    """Its end lies where any zone can show it; its ids are texts, its role one there is."""
    before = home.spaces.grants()
    fields: dict[str, Any] = {"person_id": "mia", "space_id": HOME}
    wrong: tuple[dict[str, Any], ...] = (
        {"expires_at": dt.datetime.max.replace(tzinfo=dt.UTC)}, {"expires_at": "0001-01-01"},
        {"expires_at": "9999-12-31T23:59:59"}, {"expires_at": "soon"}, {"expires_at": 5},
        {"role": "nobody"}, {"role": []}, {"person_id": 5}, {"space_id": None},
    )  # fmt: skip
    for changes in wrong:
        with pytest.raises((InvalidMemoryError, InvalidRequestError)):
            home.spaces.grant(Grant(**(fields | changes)))
    assert home.spaces.grants() == before

    last = dt.datetime(9998, 12, 31, 23, 59, tzinfo=home.zone)
    home.spaces.grant(Grant("mia", HOME, "child", expires_at=last))
    (grant,) = [one for one in home.spaces.grants() if one.person_id == "mia"]
    assert grant.expires_at == last


def test_a_name_without_the_character_0(home: FamilyRecall) -> None:
    """A person or a space is refused with it; what was heard may have it."""
    for wrong in (
        lambda: Person("a\0b", "A"), lambda: Person("a", "A\0B"), lambda: Person("a", "A", ("\0",)),
        lambda: Space("s\0", "shared"), lambda: Space("s", "shared", "S\0"),
    ):  # fmt: skip
        with pytest.raises(InvalidMemoryError):
            wrong()
    doc_id = remember(home, "The odd\0word was heard", author="so\0mebody")
    assert doc_id in found(recall(home, "odd\0word", "mia"))
    assert [one for one in home.maintenance.check() if one.problem] == []


def test_what_is_in_the_trash_ends_within_the_calendar(home: FamilyRecall) -> None:
    """Nothing is forgotten where the moment until which it can be restored is none."""
    doc_id = remember(home, "A trapeze", author="mia")
    with pytest.raises(InvalidRequestError, match="before the year 9999"):
        home.forget(doc_id, person_id="mia", undo_for=dt.timedelta.max)
    assert doc_id in found(recall(home, "trapeze", "mia"))


def test_the_last_day_of_the_calendar_can_be_asked_for(home: FamilyRecall) -> None:
    """A page of memories may end with it, and so does not end."""
    doc_id = remember(home, "The end of days", occurred_at="9998-12-31T23:59")
    page = home.memories.page(person_id="mia", first=dt.date(9998, 12, 31), last=dt.date.max)
    assert [one.memory.doc_id for one in page.memories] == [doc_id]


def test_a_memory_with_a_bad_field_is_refused() -> None:
    """A field outside its range raises InvalidMemoryError that names it."""

    def read(fields: dict[str, Any]) -> Memory:
        return Memory.from_json({"text": "The key", "space_id": HOME, **fields})

    assert not accepted(BAD_FIELDS, read, InvalidMemoryError)


def test_a_memory_says_something() -> None:
    """Without a text, or without a space, there is no memory."""
    for record in ({"text": "The key"}, {"space_id": HOME}, {"text": None, "space_id": HOME}):
        with pytest.raises(InvalidMemoryError):
            Memory.from_json(record)
    with pytest.raises(InvalidMemoryError, match="text"):
        Memory(None, HOME)  # type: ignore[arg-type]  # wrong on purpose


def test_a_validity_that_ends_before_it_starts_is_refused(home: FamilyRecall) -> None:
    """valid_from must lie before valid_until; nothing of the batch is stored."""
    n = home.maintenance.stats()["memories"]
    with pytest.raises(InvalidMemoryError, match="must be before valid_until"):
        home.remember_many(
            [Memory("fine", HOME), Memory("odd", HOME, valid_from=NOW, valid_until=NOW)]
        )

    assert home.maintenance.stats()["memories"] == n


FIRST_MOMENT = dt.datetime(1, 1, 1)  # noqa: DTZ001 - naive on purpose
LAST_MOMENT = dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)  # noqa: DTZ001 - naive on purpose


def test_the_ends_of_time_are_moments(home: FamilyRecall) -> None:
    """The first and the last moment there are can be stored and asked from, or are refused."""
    for moment in (
        FIRST_MOMENT,
        LAST_MOMENT,
        FIRST_MOMENT.replace(tzinfo=dt.timezone(dt.timedelta(hours=14))),
        LAST_MOMENT.replace(tzinfo=dt.timezone(-dt.timedelta(hours=12))),
    ):
        for call in (
            functools.partial(remember, home, "Beyond memory", doc_id="ends", occurred_at=moment),
            functools.partial(recall, home, "blue pot", "mia", now=moment),
            functools.partial(recall, home, "blue pot", "mia", as_of=moment),
            functools.partial(recall, home, "blue pot", "mia", filters={"after": moment}),
        ):
            with contextlib.suppress(InvalidMemoryError, InvalidRequestError):
                call()


def test_a_memory_survives_json() -> None:
    """A memory written as JSON and read back is the same memory."""
    memory = Memory("x", HOME, doc_id="d", labels=("a", "b"), occurred_at=NOW, importance=0.25,
                    valid_from=NOW, band="amber",
                    title="t", fact_key="k", fact_value="v")  # fmt: skip

    assert Memory.from_json(memory.to_json()) == memory


def test_a_relation_of_impossible_confidence_is_refused() -> None:
    """A relation's confidence lies in [0, 1]."""
    for confidence in (-0.1, 1.1, math.nan):
        with pytest.raises(InvalidMemoryError):
            Relation("A", "knows", "B", HOME, confidence=confidence)


class Spoiling(TinyEncoder):
    """Spoils the vector of any memory that speaks of poison."""

    def __init__(self, poison: np.ndarray[Any, Any]) -> None:
        """Set what takes a vector's place."""
        super().__init__()
        self.poison = poison

    def encode_question(self, text: str) -> Encoding:
        """Encode, or spoil."""
        encoding = super().encode_question(text)
        if "poison" in text:
            return Encoding(self.poison, encoding.tokens, encoding.token_ids)
        return encoding


@pytest.mark.parametrize(
    "poison",
    [np.full(32, np.nan), np.zeros(32), np.full(32, np.inf), np.ones(31), np.ones((1, 32)),
     np.r_[np.ones(31), np.nan]],
    ids=["nan", "zero", "inf", "short", "matrix", "one nan"],
)  # fmt: skip
def test_a_vector_that_cannot_be_is_refused(path: Path, poison: np.ndarray[Any, Any]) -> None:
    """NaN, zero, infinity and a wrong dimension raise InvalidMemoryError; no vector is stored.

    The memory itself is kept and found by its words.
    """
    with open_home(path, encoder=Spoiling(poison.astype(np.float32))) as home:
        move_in(home)
        memories = [Memory(text, HOME, doc_id=text) for text in ("fine", "poison")]
        with pytest.raises(InvalidMemoryError):
            home.remember_many(memories)
        assert not any(home.maintenance.stats()["vectors"].values())
        assert home.maintenance.stats()["memories"] == 2
    with open_home(path) as home:
        assert "poison" in recall(home, "poison", "mia").trace.runs["lexical"]
        assert home.flush() == 2


def test_filters_are_an_object_or_a_record() -> None:
    """Filters may be given as Filters or as the JSON they write."""
    given = Filters(kinds=("fact",), after=NOW)

    assert RecallContext(filters=given.to_json()).filters == given  # type: ignore[arg-type]

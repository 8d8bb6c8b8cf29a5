"""Ids: one that a person may not see is answered like one that is not there, in every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from family_recall import FamilyRecall, Grant, Person, RecallContext, Relation, Space
from family_recall.apps import llm_tools
from family_recall.errors import FamilyRecallError, NotTheirsError
from tests.conftest import HOME, NOW, PLENTY_MS, remember, store_of

Call = Callable[[FamilyRecall, str], Any]
MIA = RecallContext("mia", now=NOW, time_budget_ms=PLENTY_MS)
WHO: dict[str, Any] = {"person_id": "mia"}


@pytest.fixture
def home(home: FamilyRecall) -> FamilyRecall:
    """Add a memory, a source, a space and a person, each called hidden, that Mia does not see."""
    home.people.add(Person("hidden", "Zed"))
    home.spaces.add(Space("hidden", "private"))
    home.spaces.grant(Grant("priya", "hidden", "owner"))
    home.relations.add(Relation("Zed", "knows", "hidden", "hidden"))
    hidden: dict[str, Any] = {"author": "priya", "band": "amber", "session_id": "hidden"}
    remember(home, "A gift for Mia", doc_id="hidden", **hidden)
    remember(home, "A gift for Priya", "hidden", doc_id="hidden", author="priya")
    home.sources.write("hidden", "hidden", "A list", space_id=HOME, band="amber")
    home.sources.write("hidden", "other", "Another list", space_id="hidden")
    return home


def tool(name: str, **arguments: Any) -> Call:
    """Return a call of a tool, with the id for each argument that is None."""

    def call(home: FamilyRecall, an_id: str) -> Any:
        given = {key: an_id if value is None else value for key, value in arguments.items()}
        return llm_tools.dispatch(home, MIA, name, given)

    return call


# fmt: off
CALLS: dict[str, Call] = {
    "get": lambda home, it: home.memories.get(it, **WHO),
    "get in a space": lambda home, it: home.memories.get("march", **WHO, space_id=it),
    "short id": lambda home, it: home.memories.ids("mia").find(it[:5]) == it[:5],
    "may_correct": lambda home, it: home.memories.may_correct(it, **WHO),
    "page": lambda home, it: home.memories.page(**WHO, space_id=it),
    "correct": lambda home, it: home.correct(it, **WHO, text="x"),
    "correct in a space": lambda home, it: home.correct(it, **WHO, text="x", space_id=it),
    "forget": lambda home, it: home.forget(it, **WHO),
    "forget in a space": lambda home, it: home.forget(**WHO, space_id=it, dry_run=True),
    "forget by": lambda home, it: home.forget(**WHO, by=it, dry_run=True),
    "forget about": lambda home, it: home.forget(**WHO, about=it, dry_run=True),
    "forget a session": lambda home, it: home.forget(**WHO, session_id=it, dry_run=True),
    "explain": lambda home, it: home.explain("gift", it, MIA),
    "feedback": lambda home, it: home.feedback("gift", it, False, ctx=MIA),
    "recall in a space": lambda home, it: home.recall("gift", **WHO, space_id=it),
    "focus": lambda home, it: home.recall("x", MIA, focus_event_id=it).results,
    "remember in a space": lambda home, it: home.remember("x", **WHO, space_id=it),
    "remember for": lambda home, it: home.remember("x", **WHO, space_id=HOME, author=it),
    "guardians": lambda home, it: home.remember("x", **WHO, space_id=HOME, guardians_of=it),
    "evidence": lambda home, it: home.relations.add(
        Relation("A", "b", "C", HOME, evidence=(it,)), **WHO),
    "relate in a space": lambda home, it: home.relations.add(Relation("A", "b", "C", it), **WHO),
    "unrelate": lambda home, it: home.relations.remove(Relation("Zed", "knows", it, HOME), **WHO),
    "unrelate there": lambda home, it: home.relations.remove(
        Relation("Zed", "knows", "hidden", it), **WHO),
    "keys": lambda home, it: home.sources.keys(it, **WHO),
    "withdraw": lambda home, it: home.sources.withdraw(it, **WHO),
    "withdraw a key": lambda home, it: home.sources.withdraw("hidden", it, **WHO),
    "withdraw there": lambda home, it: home.sources.withdraw("hidden", **WHO, space_id=it),
    "forget a source": lambda home, it: home.sources.forget(it, **WHO),
    "forget a key": lambda home, it: home.sources.forget("hidden", it, **WHO),
    "write there": lambda home, it: home.sources.write("s", "k", "x", **WHO, space_id=it),
    "a tool explains": tool("explain", question="gift", doc_id=None),
    "a tool corrects": tool("correct", doc_id=None, text="x"),
    "a tool relates": lambda home, it: llm_tools.dispatch(
        home, MIA, "relate", {"subject": "A", "relation": "b", "object": "C", "evidence": [it]}),
    "a tool forgets": lambda home, it: llm_tools.dispatch(home, MIA, "forget", {"doc_ids": [it]}),
}
# fmt: on


@pytest.mark.parametrize("name", CALLS)
def test_a_hidden_id_is_answered_like_none(home: FamilyRecall, name: str) -> None:
    """The same outcome, class and words; and nothing is stored or lost by asking."""
    answers = []
    for an_id in ("hidden", "absent"):
        try:
            answer = repr(CALLS[name](home, an_id))
        except FamilyRecallError as error:
            answer = f"{type(error).__name__}: {error}"
        answers.append(answer.replace("hidden", "…").replace("absent", "…"))
    assert answers[0] == answers[1]


HIDDEN: dict[str, Any] = {"author": "priya", "band": "amber"}
TAKEN: dict[str, dict[str, Any]] = {
    "seen": {"author": "priya"},
    "hidden": HIDDEN,
    "hidden and of another": {"author": "rajesh", "band": "red", "category": "health"},
    "hidden and of that source": {**HIDDEN, "source": "notes"},
}


def write(home: FamilyRecall, key: str, text: str) -> None:
    """Write under a key of a source."""
    home.sources.write("notes", key, text, **WHO, space_id=HOME)


def choose(home: FamilyRecall, key: str, text: str) -> None:
    """Store under the id that such a key has."""
    home.remember(text, **WHO, space_id=HOME, doc_id=f"notes/{key}")


def bring(home: FamilyRecall, key: str, text: str) -> None:
    """Import a file with such a key."""
    path = store_of(home).path.with_name("notes.csv")
    path.write_text(f"id,text\n{key},{text}\n", encoding="utf-8")
    home.sources.import_file(path, source="notes", **WHO, space_id=HOME)


@pytest.mark.parametrize("text", ["x", "A gift for Mia"])
@pytest.mark.parametrize("store", [write, choose, bring])
def test_choosing_an_id_tells_that_its_space_has_it_and_no_more(
    home: FamilyRecall, store: Callable[[FamilyRecall, str, str], None], text: str
) -> None:
    """An id is unique in a space: a hidden one is refused like one that others wrote."""
    refusals = set()
    for name, fields in TAKEN.items():
        doc_id = remember(home, "A gift for Mia", doc_id=f"notes/{name}", **fields)
        with pytest.raises(NotTheirsError) as refused:
            store(home, name, text)
        refusals.add(str(refused.value).replace(doc_id, "…"))
        kept = home.memories.get(doc_id, person_id="priya").current.memory
        assert (kept.text, kept.author) == ("A gift for Mia", fields["author"])
    assert len(refusals) == 1
    store(home, "free", text)


def test_an_id_of_a_space_that_one_does_not_enter_is_free(home: FamilyRecall) -> None:
    """What others keep in spaces of their own takes no id from anybody."""
    remember(home, "A gift", "hidden", doc_id="theirs", author="priya")
    assert home.remember("x", **WHO, space_id=HOME, doc_id="theirs").outcome == "created"

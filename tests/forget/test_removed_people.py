"""``home.people.remove``: what becomes of a person's memories, rights, feedback and name."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from family_recall import FamilyRecall, Grant, Hidden, Memory, Person, Space
from family_recall.errors import (
    InvalidRequestError,
    UnconfirmedError,
    UnknownPersonError,
    UnknownSpaceError,
)
from family_recall.types.erasure import Said
from tests.conftest import HOME, found, move_in, open_home, recall, remember

NOTE = "the spare key is under the blue pot"


@pytest.fixture
def home(path: Path) -> Iterator[FamilyRecall]:
    """The three of the tests; Priya has said something here and in her own space."""
    with open_home(path) as home:
        move_in(home)
        remember(home, NOTE, author="priya", doc_id="note")
        remember(home, "Priya is allergic to walnuts", author="rajesh", doc_id="walnuts")
        remember(home, "a telescope as a present", "private:priya", author="priya", doc_id="secret")
        yield home


def removed(home: FamilyRecall, said: Said) -> None:
    """Remove Priya, as a dry run has shown it."""
    plan = home.people.remove("priya", said=said, dry_run=True)
    home.people.remove("priya", said=said, token=plan.forgotten.token)


def test_a_dry_run_says_what_goes_and_changes_nothing(home: FamilyRecall) -> None:
    """It names the space, counts what stays, and its token confirms just this removal."""
    plan = home.people.remove("priya", said="keep", dry_run=True)
    assert (plan.spaces, plan.forgotten.doc_ids) == (("private:priya",), ("secret",))
    assert (plan.n_said, plan.n_mentioning) == (1, 1)
    assert found(recall(home, "the present", "priya"))[0] == "secret"

    everything = home.people.remove("priya", said="forget", about="forget", dry_run=True)
    assert sorted(everything.forgotten.doc_ids) == ["note", "secret", "walnuts"]
    with pytest.raises(UnconfirmedError, match="3 memories"):
        home.people.remove("priya", said="forget", about="forget")
    with pytest.raises(UnconfirmedError, match="another set"):
        home.people.remove("priya", said="forget", about="forget", token=plan.forgotten.token)
    assert "priya" in {person.person_id for person in home.people.all()}


@pytest.mark.parametrize(("said", "author"), [("keep", "Priya Rao"), ("nobody", None)])
def test_what_she_said_stays(home: FamilyRecall, said: Said, author: str | None) -> None:
    """In her name, as of somebody who does not live here, or in nobody's."""
    removed(home, said)
    (result, *_) = recall(home, "where is the spare key?", "rajesh").results
    assert (result.text, result.author) == (NOTE, author)
    assert {person.person_id for person in home.people.all()} == {"rajesh", "mia"}
    with pytest.raises(UnknownPersonError):
        recall(home, "the present", "priya")


def test_her_private_space_goes_unless_another_may_enter_it(home: FamilyRecall) -> None:
    """Granted to somebody before, it stays for them."""
    home.spaces.grant(Grant("rajesh", "private:priya", "owner"))
    removed(home, "keep")
    assert found(recall(home, "the present", "rajesh"))[0] == "secret"


def test_a_space_that_went_is_unknown(home: FamilyRecall) -> None:
    """Its id can be given again, to an empty space."""
    home.spaces.hide(Hidden("private:priya", "guest", ("author",)))
    removed(home, "keep")
    with pytest.raises(UnknownSpaceError):
        remember(home, "hello", "private:priya")
    home.spaces.add(Space("private:priya", "private"))
    home.spaces.grant(Grant("rajesh", "private:priya", "guest"))
    assert "secret" not in found(recall(home, "the present", "rajesh"))
    assert [hidden.space_id for hidden in home.spaces.hidden()] == []


def test_who_comes_back_is_a_new_person(home: FamilyRecall) -> None:
    """With the same name, what was kept in it is theirs again; what was learned is not."""
    home.people.add(Person("tom", "Tom"))
    home.spaces.grant(Grant("tom", HOME, "adult"))
    remember(home, "the ladder is in the shed", author="tom", doc_id="ladder")
    for _ in range(20):
        answer = recall(home, "where is the spare key?", "tom")
        home.feedback(answer, "note", accepted=True, person_id="tom")
    assert home.learning.all("tom")
    home.people.remove("tom", said="keep")
    home.people.add(Person("tommy", "Tom"))
    home.spaces.grant(Grant("tommy", HOME, "adult"))
    assert home.learning.all() == []
    assert home.forget("ladder", person_id="tommy").counts["memories"] == 1


def test_nobody_sees_in_the_log_who_left(home: FamilyRecall) -> None:
    """Her calls are a gap of so many; those of others stay."""
    recall(home, "key", "priya")
    recall(home, "key", "rajesh")
    home.spaces.grant(Grant("rajesh", HOME, "owner"))
    home.flush()
    assert {entry.person_id for entry in home.audit.entries("rajesh")} >= {"priya", "rajesh"}
    removed(home, "keep")
    entries = home.audit.entries("rajesh")
    assert "priya" not in {entry.person_id for entry in entries}
    assert any(entry.lost for entry in entries)


def test_the_trash_restores_nothing_of_hers(home: FamilyRecall) -> None:
    """What she forgot or said goes from it, and her id from receipts."""
    receipt = home.forget("note", person_id="priya", undo_for=dt.timedelta(days=7))
    removed(home, "nobody")
    with pytest.raises(InvalidRequestError, match="holds nothing"):
        home.erasure.undo(receipt.receipt_id, person_id="rajesh")
    assert {one.person_id for one in home.erasure.receipts()} == {None}
    assert all(home.erasure.verify(one).forgotten for one in home.erasure.receipts())


def test_the_only_guardian_stays_while_something_needs_one(home: FamilyRecall) -> None:
    """Nobody could read it; with another guardian she can be removed."""
    home.people.add_guardian("priya", "mia")
    remember(home, "Mia sees Dr. Roy on Monday", author="rajesh", guardians_of="mia")
    with pytest.raises(InvalidRequestError, match="only guardian of 'mia'"):
        home.people.remove("priya", said="keep", dry_run=True)
    home.people.add_guardian("rajesh", "mia")
    removed(home, "keep")
    assert home.people.guardians() == {"mia": ("rajesh",)}


def test_what_is_for_the_guardians_of_a_child_goes_with_the_child(home: FamilyRecall) -> None:
    """The dry run says so; a person who is added next is not taken for the child."""
    home.people.add_guardian("rajesh", "mia")
    remember(home, "Mia sees Dr. Roy on Monday", guardians_of="mia", doc_id="roy")
    plan = home.people.remove("mia", said="keep", dry_run=True)
    assert plan.forgotten.doc_ids == ("roy",)
    home.people.remove("mia", said="keep", token=plan.forgotten.token)
    home.people.add(Person("ben", "Ben"))
    home.people.add_guardian("rajesh", "ben")
    assert "roy" not in found(recall(home, "Dr. Roy", "rajesh"))
    remember(home, "Ben sees Dr. Lin", guardians_of="ben", doc_id="lin")
    assert found(recall(home, "Dr. Lin", "rajesh"))[:1] == ["lin"]


def test_views_of_what_she_said_lose_her_name_too(home: FamilyRecall) -> None:
    """A role from whom the time is hidden reads a copy, which is by nobody as well."""
    home.spaces.hide(Hidden(HOME, "child", ("occurred_at",)))
    removed(home, "nobody")
    (result, *_) = recall(home, "spare key", "mia").results
    assert (result.doc_id, result.author) == ("note", None)


@pytest.mark.parametrize("choices", [{"said": "burn"}, {"said": "keep", "about": "nobody"}])
def test_an_unknown_choice_is_refused(home: FamilyRecall, choices: dict[str, str]) -> None:
    """The error names the choices."""
    with pytest.raises(InvalidRequestError, match="must be one of keep"):
        home.people.remove("priya", **choices)  # type: ignore[call-overload]


def test_an_unknown_person_is_told(home: FamilyRecall) -> None:
    """By id."""
    with pytest.raises(UnknownPersonError, match="'zoe'"):
        home.people.remove("zoe", said="keep")


def test_a_household_without_her_opens_as_before(path: Path) -> None:
    """Nothing that is derived at opening is made again; an export takes it along."""
    with open_home(path) as home:
        move_in(home)
        remember(home, NOTE, author="priya")
        home.people.remove("priya", said="keep")
        home.maintenance.export_to(path.with_suffix(".jsonl"))
    with open_home(path) as again:
        assert again.remember(Memory(NOTE, HOME, author="Priya Rao")).outcome == "duplicate"
        assert all(finding.problem is None for finding in again.maintenance.check())

"""What is kept between recalls is never seen: an open household answers as a new one does."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Grant, Hidden, Person, Relation
from family_recall.errors import FamilyRecallError
from tests.conftest import HOME, Wall, move_in, open_home, recall, remember, stories, written

PRIVATE = "private:priya"
QUESTIONS = ("Where is the spare key?", "What does Priya's sister say about the puppy?")
ASKERS = ("rajesh", "priya", "mia", None)
FACTS = (
    "The spare key is behind the shed now",
    "The spare key is under the blue pot",
    "Asha says the puppy may sleep in the kitchen",
)

Change = Callable[[FamilyRecall, int], object]


def store(home: FamilyRecall, n: int) -> None:
    """Store something, in a shared space or a private one."""
    remember(home, FACTS[n % 3], PRIVATE if n % 2 else HOME, author=("priya", "rajesh")[n % 2])


def correct(home: FamilyRecall, n: int) -> None:
    """Correct a memory that was found."""
    home.correct(("key", "puppy")[n % 2], person_id="rajesh", text=FACTS[n % 3])


def forget(home: FamilyRecall, n: int) -> None:
    """Forget one, for good or for a day."""
    undo_for = dt.timedelta(days=1) if n % 2 else None
    home.forget(("key", "puppy", "cake")[n % 3], person_id="rajesh", undo_for=undo_for)


def bring_back(home: FamilyRecall, n: int) -> None:
    """Undo one of the latest forgettings."""
    receipt = home.erasure.receipts()[-1 - n % 2]
    home.erasure.undo(receipt.receipt_id, person_id="rajesh")


def reject(home: FamilyRecall, n: int) -> None:
    """Record that a result was not what was wanted."""
    asked = recall(home, QUESTIONS[n % 2], "rajesh")
    home.feedback(asked, asked.results[0].doc_id, accepted=bool(n % 3))


CHANGES: tuple[Change, ...] = (
    store,
    correct,
    forget,
    bring_back,
    reject,
    lambda home, _: home.spaces.grant(Grant("rajesh", PRIVATE, "adult")),
    lambda home, _: home.spaces.revoke("rajesh", PRIVATE),
    lambda home, n: home.spaces.grant(Grant("mia", HOME, ("child", "guest")[n % 2])),
    lambda home, n: home.spaces.hide(Hidden(HOME, "child", ("author", "labels")[: n % 3])),
    lambda home, n: home.people.add(Person("priya", ("Priya Rao", "Asha Rao")[n % 2])),
    lambda home, _: home.relations.add(
        Relation("Asha", "sister of", "Priya", HOME), person_id="rajesh"
    ),
    lambda home, n: home.remember_many(stories(), embed=("now", "later")[n % 2]),
    lambda home, _: home.flush(),
    lambda home, _: home.maintenance.rebuild(),
)


def make(change: Change, home: FamilyRecall, n: int) -> None:
    """Make a change, or be refused: what it would change may not be there."""
    with contextlib.suppress(FamilyRecallError, IndexError):
        change(home, n)


def answers(home: FamilyRecall) -> list[str]:
    """Ask everything for everybody."""
    return [written(recall(home, question, who)) for question in QUESTIONS for who in ASKERS]


@settings(max_examples=8, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(CHANGES), st.integers(0, 5), st.booleans()),
        min_size=1,
        max_size=8,
    )
)
def test_an_open_household_answers_as_one_that_is_opened_now(
    changes: list[tuple[Change, int, bool]],
) -> None:
    """To the last bit, after every change, whichever of two open households made it."""
    with TemporaryDirectory() as folder:
        path, wall = Path(folder) / "family.db", Wall()
        with open_home(path, wall=wall) as one, open_home(path, wall=wall) as other:
            move_in(one)
            one.remember_many(stories())
            for change, n, elsewhere in changes:
                assert answers(one) == answers(other)
                make(change, other if elsewhere else one, n)
                with open_home(path, wall=wall, create=False) as new:
                    expected = answers(new)
                assert answers(one) == expected
                assert answers(other) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are forked")
def test_what_another_process_changes_is_seen_at_once(path: Path, wall: Wall) -> None:
    """Each change is made by a process of its own, which has ended when the next recall begins."""
    with open_home(path, wall=wall) as home:
        move_in(home)
        home.remember_many(stories())
        for n, change in enumerate(CHANGES):
            before = answers(home)
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    with open_home(path, wall=wall, create=False) as own:
                        make(change, own, n)
                    status = 0
                finally:
                    os._exit(status)
            assert os.waitpid(child, 0)[1] == 0
            with open_home(path, wall=wall, create=False) as new:
                expected = answers(new)
            assert answers(home) == expected
            assert change is not store or expected != before

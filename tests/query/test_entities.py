"""Entities: who a question names, as the spaces it may look into know them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from family_recall import FamilyRecall, RecallContext
from family_recall.policy import scope_of
from family_recall.query.entities import resolve
from tests.conftest import HOME, NOW, move_in, open_home, remember


@pytest.fixture
def home(path: Path) -> Iterator[FamilyRecall]:
    """Open a household in which everybody has been named."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Rajesh, Priya and Mia went to see Fahim", author="Fahim Khan")
        remember(home, "Dr Strange is my secret friend", "private:priya", author="Dr Strange")
        yield home


def named(home: FamilyRecall, question: str, person_id: str | None) -> set[str]:
    """Give the names of the things a question names for somebody."""
    with home._store.snapshot() as snapshot:
        scope = scope_of(
            RecallContext(person_id), snapshot.access(person_id), snapshot.every_partition(),
            now_s=NOW.timestamp(), wall_s=NOW.timestamp(), zone=home._store.zone,
        )  # fmt: skip
        entities, _ = resolve(question, scope, snapshot)
        return {entity.name for entity in entities}


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("what did Priya say?", {"Priya Rao"}),
        ("what did priya rao say to RAJESH?", {"Priya Rao", "Rajesh Rao"}),
        ("Pri's plan", {"Priya Rao"}),
        ("is Raj there?", {"Rajesh Rao"}),
        ("when comes Fahim?", {"Fahim Khan"}),
        ("who is Fahim Khan?", {"Fahim Khan"}),
        ("nobody of that name: Zoltan", set()),
        ("", set()),
    ],
)
def test_names_and_nicknames_are_known(home: FamilyRecall, question: str, names: set[str]) -> None:
    """Full names, first names, nicknames and possessives all find the same person."""
    assert named(home, question, "mia") == names


@pytest.mark.parametrize("question", ["what did I say?", "where is my key?", "our plan"])
def test_i_and_we_are_the_one_who_asks(home: FamilyRecall, question: str) -> None:
    """*I*, *my* and *our* stand for the asker, and for nobody when nobody known asks."""
    assert named(home, question, "rajesh") == {"Rajesh Rao"}
    assert named(home, question, "mia") == {"Mia"}
    assert named(home, question, None) == set()


def test_a_name_known_elsewhere_is_no_name_here(home: FamilyRecall) -> None:
    """Who is named in Priya's room alone is known to her and to nobody else."""
    assert named(home, "who is Dr Strange?", "priya") == {"Dr Strange"}
    assert named(home, "who is Dr Strange?", "rajesh") == set()


def test_the_shared_space_knows_its_residents(home: FamilyRecall) -> None:
    """A resident is one entity in a space, whatever name they go by there."""
    remember(home, "Pri and Priya are one", HOME)

    assert named(home, "Pri or Priya Rao?", "mia") == {"Priya Rao"}

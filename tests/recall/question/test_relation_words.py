"""Relations in other words: what a stored relation means in a family."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from family_recall import FamilyRecall
from family_recall.english.kinship import meaning_of
from tests.conftest import move_in, open_home
from tests.recall.question.test_relatives import named, tell
from tests.recall.question.test_relatives_searched import asked


@pytest.mark.parametrize(
    ("relation", "link", "sort"),
    [
        ("grandson", "grandchild", "m"),
        ("grandson of", "grandchild", "m"),
        ("is the late husband of", "spouse", "m"),
        ("church friend of", "friend", ""),
        ("piano teacher of", "teacher", ""),
        ("twin sister", "sibling", "f"),
        ("mum's sister", "aunt or uncle", "f"),
        ("my mother’s brother", "aunt or uncle", "m"),
        ("wife's mother", "parent-in-law", "f"),
        ("sister's kid", "niece or nephew", ""),
        ("in-laws", "in-law", ""),
        ("our eldest", "child", ""),
        ("ex-wife of", "former spouse", "f"),
        ("engaged to", "spouse", ""),
    ],
)
def test_a_relation_is_read_in_many_words(relation: str, link: str, sort: str) -> None:
    """A bare noun is what the subject is; words before a noun describe; owners compose."""
    meaning = meaning_of(relation)
    assert meaning is not None
    assert (meaning.link, meaning.sort) == (link, sort)


@pytest.mark.parametrize(
    "relation",
    ["former neighbour of", "great grandmother of", "no friend of", "lives with mother of",
     "likes coach", "fond of", "boss's dog's sister", "zookeeper of", "of", ""],
)  # fmt: skip
def test_what_is_no_tie_has_no_meaning(relation: str) -> None:
    """What is over, what only holds the word, and what no role describes."""
    assert meaning_of(relation) is None


@pytest.fixture
def home(path: Path) -> Iterator[FamilyRecall]:
    """Open a household that has told nothing yet."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        yield home


def test_relations_in_other_words_lead_to_people(home: FamilyRecall) -> None:
    """Kamala's grandson, an aunt told as *mum's sister*, and in-laws told as such."""
    tell(home, ("Nils", "grandson", "Kamala"), ("Asha", "mum's sister", "Mia"))
    tell(home, ("Sita", "in-laws", "Priya"), ("Mohan", "in-laws", "Priya"))
    assert named(home, "Kamala's grandson", "mia") == {"Nils"}
    assert named(home, "my aunt", "mia") == {"Asha"}
    assert named(home, "where do my in-laws stay?", "priya") == {"Sita", "Mohan"}


def test_the_eldest_is_who_is_said_to_be(home: FamilyRecall) -> None:
    """With three children, *our eldest* is the one told so; alone it is a child, not a wife."""
    tell(home, ("Mia", "eldest daughter of", "Rajesh"), ("Nils", "son of", "Rajesh"))
    tell(home, ("Anu", "youngest daughter of", "Rajesh"))
    assert named(home, "our eldest", "rajesh") == {"Mia"}
    assert named(home, "my youngest daughter", "rajesh") == {"Anu"}
    assert named(home, "Rajesh's oldest", "mia") == {"Mia"}


def test_those_who_may_be_meant_are_searched_for(home: FamilyRecall) -> None:
    """Of two children of a sister neither is the niece for certain: both names are searched.

    Neither is named for certain, and of more than three none is searched for.
    """
    tell(home, ("Asha", "sister of", "Rajesh"))
    tell(home, ("Noa", "child of", "Asha"), ("Kit", "child of", "Asha"))
    question = "what does my niece study?"
    assert named(home, question, "rajesh") == {"Rajesh Rao"}
    assert asked(home, question, "rajesh").searched == "what does Noa Kit study?"
    tell(home, ("Kit", "nephew of", "Rajesh"))
    assert named(home, question, "rajesh") == {"Noa"}
    tell(home, *((name, "child of", "Vikram") for name in ("Ada", "Bo", "Cy", "Di")))
    assert asked(home, "Vikram's daughter", "rajesh").searched == ""

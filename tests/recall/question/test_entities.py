"""Entities: who a question names, as the spaces it may look into know them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Person, RecallContext
from family_recall.access.policy import scope_of
from family_recall.english.text import MAX_QUESTION_CHARS
from family_recall.recall.question.entities import nearly_equal, resolve
from tests.conftest import HOME, NOW, move_in, open_home, remember, store_of


@pytest.fixture
def home(path: Path) -> Iterator[FamilyRecall]:
    """Open a household in which everybody has been named."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Rajesh, Priya and Mia went to see Fahim", author="Fahim Khan")
        remember(home, "Dr Strange is my secret friend", "private:priya", author="Dr Strange")
        yield home


def named(home: FamilyRecall, question: str, person_id: str | None) -> set[str]:
    """Return the names of the entities that a question names."""
    with store_of(home).snapshot() as snapshot:
        scope = scope_of(snapshot, RecallContext(person_id), wall_s=NOW.timestamp(), zone=home.zone)
        entities = resolve(question, scope, snapshot).entities
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


@pytest.fixture(scope="module")
def reachable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FamilyRecall]:
    """Open a household whose people have addresses, and friends with long names."""
    with open_home(tmp_path_factory.mktemp("named") / "family.db", encoder=None) as home:
        move_in(home)
        aliases = ("priya.rao@mail.example.org", "@pri_rao", "https://www.example.org/people/77")
        home.people.add(Person("priya", "Priya Rao", ("Pri", *aliases)))
        home.people.add(Person("mia", "Mia", ("mia@example.org", "Chloe")))
        remember(home, "Priya and Mia went to see Fahim Khan and Marco", author="Fahim Khan")
        for name in ("Marco", "Alexandra", "Nina", "Nino", "José", "Dana"):
            remember(home, "The date is set, says a friend", author=name)
        remember(home, "Zoltan is my secret friend", "private:priya", author="Zoltan")
        yield home


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("what did priya.rao@mail.example.org write?", {"Priya Rao"}),
        ("mail from Priya.Rao@Mail.Example.org?", {"Priya Rao"}),
        ("is (mia@example.org) there", {"Mia"}),
        ("mia@example.org's plan", {"Mia"}),
        ("what did @pri_rao post?", {"Priya Rao"}),
        ("pri_rao", {"Priya Rao"}),
        ("see https://www.example.org/people/77", {"Priya Rao"}),
        ("see http://example.org/people/77/.", {"Priya Rao"}),
        ("example.org/people/77", {"Priya Rao"}),
        ("https://elsewhere.example/recipes", set()),
        ("a.b@c.example", set()),
    ],
)
def test_addresses_and_handles_are_names(
    reachable: FamilyRecall, question: str, names: set[str]
) -> None:
    """E-mail addresses, handles and URLs are known whole, with or without scheme and www."""
    assert named(reachable, question, "rajesh") == names


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("what did Prya say?", {"Priya Rao"}),
        ("what did prya say?", {"Priya Rao"}),
        ("Piray's plan", set()),
        ("when does fhaim come?", {"Fahim Khan"}),
        ("when does Afhim come?", {"Fahim Khan"}),
        ("ask Kahim", set()),
        ("ask Alexndrs", {"Alexandra"}),
        ("ask Alxndrs", set()),
        ("ask Jose", {"José"}),
        ("what about Nini?", set()),
        ("when is it in March?", set()),
        ("is a friend there?", set()),
        ("Friend or foe?", set()),
        ("a Dane with somebody", {"Dana"}),
        ("ask Marcoo", {"Marco"}),
        ("ask Priy4", set()),
        ("ask Zolta", set()),
    ],
)
def test_a_small_misspelling_is_understood(
    reachable: FamilyRecall, question: str, names: set[str]
) -> None:
    """A strange word one letter from one name alone is that name; from eight letters, two.

    *Nini* is as near to Nina as to Nino. *March* is a month, and no *Marco*. *Zolta* is near a
    name of Priya's own room, of which Rajesh knows nothing.
    """
    assert named(reachable, question, "rajesh") == names


def test_a_name_of_ones_own_room_is_misspelt_there_alone(reachable: FamilyRecall) -> None:
    """What Rajesh cannot mean Priya can."""
    assert named(reachable, "ask Zolta", "priya") == {"Zoltan"}


def textbook_distance(one: str, other: str) -> int:
    """Count edits by the table of the restricted Damerau-Levenshtein distance, cell by cell."""
    table = {(i, 0): i for i in range(len(one) + 1)} | {(0, j): j for j in range(len(other) + 1)}
    for i, a in enumerate(one, 1):
        for j, b in enumerate(other, 1):
            table[i, j] = min(
                table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a != b)
            )
            if i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(one), len(other)]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.text("abc", max_size=9), st.text("abc", max_size=9), st.integers(0, 2))
def test_the_quick_check_agrees_with_the_table(one: str, other: str, edits: int) -> None:
    """Two words are nearly equal just when the whole table counts no more edits."""
    assert nearly_equal(one, other, edits) == (textbook_distance(one, other) <= edits)


HOSTILE = (
    "", "'s", "my", "my my wife's", "Priya's", "Priya's's brother", "\ud800 wife", "\x00",
    "my wife's " * 400, "Zoltan's mum's " * 400, "grandma " * 2000, "@", "http://", "a.b@" * 500,
    "x" * MAX_QUESTION_CHARS, "Prya " * 3000, "ﬁ mother-in-law’s", "my mother in", "...", "İ's dad",
    "Abcd1 " * 50, "é" * 4000, "wife\u2019s husband\u2019s wife", "%_*[a]^ mum",
)  # fmt: skip


@pytest.mark.parametrize("question", HOSTILE, ids=lambda text: repr(text[:12]))
def test_hostile_questions_name_somebody_or_nobody(reachable: FamilyRecall, question: str) -> None:
    """No text makes it fail, and the same text names the same."""
    assert named(reachable, question, "priya") == named(reachable, question, "priya")


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from(
            "my our Priya's mum dad wife's in-law Prya @pri_rao . , the of dog".split()
        ),
        max_size=12,
    ).map(" ".join)
)
def test_any_text_is_a_question(reachable: FamilyRecall, question: str) -> None:
    """Only entities the asker may see are resolved."""
    known = {"Priya Rao", "Mia", "Fahim Khan", "Marco", "Alexandra", "Nina", "Nino", "José", "Dana"}
    assert named(reachable, question, "mia") <= known

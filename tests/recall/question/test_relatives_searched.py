"""What a kinship phrase adds to a search: the name of the relative it means, and no other name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from family_recall import FamilyRecall
from family_recall.recall.question.entities import Resolution, resolve
from tests.conftest import move_in, open_home, recall, remember, store_of
from tests.recall.question.test_relatives import FAMILY, scope_for, tell


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FamilyRecall]:
    """Open a household that has told who is who; all memories are about Leela, or about wives."""
    with open_home(tmp_path_factory.mktemp("searched") / "family.db") as home:
        move_in(home)
        tell(home, *FAMILY, ("Uncle Ned", "neighbour of", "Rajesh"))
        remember(home, "Leela switched to the evening shift at the bakery", doc_id="shift")
        remember(home, "the wife of the baker opens the shift at five", doc_id="baker")
        remember(home, "my brother was on the shift list again", doc_id="brother")
        yield home


def asked(home: FamilyRecall, question: str, person_id: str | None) -> Resolution:
    """Return what a question names."""
    with store_of(home).snapshot() as snapshot:
        return resolve(question, scope_for(home, snapshot, person_id), snapshot)


@pytest.mark.parametrize(
    ("question", "person", "searched"),
    [
        ("where does my brother's wife work", "priya", "where does Leela work"),
        ("is our daughter’s bag here?", "rajesh", "is Mia’s bag here?"),
        ("When does grandma land?", "mia", "When does Kamala land?"),
        ("our kids and our dog", "rajesh", "Mia Nils and Biscuit"),
        ("does my neighbour garden?", "rajesh", "does Uncle Ned garden?"),
        ("Zoë, where's my wife?", "rajesh", "Zoë, where's Priya Rao?"),
        ("what is the wife of my brother called", "priya", "what is Leela called"),
        ("did the wife of Vikram call?", "mia", "did Leela call?"),
        ("my wife's brother's wife", "rajesh", "Leela"),
        ("my husband's daughter's brother", "priya", "Nils"),
    ],
)
def test_a_relative_is_searched_for_by_name(
    family: FamilyRecall, question: str, person: str, searched: str
) -> None:
    """The name takes the place of the phrase that means it: and is possessive like it."""
    assert asked(family, question, person).searched == searched


@pytest.mark.parametrize(
    "question", ["what did Priya say?", "where is my key?", "my teacher's desk", "my cousin", ""]
)
def test_other_names_are_not_added(family: FamilyRecall, question: str) -> None:
    """A name that is said, the asker's own, and a relative nobody knows add nothing."""
    named = asked(family, question, "rajesh")
    assert (named.relatives, named.searched) == ((), "")


def test_words_and_meaning_are_those_of_the_name(family: FamilyRecall) -> None:
    """The memory that only says *Leela* is first for *my brother's wife*, and the terms say why."""
    question = "which shift does my brother's wife have?"
    answer = recall(family, question, "priya")
    stranger = recall(family, question)
    assert answer.results[0].doc_id == "shift"
    assert stranger.results[0].doc_id != "shift"
    assert "Leela" in family.understand(question, person_id="priya").terms
    assert "Rao" not in family.understand("my wife's shift", person_id="rajesh").terms
    first = answer.results[0]
    assert "Leela" in {first.text[start:end] for start, end in first.highlights}


def test_a_relation_out_of_sight_names_nobody(path: Path) -> None:
    """A tie stored in Priya's own space adds a name for her, and for nobody else."""
    with open_home(path) as home:
        move_in(home)
        tell(home, ("Vikram", "brother of", "Priya"), space_id="private:priya")
        assert asked(home, "Priya's brother", "priya").relatives == ("Vikram",)
        assert asked(home, "Priya's brother", "rajesh").relatives == ()

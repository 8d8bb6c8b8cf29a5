"""A family asks the shipped models: what is stored is told, what is far from it denied."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from family_recall import Answer, FamilyRecall, Grant, Memory, Person, RecallContext, Space

STORED = (
    "The alarm code is 4471",
    "Grandma lands on Friday at 7:40",
    "The spare key is under the blue pot",
    "Mia is allergic to hazelnuts",
    "The plumber comes on Tuesday",
    "Bins go out on Wednesday night",
)
ASKED = {
    "What's the alarm code?": "4471",
    "When does Grandma land?": "7:40",
    "Where is the spare key?": "blue pot",
    "What is Mia allergic to?": "hazelnuts",
    "When do the bins go out?": "Wednesday",
}
FAR = (
    "Who won the world cup in 1998?",
    "How tall is the Eiffel tower?",
    "Which bank holds the mortgage?",
    "What is the capital of France?",
    "How many strings has a violin?",
)


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FamilyRecall]:
    """A household of six memories, read by the shipped models."""
    path: Path = tmp_path_factory.mktemp("status") / "family.db"
    with FamilyRecall.open(path) as home:
        home.spaces.add(Space("home", "shared"))
        home.people.add(Person("mia", "Mia"))
        home.spaces.grant(Grant("mia", "home", "adult"))
        home.remember_many([Memory(text, "home", author="mia") for text in STORED])
        home.flush()
        home.warmup()
        yield home


def ask(family: FamilyRecall, question: str) -> Answer:
    """Ask with time for everything."""
    return family.recall(question, RecallContext(person_id="mia", time_budget_ms=60_000))


@pytest.mark.parametrize(("question", "told"), ASKED.items())
def test_what_is_stored_is_told(family: FamilyRecall, question: str, told: str) -> None:
    """Surely, and first."""
    answer = ask(family, question)

    assert answer.status == "ok"
    assert told in answer.results[0].text


@pytest.mark.parametrize("question", FAR)
def test_what_is_far_from_all_that_is_stored_is_denied(family: FamilyRecall, question: str) -> None:
    """Neither is anything told, nor is anything said to answer it."""
    answer = ask(family, question)

    assert answer.status == "no_match"
    assert answer.answerable < 0.5
    assert (answer.best, answer.facts) == (None, {})

"""What people tell of themselves is known about them, until they give it up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import found, move_in, open_home, recall, remember


@pytest.mark.parametrize(
    ("asker", "question", "known"),
    [
        ("priya", "What do you know about me?", {"kiwi", "shoes"}),
        ("rajesh", "What do you know about me?", {"cashew", "snores"}),
        ("mia", "Tell me about Rajesh", {"cashew", "snores"}),
    ],
)
def test_what_somebody_tells_of_themselves_is_about_them(
    path: Path, asker: str, question: str, known: set[str]
) -> None:
    """For themselves and for others; not what only they say."""
    stored = (
        ("cashew", "rajesh", "I am allergic to cashews"),
        ("boiler", "rajesh", "The boiler was serviced in May"),
        ("late", "rajesh", "I'm late, start without me"),
        ("kiwi", "priya", "I am allergic to kiwis"),
        ("shoes", "priya", "I wear size 39 shoes"),
        ("snores", "priya", "Rajesh snores"),
    )
    with open_home(path) as home:
        move_in(home)
        for doc_id, author, text in stored:
            remember(home, text, doc_id=doc_id, author=author, occurred_at="2025-05-01")
        answer = recall(home, question, asker)

    assert set(found(answer)) == known
    assert answer.status == "ok"


def test_what_is_private_is_told_to_nobody_else(path: Path) -> None:
    """What Priya says of herself in her own space is hers."""
    with open_home(path) as home:
        move_in(home)
        remember(home, "I am allergic to kiwis", "private:priya", author="priya")
        remember(home, "I wear size 39 shoes", doc_id="shoes", author="priya")

        assert found(recall(home, "What do you know about Priya?", "rajesh")) == ["shoes"]


@pytest.mark.parametrize(
    ("older", "newer", "question", "replaced"),
    [
        ("I'm a vegan", "I had roast lamb and I eat meat again", "Is Priya a vegan?", True),
        ("I don't eat fish", "I eat fish again", "Does Priya eat fish?", True),
        ("I work at the bakery", "I've left the bakery", "Where does Priya work?", True),
        ("I live in Leeds", "I've moved to York", "Where does Priya live?", True),
        ("I'm a vegan", "I cooked lamb for the guests again", "Is Priya a vegan?", False),
    ],
)
def test_what_was_given_up_is_not_told_as_current(
    path: Path, older: str, newer: str, question: str, replaced: bool
) -> None:
    """The newer stands above it, and it is marked as replaced."""
    with open_home(path) as home:
        move_in(home)
        remember(home, older, doc_id="older", author="priya", occurred_at="2025-03-01")
        remember(home, newer, doc_id="newer", author="priya", occurred_at="2025-05-01")
        answer = recall(home, question, "rajesh")
        about = recall(home, "What do you know about Priya?", "rajesh")

    for each in (answer, about):
        by = {result.doc_id: result.superseded_by for result in each.results}
        assert by.get("older") == ("newer" if replaced else None)
        ids = found(each)
        if replaced and "older" in ids:
            assert ids.index("newer") < ids.index("older")

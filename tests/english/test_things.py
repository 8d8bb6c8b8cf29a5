"""The things that a question asks about, without whose they are, what they do and how they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from family_recall.english.text import Words
from family_recall.english.things import things_asked


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("Who teaches Isla maths?", ["maths"]),
        ("Where is my school bag?", ["school bag"]),
        ("where's our spare key kept", ["spare key"]),
        ("When does Isla's ferry arrive?", ["ferry"]),
        ("what does the TV licence cost a month", ["tv licence"]),
        ("when is the breakdown cover on Isla's car due", ["breakdown cover", "car"]),
        ("Isla's car, when is the warranty up?", ["car", "warranty"]),
        ("name of Isla's swimming instructor", ["swimming instructor"]),
        ("broadband bill?", ["broadband bill"]),
        ("What is Isla's phone number?", ["phone"]),
        ("who does Isla have for maths", ["maths"]),
        ("did Isla go?", []),
        ("what herb does Isla hate", []),
        ("Who is Isla?", []),
    ],
)
def test_things_are_found(question: str, things: list[str]) -> None:
    """Behind a determiner, a preposition, an owner, or alone."""
    assert [" ".join(thing) for thing in things_asked(Words.of(question), {"isla"})] == things


@given(
    st.lists(st.sampled_from("who's Isla’s the does is have my of key car kept , ? \n".split(" ")))
)
def test_things_are_words_of_the_question(words: list[str]) -> None:
    """However odd it is, and no name is one."""
    question = Words.of(" ".join(words))
    for thing in things_asked(question, {"isla"}):
        assert thing
        assert set(thing) <= set(question.plain) - {"isla"}

"""Follow-ups: what takes the place of what, however it is written, and what stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from family_recall.english import standalone

NAMES = frozenset(("bea", "uma", "rose", "james", "auntie fi"))


@pytest.mark.parametrize(
    ("previous", "question", "expected"),
    [
        # A person of a person, with and without the mark, a capital or *and*.
        ("whats beas shoe size", "and umas", "whats uma's shoe size?"),
        ("whats beas shoe size", "and uma", "whats uma's shoe size?"),
        ("what club is bea in", "what about rose", "what club is rose in?"),
        ("what club is bea in", "n umas", "what club is uma in?"),
        ("What club is bea in?", "rose?", "What club is rose in?"),
        ("what's Bea's shoe size?", "and James'?", "what's James's shoe size?"),
        ("what is Bea allergic to", "same for auntie fi?", "what is auntie fi allergic to?"),
        ("whats rose's locker code", "and mine", "whats my locker code?"),
        ("whats my locker code", "and roses then", "whats rose's locker code?"),
        ("Is Bea allergic to nuts?", "what about Tom?", "Is Tom allergic to nuts?"),
        ("where does bea work", "what about ondine", "where does ondine work?"),
        ("who is the optician", "and umas", "who is uma's optician?"),
        # By what they are to somebody.
        ("whats beas shoe size", "and my sisters", "whats my sister's shoe size?"),
        ("how many tablets is my mum on", "what about grandad", "how many tablets is grandad on?"),
        ("what size is bea", "and the little one", "what size is the little one?"),
        # A time of a time.
        ("who drives on saturday", "and on sunday", "who drives on sunday?"),
        ("what did oil cost this year", "and last year", "what did oil cost last year?"),
        ("how much rain did we have", "what about in march", "how much rain did we have in march?"),
        ("what night is choir", "and that fair week", "what night is choir that fair week?"),
        ("how much is the rent now", "and the month of the flood?",
         "how much is the rent the month of the flood?"),
        ("whats the gate code", "and the one before", "whats the gate code the one before?"),
        ("whats the gate code", "and before that?", "whats the gate code before that?"),
        ("what was the gate code in june", "and now?", "what was the gate code now?"),
        # A thing of a thing.
        ("where's the red bike", "and the blue one", "where's the blue bike?"),
        ("wheres the steamer", "stairgate?", "wheres the stairgate?"),
        ("how much was the sofa", "and the lamp?", "how much was the lamp?"),
        ("wheres the ladder", "and the saw", "wheres the saw?"),
        ("when is the van's service", "and the trailer?", "when is the trailer's service?"),
        ("when does the plumber come", "and the sweep", "when does the sweep?"),
        ("when is beas cello lesson", "and swimming", "when is beas swimming?"),
        ("Is Bea allergic to nuts?", "and eggs?", "Is Bea allergic to eggs?"),
        ("who takes bea to cubs every week", "and to choir", "who takes bea to choir every week?"),
        # Something else of the same person.
        ("what's rose's phone number", "and her email?", "what's rose's email?"),
        ("what's rose's phone number", "and the pin?", "what's rose's pin?"),
        ("whats beas shoe size", "and umas coat size", "whats umas coat size?"),
        ("what club is bea in", "when did she join", "when did bea join?"),
        # Something else of what was asked about.
        ("when is beas recital", "what time", "what time beas recital?"),
        ("when is beas recital", "and who with", "who with beas recital?"),
        ("where did we buy the sofa", "how much was it", "how much was it buy the sofa?"),
        ("who is the vet", "which day", "which day the vet?"),
        ("when is the fete", "from when till when", "from when till when the fete?"),
    ],
)  # fmt: skip
def test_words_take_the_place_of_words_of_their_kind(
    previous: str, question: str, expected: str
) -> None:
    """Also as people type and speak: in lower case, and without apostrophes."""
    assert standalone(question, previous, NAMES) == expected


@pytest.mark.parametrize(
    "question",
    [
        "thanks", "ok thank you", "ok bye", "so sorry", "no worries", "how lovely",
        "where's the ladder", "what size shoe does uma take", "who is roses teacher",
        "When is Bea's recital?", "does the dog need a walk today",
        "the plumber comes on friday", "and the plumber comes on friday at nine",
        "uma has lost her gloves again", "rose is on the bus", "turn the lights off",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "previous", ["whats beas shoe size", "wheres the drill", "who is on nights"]
)
def test_what_is_no_follow_up_stays(question: str, previous: str) -> None:
    """Thanks, a question that names what it is about, a statement, an order."""
    assert standalone(question, previous, NAMES) == question


WORDS = st.sampled_from(
    "and what about uma rose's beas ‘ ’s me her the my sister one? on monday o'may now which is"
    " to ? before that drill".split(" ")
)
TEXTS = st.text(max_size=40) | st.lists(WORDS, max_size=9).map(" ".join)


@given(TEXTS, TEXTS)
def test_any_text_is_read(text: str, previous: str) -> None:
    """Without a question before it, each stays as it was written."""
    assert standalone(text, "", NAMES) == text
    assert standalone(text, previous, NAMES).strip() or not text.strip()


@given(st.sampled_from(("and", "what about", "And", "n")), st.sampled_from(("uma", "rose")))
def test_a_name_is_a_name_however_it_is_written(opening: str, name: str) -> None:
    """Case, mark and question mark change nothing but how the name is written."""
    for ending in ("", "s", "'s", "’s"):
        for written in (name, name.title()):
            asked = standalone(f"{opening} {written}{ending}", "whats bea's shoe size", NAMES)
            assert asked.lower() == f"whats {name}'s shoe size?"

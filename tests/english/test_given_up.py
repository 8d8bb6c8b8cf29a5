"""What people tell of themselves, and what they later say is over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from family_recall.english.given_up import is_given_up, tells_of_self


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I don't eat fish", "I had kippers for breakfast, I eat fish again"),
        ("I can't eat shellfish", "My doctor says I can have prawns again"),
        ("I'm a vegan", "I had roast lamb at Nan's and I eat meat again"),
        ("I'm a vegetarian", "I've started eating chicken again"),
        ("I'm pescatarian", "I'm back to eating beef"),
        ("I'm a vegan", "I'm not a vegan any more"),
        ("I don’t drink alcohol", "I drink wine again now"),
        ("I don't drink coffee", "I'm back on coffee"),
        ("I don't smoke", "I've started smoking again"),
        ("I'm on a gluten free diet", "I can eat bread again"),
        ("I work at the bakery on Mill Street", "I've left the bakery"),
        ("I work nights at Tesco", "I finished at Tesco last week"),
        ("My job is at the library", "My last day at the library was Friday"),
        ("I work for the council", "I start at the hospital on Monday"),
        ("I live in Leeds", "I've moved to York"),
        ("I live in Leeds", "I moved out of Leeds"),
        ("My address is 12 Park Road", "We're at 7 Hill View now"),
    ],
)
def test_a_diet_a_habit_a_job_or_a_home_is_given_up(older: str, newer: str) -> None:
    """Whether or not the two share a word."""
    assert is_given_up(older, newer)
    assert tells_of_self(older)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I don't eat fish", "I ate chicken again"),
        ("I don't eat fish", "The cat eats fish again"),
        ("I'm a vegan", "I cooked a lamb for the guests again"),
        ("I'm a vegan", "I don't eat eggs now"),
        ("I'm a vegan", "I had a vegan burger again"),
        ("I don't drink milk", "I drink oat milk now"),
        ("I don't drink coffee", "I made coffee for Sarah again"),
        ("I work at the bakery", "I left my umbrella at the bakery"),
        ("I work at Boots", "I left Boots at six yesterday"),
        ("I work at the library", "I stopped at the library on the way"),
        ("I work at the hospital", "I quit smoking"),
        ("I live in Leeds", "I moved to the front seat"),
        ("I live in Leeds", "Mum moved out of Leeds"),
        ("I live in Leeds", "I moved the sofa to Sam's room"),
    ],
)
def test_what_only_sounds_like_it_ends_nothing(older: str, newer: str) -> None:
    """Somebody else's, something else, or a look-alike of the thing."""
    assert not is_given_up(older, newer)


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("I am allergic to cashews", True),
        ("I wear size 44 shoes", True),
        ("My blood group is A positive", True),
        ("I was born in Cork", True),
        ("I have two brothers", True),
        ("I'm late, I'm on my way", False),
        ("I left my keys in the car", False),
        ("The boiler was serviced in May", False),
        ("Tom snores", False),
    ],
)
def test_what_lasts_is_told_of_oneself(text: str, is_told: bool) -> None:
    """And not what is of the moment, or of somebody else."""
    assert tells_of_self(text) == is_told


@given(older=st.text(max_size=600), newer=st.text(max_size=600))
def test_any_two_texts_are_read(older: str, newer: str) -> None:
    """Without an error; what says the same again gives nothing up."""
    assert is_given_up(older, newer) in {True, False}
    assert tells_of_self(older) in {True, False}

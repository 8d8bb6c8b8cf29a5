"""Words of a question: what is searched for, and which names it holds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.english.text import (
    MAX_QUESTION_CHARS,
    STOP_WORDS,
    Words,
    names_in,
    normalise,
    search_terms,
)


def test_each_stem_is_searched_for_once() -> None:
    """The first word of a stem stands for all; stop words are left out."""
    pairs = [("the", "the"), ("dogs", "dog"), ("and", "and"), ("Dog", "dog"), ("run", "run")]

    assert search_terms(pairs) == (("dogs", "dog"), ("run", "run"))


def test_stop_words_alone_are_kept() -> None:
    """A question of nothing but stop words still asks something."""
    assert search_terms([("who", "who"), ("am", "am"), ("I", "i")]) == (
        ("who", "who"), ("am", "am"), ("I", "i"),
    )  # fmt: skip
    assert search_terms([]) == ()
    assert all(word == word.casefold() for word in STOP_WORDS)


@pytest.mark.parametrize(
    ("name", "normal"),
    [("  Grandma’s ", "grandma"), ("PRIYA", "priya"), ("Aunt   May", "aunt may"),
     ("O'Brien", "o'brien"), ("James'", "james"), ("Ｍｉａ", "mia"), ("Straße", "strasse"),
     ("", ""), ("?!", ""), ("@mia", "mia"), ("Jean-Luc", "jean luc")],
)  # fmt: skip
def test_names_are_compared_in_one_form(name: str, normal: str) -> None:
    """NFKC, lower case, single spaces, no possessive."""
    assert normalise(name) == normal


def test_the_longest_name_wins() -> None:
    """Inside *Aunt May* nobody finds a *May* as well."""
    assert names_in("ask Aunt May or May", {"may", "aunt may"}) == ["aunt may", "may"]


@pytest.mark.parametrize(
    ("text", "names"),
    [("she may come", []), ("May may come", ["may"]), ("I will ask Will", ["will"]),
     ("the rose of Rose", ["rose"]), ("priya and PRIYA", ["priya", "priya"]), ("", []),
     ("Will's rose", ["will"])],
)  # fmt: skip
def test_an_everyday_word_names_nobody(text: str, names: list[str]) -> None:
    """A lower-case everyday word is no name; a capital makes it one."""
    assert names_in(text, {"may", "will", "rose", "priya"}) == names


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=80), st.sets(st.sampled_from(["a", "b", "a b", "c"])))
def test_a_found_name_is_a_run_of_words(text: str, known: set[str]) -> None:
    """What is found is known, and its words stand in the text one after the other."""
    found = names_in(text, known)

    assert set(found) <= known
    words = f" {' '.join(Words.of(text).plain)} "
    assert all(f" {name} " in words for name in found)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=40))
def test_normalising_twice_changes_nothing(name: str) -> None:
    """A name in its one form stays as it is, so that stored and asked names meet."""
    assert normalise(normalise(name)) == normalise(name)


def test_only_so_much_of_a_text_is_read() -> None:
    """Names beyond the first 20,000 characters are not looked for."""
    assert names_in("x " * MAX_QUESTION_CHARS + "priya", {"priya"}) == []

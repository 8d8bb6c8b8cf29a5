"""The bits of a text, found at the words that may begin a cue or a value."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from family_recall.english import BITS, bits_of, cues_in, values_in
from family_recall.english.cues import WORDINGS
from family_recall.english.first_words import first_words
from family_recall.english.values import MENTIONED

_WORDS = sorted({
    word
    for pattern in (*WORDINGS.values(), *MENTIONED.values())
    for word in first_words(pattern.pattern)
    if len(word) < 9
})  # fmt: skip
_FOLLOWING = (
    "more longer back to in the up half past four 5 pm 12 May 3rd £4 cups night a drawer stand "
    "Priya said it don't like home what is now Tell me know not_this 7:30 size 2020-03-04"
).split()
_PIECES = st.sampled_from([*_WORDS, *_FOLLOWING])
_SEPARATORS = st.sampled_from([" ", " ", " ", "'", "’", "-", "? ", ". ", ", ", "\n", "_", "  "])
_TEXTS = st.lists(st.tuples(_PIECES, _SEPARATORS), max_size=14).map(
    lambda pairs: "".join(piece + separator for piece, separator in pairs)
)


@given(_TEXTS | st.text())
@example('send it to "Ana" in the drawer')
@example("in then at home on Monday")
@example("'not now' she said at five")
@example("closed ")
def test_bits_are_those_of_every_cue_and_value(text: str) -> None:
    """The bits of a text are those of its cues and of the kinds of its values, found one by one."""
    cues, values = cues_in(text), values_in(text)

    expected = {name for name in type(cues).__slots__ if getattr(cues, name)}
    expected |= {f"kind:{kind}" for kind in values}

    assert {name for name, bit in BITS.items() if bits_of(text) & bit} == expected


def test_a_fact_has_a_bit_of_its_own() -> None:
    """A key of a fact adds one bit, whatever the text says."""
    assert bits_of("hello", "wifi") == bits_of("hello") | BITS["fact"]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(?:a|bc) d", {"a", "bc"}),
        (r"\b(x{1,2}[sl]|half)\b", {"xs", "xl", "xxs", "xxl", "half"}),
        (r"(?<![\w'])can['’]?t|\d+ pm", {"can", "cant"}),
        ("an?[- ]?(?:b|cd)", {"a", "an", "ab", "anb", "acd", "ancd"}),
        ("stops?(?=ped)", {"stop", "stops"}),
    ],
)
def test_first_words(pattern: str, words: set[str]) -> None:
    """The first words of a pattern are every run of letters that a match may begin with."""
    assert first_words(pattern) == words


@pytest.mark.parametrize("pattern", [r"\w+ing", "go.*", "st[a-z]p", "o+h"])
def test_a_pattern_that_begins_with_any_letter_has_no_first_words(pattern: str) -> None:
    """Words to begin with cannot be listed where any letter may stand: that is an error."""
    with pytest.raises(ValueError, match="any that are like"):
        first_words(pattern)

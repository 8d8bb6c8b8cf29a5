"""What a question asks for is read at its words as the patterns by themselves would find it."""

from __future__ import annotations

import re
import string
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from family_recall.english import lowered, slots

CHARACTERS = "".join(map(chr, range(sys.maxunicode + 1)))
PATTERNS = [*slots._BEGINNING, *((names, pattern) for names, pattern, _ in slots._HOLDING)]


def places(pattern: str, text: str, flags: int = 0) -> list[int]:
    """Return where a pattern of one character matches."""
    return [match.start() for match in re.finditer(pattern, text, flags)]


@pytest.mark.parametrize("letter", string.ascii_lowercase)
def test_lower_case_matches_where_case_is_ignored(letter: str) -> None:
    """Of all characters the same ones match a letter."""
    assert places(letter, lowered(CHARACTERS)) == places(letter, CHARACTERS, re.IGNORECASE)


def test_lower_case_keeps_words_and_spaces() -> None:
    """The words of a text are where they were."""
    for kind in (r"\W", r"\s"):
        assert places(kind, lowered(CHARACTERS)) == places(kind, CHARACTERS)


@given(st.data())
def test_every_match_is_found_at_a_word(data: st.DataObject) -> None:
    """Each pattern counts wherever in a text it is found."""
    _, pattern = data.draw(st.sampled_from(PATTERNS))
    text = lowered(data.draw(st.from_regex(pattern)))[:800].strip()

    slot = slots.slot_of.__wrapped__(text)

    found = {name for names, pattern in PATTERNS if pattern.search(text) for name in names}
    assert slot.kinds == found & slots._KIND_NAMES
    assert slot.asks_event == ("event" in found and "put" not in found)
    assert slot.asks_all == ("all" in found)
    assert slot.asks_last == ("last" in found)
    assert (slot.moment == "before") == ("before" in found)

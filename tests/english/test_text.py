"""A text in lower case is read as the text itself would be where case is ignored."""

from __future__ import annotations

import re
import string
import sys

import pytest

from family_recall.english import lowered

CHARACTERS = "".join(map(chr, range(sys.maxunicode + 1)))


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

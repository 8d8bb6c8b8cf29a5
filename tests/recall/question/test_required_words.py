"""A pattern is left out only where it is found in no text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.english import breadth, text
from family_recall.english.times import tense
from family_recall.recall import replying


@pytest.mark.parametrize(
    ("pattern", "required"),
    [
        (text._WHEN, text._TIMES),
        (breadth._LIST, breadth._LISTING),
        (breadth._TAIL, breadth._LISTING),
        (tense._PAST_REFERENCE, tense._POINTING_BACK),
        (replying._ABOUT_ASKING, replying._ASKING),
    ],
)
@settings(max_examples=100, deadline=None, derandomize=True)
@given(data=st.data())
def test_one_is_in_every_match(
    pattern: re.Pattern[str], required: Sequence[str], data: st.DataObject
) -> None:
    """Whatever matches holds one of the parts by which it is decided whether to search."""
    match = data.draw(st.from_regex(pattern))

    assert any(part in match for part in required)

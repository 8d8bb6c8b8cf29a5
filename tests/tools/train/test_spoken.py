"""tools/train/spoken.py: a clean question in, one as it might be said or typed out."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tools.train.spoken import SHARE_CHANGED, as_spoken

QUESTION = "When did Priya's mother move to the house near Lisbon?"


@given(st.text(), st.integers(0, 2**32))
def test_any_text_can_be_spoken_and_none_is_lost(text: str, seed: int) -> None:
    """No text raises, and what holds a word never becomes empty."""
    assert bool(as_spoken(text, random.Random(seed)).strip()) or not text.strip()


def test_the_stated_share_is_changed_and_in_many_ways() -> None:
    """Within four standard deviations, and no single result dominates."""
    rng = random.Random(4)
    n = 4000
    results = Counter(as_spoken(QUESTION, rng) for _ in range(n))
    changed = n - results.pop(QUESTION)

    assert abs(changed - SHARE_CHANGED * n) < 4 * (n * SHARE_CHANGED * (1 - SHARE_CHANGED)) ** 0.5
    assert results.most_common(1)[0][1] < 0.2 * changed

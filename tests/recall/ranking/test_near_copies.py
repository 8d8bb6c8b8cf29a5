"""Near copies are the same as by comparing every pair, and found in time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.recall.ranking.near_copies import WordSets, near_copies


def sets_of(texts: Sequence[frozenset[int]], groups: Sequence[int]) -> WordSets:
    """Return sets of words, stored as a file's rows are: one after the other, ascending."""
    words = [word for text in texts for word in sorted(text)]
    sizes = np.array([len(text) for text in texts], np.int64)
    starts = np.cumsum(sizes) - sizes
    return WordSets(np.array(words, np.uint32), starts, sizes, np.array(groups, np.int64))


def by_every_pair(texts: Sequence[frozenset[int]], groups: Sequence[int]) -> dict[int, int]:
    """Compare every pair, the best first, with two loops and Python's sets."""
    representative: dict[int, int] = {}
    for best, left in enumerate(texts):
        for copy in range(best + 1, len(texts)):
            right = texts[copy]
            if (
                best not in representative
                and copy not in representative
                and groups[best] == groups[copy]
                and min(len(left), len(right)) >= 4
                and 10 * len(left & right) >= 9 * len(left | right)
            ):
                representative[copy] = best
    return representative


@st.composite
def families_of_texts(draw: st.DrawFn) -> tuple[list[frozenset[int]], list[int]]:
    """Texts that each differ from one of a few by a few words: on both sides of the threshold."""
    chance = draw(st.randoms(use_true_random=False))
    size = draw(st.sampled_from((0, 1, 3, 4, 8, 9, 10, 11, 18, 19, 20, 27, 40, 90, 200)))
    vocabulary = draw(st.sampled_from((2 * size + 4, 2**16, 2**32)))
    originals = [
        frozenset(chance.sample(range(vocabulary), size)) for _ in range(draw(st.integers(1, 3)))
    ]
    texts = []
    for _ in range(draw(st.integers(1, 40))):
        words = set(chance.choice(originals))
        most = size // 8 + 2
        for _ in range(chance.randint(0, most)):
            if words:
                words.discard(chance.choice(sorted(words)))
        words.update(chance.randrange(vocabulary) for _ in range(chance.randint(0, most)))
        texts.append(frozenset(words))
    return texts, [chance.randint(0, 1) for _ in texts]


@settings(max_examples=300, deadline=None)
@given(families_of_texts())
def test_the_same_copies_as_by_comparing_every_pair(
    drawn: tuple[list[frozenset[int]], list[int]],
) -> None:
    """Few sets are compared at once; of many, parts and sketches leave out no copies."""
    texts, groups = drawn
    # Sets of words that no other has are no copies of any, and make them many.
    lone = [frozenset(range(2**31 + 5 * at, 2**31 + 5 * at + 5)) for at in range(33)]
    few, many = sets_of(texts, groups), sets_of([*texts, *lone], [*groups, *[0] * 33])

    expected = by_every_pair(texts, groups)
    assert near_copies(few, lambda: False) == expected
    assert near_copies(many, lambda: False) == expected


def alike(n: int, own: int) -> WordSets:
    """Return n sets of 25 words, of which each has some for itself."""
    common = range(1, 26 - own)
    texts = [
        frozenset([*common, *range(own * row + 100, own * row + 100 + own)]) for row in range(n)
    ]
    return sets_of(texts, [0] * n)


def test_one_word_in_25_may_differ() -> None:
    """24 of 26 words are 0.92 of them, 23 of 27 are 0.85."""
    assert near_copies(alike(3, 1), lambda: False) == {1: 0, 2: 0}
    assert near_copies(alike(3, 2), lambda: False) == {}


def test_what_was_found_when_the_time_is_up_is_returned() -> None:
    """Each best set has its copies at once; the first of two families is collapsed by then."""
    first, second = alike(20, 1), alike(20, 1)
    both = WordSets(
        np.concatenate([first.words, second.words + np.uint32(10_000)]),
        np.concatenate([first.starts, second.starts + len(first.words)]),
        np.concatenate([first.sizes, second.sizes]),
        np.zeros(40, np.int64),
    )
    of_first = dict.fromkeys(range(1, 20), 0)
    everything = near_copies(both, lambda: False)
    assert everything == of_first | dict.fromkeys(range(21, 40), 20)

    looks = 0
    found: list[dict[int, int]] = []
    while not found or found[-1] != everything:
        left = looks

        def stopped() -> bool:
            nonlocal left
            left -= 1
            return left < 0

        found.append(near_copies(both, stopped))
        looks += 1

    assert found[0] == {}
    assert of_first in found
    assert all(part.items() <= everything.items() for part in found)

"""Passages: the windows of long texts."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.store.passages import (
    LONGEST_BEFORE,
    LONGEST_WHOLE,
    MOST_PASSAGES,
    OVERLAP_TOKENS,
    PASSAGE_TOKENS,
    as_read,
    in_talk,
    n_tokens,
    passages,
    sentences,
)

TEN = "One two three four five six seven eight nine. "
"""Nine words and a full stop: ten tokens."""

texts = st.lists(
    st.one_of(
        st.sampled_from(
            ["pear ", "Pear. ", "plum!\n\n", "fig", " 梨。", "…", "quincequince ", "7 "]
        ),
        st.text(max_size=20),
    ),
    max_size=120,
).map(lambda parts: "".join(parts) * 4)


def test_a_short_text_has_no_passages() -> None:
    """Up to the length that is read as a whole there are none."""
    assert n_tokens(TEN) == 10
    assert passages("") == ()
    assert passages(TEN * (LONGEST_WHOLE // 10)) == ()
    assert passages(TEN * (LONGEST_WHOLE // 10) + "Ten") != ()


def test_passages_end_with_sentences_and_overlap() -> None:
    """Of sentences of ten tokens each has as many as fit, and begins with the last two."""
    per_passage, shared = PASSAGE_TOKENS // 10, OVERLAP_TOKENS // 10
    n = 3 * per_passage - 2 * shared + LONGEST_WHOLE // 10
    text = (TEN * n).strip()
    spans = passages(text)

    for number, (start, end) in enumerate(spans[:-1]):
        assert start == number * (per_passage - shared) * len(TEN)
        assert text[start:end] == (TEN * per_passage).strip()
    assert spans[-1] == (len(text) - len((TEN * per_passage).strip()), len(text))


@pytest.mark.parametrize("text", ["7" * 9_000, "梨" * 900, "pear " * 900, "\n" * 900 + "a. " * 400])
def test_what_has_no_sentences_is_cut_all_the_same(text: str) -> None:
    """Neither one endless word nor a script without spaces makes a passage too long to read."""
    spans = passages(text)

    assert len(spans) > 2
    assert all(0 < n_tokens(text[start:end]) <= 2 * PASSAGE_TOKENS for start, end in spans)


def test_an_endless_text_has_a_limited_number() -> None:
    """Of a million characters the first passages are kept."""
    text = TEN * 22_000

    assert len(passages(text)) == MOST_PASSAGES
    assert passages(text)[0] == (0, len(TEN) * (PASSAGE_TOKENS // 10) - 1)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(texts)
def test_passages_cover_a_text_in_order(text: str) -> None:
    """Each begins and ends later than the one before, and nothing but space lies between."""
    spans = passages(text)

    assert spans == passages(text)
    if spans:
        assert not text[: spans[0][0]].strip()
        assert len(spans) == MOST_PASSAGES or not text[spans[-1][1] :].strip()
    for (start, end), (next_start, next_end) in itertools.pairwise(spans):
        assert start < next_start <= len(text)
        assert end < next_end <= len(text)
        assert not text[end:next_start].strip()
    for start, end in spans:
        assert text[start:end] == text[start:end].strip() != ""
        assert n_tokens(text[start:end]) <= 2 * PASSAGE_TOKENS


def test_sentences_end_where_they_do_in_english() -> None:
    """At a full stop before a space, at the end of a line, and not inside a number."""
    text = 'At 7.40 he left. "Really?" she said!  Yes…\n- milk\n- eggs'

    assert [text[start:end] for start, end in sentences(text)] == [
        "At 7.40 he left.", '"Really?"', "she said!", "Yes…", "- milk", "- eggs"
    ]  # fmt: skip


def test_a_passage_is_read_after_its_author() -> None:
    """As a body is; nobody is nobody."""
    assert as_read("Mia", "Pears.") == "Mia: Pears."
    assert as_read(None, "Pears.") == "Pears."


def test_a_long_turn_is_read_alone_and_of_a_long_one_before_only_the_end() -> None:
    """What follows is about the last that was said."""
    assert in_talk("Mia: Two.", "Tom: How many pears?") == "Tom: How many pears? / Mia: Two."
    assert in_talk("Mia: Two.", None) == "Mia: Two."
    assert in_talk("Mia: " + "pears " * 30, "Tom: How many?") == "Mia: " + "pears " * 30
    assert in_talk("Mia: Two.", "x" * 500) == "x" * LONGEST_BEFORE + " / Mia: Two."

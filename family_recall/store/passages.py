"""Passages: overlapping windows of a text that is too long for an encoder to read at once.

Where they lie follows from the text alone, so a file holds their vectors and nothing else of them.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from family_recall.store.words import place_words
from family_recall.types import FloatArray, IdArray

SHORT_TURN, LONGEST_BEFORE = 90, 120
"""Characters, with its author, of a turn that is read after the one before it; and of that one."""

LONGEST_WHOLE = 250
"""Tokens, as estimated here, of the longest text without passages; encoders read 256."""
PASSAGE_TOKENS = 80
"""Tokens of a passage, but for a sentence that begins before and ends after the last of them."""
OVERLAP_TOKENS = 20
"""Tokens of its end with which the next passage begins, rounded down to whole sentences."""
MOST_PASSAGES = 64
"""Passages of one text. What comes after them, past some 3,000 words, is found by its words."""
MOST_CHARS = 65_536
"""Characters of a text in which passages lie: twice as many as the last of them needs to end."""
MOST_IN_PASSAGES = MOST_PASSAGES * PASSAGE_TOKENS
"""Words in all passages of a text, at most; one of more words goes on past them."""
_MOST_PIECES = (MOST_PASSAGES + 3) * PASSAGE_TOKENS  # what follows moves no passage
Span = tuple[int, int]
"""Where a part of a text lies: (start, end) in characters."""
# Word pieces as a BERT vocabulary of English makes them, slightly more of them than it does.
_PIECES = re.compile(r"[A-Za-z]{1,7}|\d{1,3}|[^\s\w]|[^\W\dA-Za-z]")
# Of a run of marks only the first begins an end: tried from each, a million of them took hours.
_SENTENCE_END = re.compile(r"[.!?…](?<![.!?…]{2})[.!?…]*[\"'”’)\]]*(?=\s)|[。！？]+|\n+")
_WORD = re.compile(r"\S+")
_CUT = 400  # characters of a word that is not divided


def passages(text: str) -> tuple[Span, ...]:
    """Return where the passages of a long text lie; none of a text that is read as a whole.

    Each begins and ends with a sentence. Together they cover the text up to the last of them.
    However long the text is, it takes 3 ms at most.
    """
    return _passages(text[:MOST_CHARS])


@functools.lru_cache(maxsize=256)
def _passages(text: str) -> tuple[Span, ...]:
    found = _PIECES.finditer(text) if len(text) > LONGEST_WHOLE else iter(())
    pieces = [match.start() for match in itertools.islice(found, _MOST_PIECES + 1)]
    if len(pieces) <= LONGEST_WHOLE:
        return ()
    if len(pieces) > _MOST_PIECES:
        text = text[: pieces.pop()]
    parts = [part for span in sentences(text) for part in _divided(text, span, pieces)]
    ends = list(itertools.accumulate(_n_pieces(pieces, part) for part in parts))
    starts = [0, *ends[:-1]]
    spans: list[Span] = []
    first = 0
    while len(spans) < MOST_PASSAGES:
        last = max(bisect.bisect_right(ends, starts[first] + PASSAGE_TOKENS) - 1, first)
        spans.append((parts[first][0], parts[last][1]))
        if last + 1 == len(parts):
            break
        # With the end of this passage, the next part, and at the end of the text as much as fits.
        least = max(ends[last] - OVERLAP_TOKENS, ends[last + 1] - PASSAGE_TOKENS)
        following = bisect.bisect_left(starts, min(least, ends[-1] - PASSAGE_TOKENS))
        first = min(max(following, first + 1), last + 1)
    return tuple(spans)


def as_read(author: str | None, text: str) -> str:
    """Return a text as models read it, and as the next memory has it as its context."""
    # A colon separates a speaker from a text, so no word spans both.
    return f"{author}: {text}" if author else text


def in_talk(read: str, before: str | None) -> str:
    """Return a turn as a reader has it: a short one after the turn before, which says what of."""
    if before is None or len(read) > SHORT_TURN:
        return read
    return f"{before[-LONGEST_BEFORE:]} / {read}"


def sentences(text: str) -> list[Span]:
    """Return where the sentences of a text lie, without the white space around them."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    spans = (_trimmed(text, span) for span in itertools.pairwise([0, *ends, len(text)]))
    return [(start, end) for start, end in spans if start < end]


def n_tokens(text: str) -> int:
    """Estimate how many tokens an encoder makes of a text."""
    return len(_pieces(text))


def _pieces(text: str) -> list[int]:
    return [match.start() for match in _PIECES.finditer(text)]


def _n_pieces(pieces: Sequence[int], span: Span) -> int:
    """Count the pieces of words that begin in a part of a text."""
    return bisect.bisect_left(pieces, span[1]) - bisect.bisect_left(pieces, span[0])


def _divided(text: str, sentence: Span, pieces: Sequence[int]) -> list[Span]:
    """Divide a sentence that is longer than a passage, between words."""
    if _n_pieces(pieces, sentence) <= PASSAGE_TOKENS:
        return [sentence]
    spans: list[Span] = []
    size = 0
    for word_start, word_end in _words(text, sentence):
        n = _n_pieces(pieces, (word_start, word_end))
        if spans and size + n <= PASSAGE_TOKENS // 2:
            spans[-1] = (spans[-1][0], word_end)
            size += n
        else:
            spans.append((word_start, word_end))
            size = n
    return spans


def _words(text: str, span: Span) -> list[Span]:
    """Return where the words of a span lie; what is written without spaces comes in pieces."""
    spans = [match.span() for match in _WORD.finditer(text, *span)]
    return [
        (at, min(at + _CUT // 8, end)) if end - start > _CUT // 8 else (start, end)
        for start, end in spans
        for at in range(start, end, _CUT // 8)
    ]


def _trimmed(text: str, span: Span) -> Span:
    start, end = span
    inside = text[start:end]
    return start + len(inside) - len(inside.lstrip()), start + len(inside.rstrip())


@dataclass(frozen=True, slots=True)
class PassageWords:
    """The words of some texts that stand outside each of their passages.

    ``memories`` (m,) whose passage it is, ``n_words`` (m,) outside it, and ``counts`` (m, s) how
    often each of the asked stems stands outside it.
    """

    memories: IdArray
    n_words: IdArray
    counts: FloatArray


def count_in_passages(texts: Iterable[tuple[int, str]], stems: Sequence[str]) -> PassageWords:
    """Count some stems in each passage of (memory, text) pairs; a short text has none.

    Neither has one that goes on past its last passage. Takes 0.2 ms for a text of 600 words.
    """
    memories, n_words, counts = list[int](), [np.zeros(0, np.int64)], list[FloatArray]()
    for memory, text in texts:
        spans = passages(text) if len(text) <= MOST_CHARS else ()
        if 0 < len(spans) < MOST_PASSAGES:
            words = place_words(text)
            held = [[stem == asked for asked in stems] for _, _, stem in words]
            before = np.zeros((len(words) + 1, len(stems)), np.float32)
            before[1:] = np.cumsum(np.reshape(held, before[1:].shape), axis=0)
            low, high = np.searchsorted([start for start, _, _ in words], spans).T
            memories += [memory] * len(spans)
            n_words.append(len(words) - (high - low))
            counts.append(before[-1] - (before[high] - before[low]))
    return PassageWords(
        np.array(memories, np.int64),
        np.concatenate(n_words),
        np.concatenate([np.zeros((0, len(stems)), np.float32), *counts]),
    )

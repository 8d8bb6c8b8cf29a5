"""Tokenise texts into vocabulary ids. Any string is valid."""

from __future__ import annotations

import itertools
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from family_recall.encoders.manifest import ModelFile, verify
from family_recall.errors import ModelError

# Longer texts are cut before they are tokenised: English has 4 to 5 characters per token, and a
# 100 kB text then costs no more than an 8 kB one.
CHARACTERS_PER_TOKEN = 32
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PROBE = "a"
_Part = tuple[int | None, list[int], list[int]]
"""The number of a text, None for special tokens; ids and types of a probe."""


_shared: weakref.WeakValueDictionary[str, SubwordTokenizer] = weakref.WeakValueDictionary()


def read_tokenizer(file: ModelFile) -> SubwordTokenizer:
    """Load the tokeniser of a file, shared by all models that use it: it takes 9 MB.

    Raises:
        ModelError: If the file is missing, altered, or not a tokeniser.
    """
    path = verify(file)
    known = _shared.get(file.sha256)
    if known is None:
        known = _shared[file.sha256] = SubwordTokenizer(path)
    return known


class SubwordTokenizer:
    """Any tokeniser that `tokenizers` can read. Safe to share between threads.

    Attributes:
        n_special: Special tokens around one text, 1 or more.
        n_special_pair: Special tokens around and between two texts.
    """

    def __init__(self, path: Path) -> None:
        """Read a verified `tokenizer.json`.

        Raises:
            ModelError: If it cannot be read, or adds no special token to a text.
        """
        try:
            from tokenizers import Tokenizer  # noqa: PLC0415  loads a native library

            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception
            raise ModelError(f"{path}: {error}") from error
        # The file may define truncation and padding.
        tokenizer.no_padding()
        tokenizer.no_truncation()
        # "[SEP]" inside a memory is five characters of text, not a special token.
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        probe, pair = tokenizer.encode(PROBE), tokenizer.encode(PROBE, PROBE)
        self._alone, self._pair = _frame(probe), _frame(pair)
        self.n_special = sum(probe.special_tokens_mask)
        self.n_special_pair = sum(pair.special_tokens_mask)
        # Otherwise an empty text would be an empty input.
        if 0 not in probe.sequence_ids or not self.n_special:
            raise ModelError(f"{path}: adds no special token before or after a text, expected one")

    def ids(self, text: str, max_tokens: int) -> list[int]:
        """Return the first `max_tokens` ids of a text, without special tokens."""
        max_tokens = max(max_tokens, 0)
        cut = text[: CHARACTERS_PER_TOKEN * max_tokens]
        # A lone surrogate is a valid str but not valid Unicode; pairs are joined.
        cut = cut.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        ids: list[int] = self._tokenizer.encode(cut, add_special_tokens=False).ids
        return ids[:max_tokens]

    def alone(self, text: str, max_tokens: int) -> tuple[list[int], list[int]]:
        """Return ids and types of a text with special tokens, `max_tokens` at most."""
        return _fill(self._alone, self.ids(text, max_tokens - self.n_special))

    def pair(
        self, first: str, second: str, max_first: int, max_second: int
    ) -> tuple[list[int], list[int]]:
        """Return ids and types of two texts with special tokens.

        One special token counts towards the second text, the others towards the first: the total
        is at most `max_first` + `max_second`, and neither text displaces the other.
        """
        return _fill(
            self._pair,
            self.ids(first, max_first - self.n_special_pair + 1),
            self.ids(second, max_second - 1),
        )

    def words(self) -> npt.NDArray[np.bool_]:
        """Return whether each id has a letter or digit, shape (n_ids,); special tokens do not."""
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        added = self._tokenizer.get_added_tokens_decoder().values()
        special = {*SPECIAL_TOKENS, *(str(token.content) for token in added if token.special)}
        is_word = np.zeros(max(vocabulary.values()) + 1, dtype=np.bool_)
        words = [i for token, i in vocabulary.items() if _is_word(token) and token not in special]
        is_word[words] = True
        return is_word


def _frame(probe: Any) -> tuple[_Part, ...]:
    """Return the parts of an encoded probe: special tokens, and the numbers of its texts."""
    tokens = zip(probe.sequence_ids, probe.ids, probe.type_ids, strict=True)
    groups = itertools.groupby(tokens, key=lambda token: token[0])
    frame = []
    for text, part in groups:
        _, ids, types = zip(*part, strict=True)
        frame.append((text, list(ids), list(types)))
    return tuple(frame)


def _fill(frame: tuple[_Part, ...], *texts: list[int]) -> tuple[list[int], list[int]]:
    """Return ids and types of texts with the special tokens of a frame around them."""
    ids: list[int] = []
    types: list[int] = []
    for text, part_ids, part_types in frame:
        ids += part_ids if text is None else texts[text]
        types += part_types if text is None else part_types[:1] * len(texts[text])
    return ids, types


def _is_word(token: str) -> bool:
    # The first character decides for nearly all of 30,000 tokens: 25 ms less at opening.
    return bool(token) and (token[0].isalnum() or any(map(str.isalnum, token)))

"""Tokenise texts into vocabulary ids. Any string is valid."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from family_recall.encoders.manifest import ModelFile, verify
from family_recall.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Longer texts are cut before they are tokenised: English has 4 to 5 characters per token, and a
# 100 kB text then costs no more than an 8 kB one.
CHARACTERS_PER_TOKEN = 32
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PROBE = "a"


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
        probe = tokenizer.encode(PROBE, add_special_tokens=False)
        self._alone = _frame(tokenizer.post_process(probe), [len(probe)])
        self._pair = _frame(tokenizer.post_process(probe, probe), [len(probe)] * 2)
        self.n_special = self._alone.n_special
        self.n_special_pair = self._pair.n_special
        # Otherwise an empty text would be an empty input.
        if not len(probe) or not self.n_special:
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
        return self._alone.around(self.ids(text, max_tokens - self.n_special))

    def pair(
        self, first: str, second: str, max_first: int, max_second: int
    ) -> tuple[list[int], list[int]]:
        """Return ids and types of two texts with special tokens.

        One special token counts towards the second text, the others towards the first: the total
        is at most `max_first` + `max_second`, and neither text displaces the other.
        """
        return self._pair.around(
            self.ids(first, max_first - self.n_special_pair + 1), self.ids(second, max_second - 1)
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


@dataclass(frozen=True, slots=True)
class _Frame:
    """Special tokens before, between and after texts, each gap as (ids, types)."""

    gaps: tuple[tuple[list[int], list[int]], ...]
    text_types: tuple[int, ...]

    @property
    def n_special(self) -> int:
        return sum(len(ids) for ids, _ in self.gaps)

    def around(self, *texts: list[int]) -> tuple[list[int], list[int]]:
        ids, types = map(list, self.gaps[0])
        for text, text_type, gap in zip(texts, self.text_types, self.gaps[1:], strict=True):
            ids += text + gap[0]
            types += [text_type] * len(text) + gap[1]
        return ids, types


def _frame(encoding: Any, lengths: Sequence[int]) -> _Frame:
    """Return the special tokens around texts of the given lengths."""
    at = [i for i, special in enumerate(encoding.special_tokens_mask) if not special]
    gaps, text_types, start = [], [], 0
    for length in lengths:
        inside, at = at[:length], at[length:]
        end = inside[0] if inside else start
        gaps.append((encoding.ids[start:end], encoding.type_ids[start:end]))
        text_types.append(encoding.type_ids[end] if inside else 0)
        start = end + length
    gaps.append((encoding.ids[start:], encoding.type_ids[start:]))
    return _Frame(tuple(gaps), tuple(text_types))


def _is_word(token: str) -> bool:
    # The first character decides for nearly all of 30,000 tokens: 25 ms less at opening.
    return bool(token) and (token[0].isalnum() or any(map(str.isalnum, token)))

"""A text in, vocabulary ids out. Any string will do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from family_recall.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

# Longer texts are cut to this before they are tokenised: English has 4 to 5 characters a token,
# and a 100 kB text then costs no more than an 8 kB one.
CHARACTERS_PER_TOKEN = 32
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class WordPieces:
    """A BERT tokeniser. Safe to share between threads: nothing in it changes after opening.

    Attributes:
        cls_id: Starts every sequence.
        sep_id: Ends every sequence.
        n_ids: Size of the vocabulary.
    """

    def __init__(self, path: Path) -> None:
        """Read a verified `tokenizer.json`.

        Raises:
            ModelError: If it cannot be read, or has no [CLS] and [SEP].
        """
        try:
            from tokenizers import Tokenizer  # noqa: PLC0415  loads a native library

            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception
            raise ModelError(f"{path}: {error}") from error
        # The file carries a truncation and padding to 128 of its own.
        tokenizer.no_padding()
        tokenizer.no_truncation()
        # "[SEP]" inside a memory is five characters somebody wrote, not the end of a text.
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        ends = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        if ends[0] is None or ends[1] is None:
            raise ModelError(f"{path}: has no [CLS] and [SEP], expected a BERT tokeniser")
        self.cls_id: int = ends[0]
        self.sep_id: int = ends[1]
        vocabulary: dict[str, int] = tokenizer.get_vocab()
        self.n_ids = max(vocabulary.values()) + 1
        self._is_word = np.zeros(self.n_ids, dtype=np.bool_)
        self._is_word[[index for token, index in vocabulary.items() if _is_word(token)]] = True

    def ids(self, text: str, max_tokens: int) -> list[int]:
        """The first `max_tokens` ids of a text, special tokens not among them."""
        cut = text[: CHARACTERS_PER_TOKEN * max_tokens]
        # Half of a surrogate pair is a legal str and not a legal text; pairs are put together.
        cut = cut.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        found: list[int] = self._tokenizer.encode(cut, add_special_tokens=False).ids
        return found[:max_tokens]

    def is_word(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which ids carry a letter or digit; special tokens and punctuation do not."""
        return self._is_word[ids]


def _is_word(token: str) -> bool:
    # The first character settles nearly all of 30,000 tokens, which is 25 ms less at opening.
    return (token[0].isalnum() or any(map(str.isalnum, token))) and token not in SPECIAL_TOKENS

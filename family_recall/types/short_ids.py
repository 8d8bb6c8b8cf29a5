"""Short ids: the shortest unique beginning of an id among those a person may see."""

from __future__ import annotations

import bisect
import hashlib
import re
from collections.abc import Iterable
from functools import cached_property

from family_recall.errors import InvalidRequestError
from family_recall.types.checked import checked

SHORTEST = 6
"""Minimum length of a short id as printed."""

ACCEPTED = 4
"""Minimum length of a text to look up as a beginning; a shorter one must be a whole id."""

_LISTED = 5  # ids in a message
_MADE = re.compile(r"[0-9a-f]{24}")
_CHOSEN = re.compile(r"[\w.-]{1,24}", re.ASCII)


def code_of(doc_id: str) -> str:
    """Return the text whose beginnings are short ids of a memory.

    It is the id itself if the library generated it, or if it is short and simple, such as
    *spare-key*; otherwise a digest of the id, since imported ids share long beginnings.
    """
    if _CHOSEN.fullmatch(doc_id):
        return doc_id
    return hashlib.blake2b(doc_id.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


@checked
class ShortIds:
    """Shortens and looks up the ids of some memories.

    A short and simple id that somebody chose is not shortened, but found by its beginning too.

    >>> ids = ShortIds(["4f1c09aa2b7d41e09c55d0ab", "4f1c09bb2b7d41e09c55d0ab", "spare-key"])
    >>> ids.short("4f1c09aa2b7d41e09c55d0ab"), ids.short("spare-key")
    ('4f1c09a', 'spare-key')
    >>> ids.find("4f1c09b"), ids.find("spare")
    ('4f1c09bb2b7d41e09c55d0ab', 'spare-key')
    """

    def __init__(self, doc_ids: Iterable[str]) -> None:
        self._doc_ids = frozenset(doc_ids)

    @cached_property
    def _codes(self) -> list[str]:
        return sorted({code_of(doc_id) for doc_id in self._doc_ids} | self._doc_ids)

    def short(self, doc_id: str) -> str:
        """Return the short id of a memory; an unknown id unchanged."""
        if doc_id not in self._doc_ids or (
            _CHOSEN.fullmatch(doc_id) and not _MADE.fullmatch(doc_id)
        ):
            return doc_id
        code = code_of(doc_id)
        at = bisect.bisect_left(self._codes, code)
        neighbours = [*self._codes[max(0, at - 1) : at], *self._codes[at + 1 : at + 2]]
        n_shared = max((_n_shared(code, other) for other in neighbours), default=0)
        return code[: max(SHORTEST, n_shared + 1)]

    def find(self, text: str) -> str:
        """Return the id that equals or begins with a text; the text itself if there is none.

        A whole id always means itself.

        Raises:
            InvalidRequestError: If several ids begin with it; the message lists them.
        """
        if text in self._doc_ids or len(text) < ACCEPTED:
            return text
        matches = sorted(
            doc_id
            for doc_id in self._doc_ids
            if doc_id.startswith(text) or code_of(doc_id).startswith(text)
        )
        if len(matches) > 1:
            listed = [self.short(doc_id) for doc_id in matches[:_LISTED]]
            more = f" and {len(matches) - _LISTED} more" if len(matches) > _LISTED else ""
            raise InvalidRequestError(
                f"{text!r} may mean {len(matches)} memories: {', '.join(listed)}{more}; write more "
                "of the id"
            )
        return matches[0] if matches else text


def _n_shared(code: str, other: str) -> int:
    """Return the length of the common beginning of two codes."""
    pairs = enumerate(zip(code, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(code), len(other)))

"""Short ids: the first characters of an id that mean one memory among those somebody may see."""

from __future__ import annotations

import bisect
import hashlib
import re
from collections.abc import Iterable
from functools import cached_property

from family_recall.errors import InvalidRequestError

SHORTEST = 6
"""Characters of a short id at least, as it is printed."""

ACCEPTED = 4
"""Characters that are looked up at least: fewer mean an id as it is."""

_LISTED = 5  # ids in a message
_MADE = re.compile(r"[0-9a-f]{24}")
_CHOSEN = re.compile(r"[\w.-]{1,24}", re.ASCII)


def code_of(doc_id: str) -> str:
    """Return what the short ids of a memory are the beginnings of.

    That is its id where the library made it, or where somebody chose a short and simple one, such
    as *spare-key*. It is a digest of any other, such as that of an import: the messages of one chat
    begin alike, and long.
    """
    if _CHOSEN.fullmatch(doc_id):
        return doc_id
    return hashlib.blake2b(doc_id.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


class ShortIds:
    """The ids of some memories, each by the shortest beginning that no other one has.

    A short and simple id that somebody chose is left whole, and found by its beginning, too.

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
        """Return the short id of one of the memories; any other id as it is."""
        if doc_id not in self._doc_ids or (
            _CHOSEN.fullmatch(doc_id) and not _MADE.fullmatch(doc_id)
        ):
            return doc_id
        code = code_of(doc_id)
        at = bisect.bisect_left(self._codes, code)
        beside = [*self._codes[max(0, at - 1) : at], *self._codes[at + 1 : at + 2]]
        shared = max((_n_shared(code, other) for other in beside), default=0)
        return code[: max(SHORTEST, shared + 1)]

    def find(self, text: str) -> str:
        """Return the id that a text is or begins; the text itself where it begins none.

        An id as it is always means itself, whatever else begins with it.

        Raises:
            InvalidRequestError: If several begin with it; it lists them.
        """
        if text in self._doc_ids or len(text) < ACCEPTED:
            return text
        meant = sorted(
            doc_id
            for doc_id in self._doc_ids
            if doc_id.startswith(text) or code_of(doc_id).startswith(text)
        )
        if len(meant) > 1:
            listed = [self.short(doc_id) for doc_id in meant[:_LISTED]]
            more = f" and {len(meant) - _LISTED} more" if len(meant) > _LISTED else ""
            raise InvalidRequestError(
                f"{text!r} may mean {len(meant)} memories: {', '.join(listed)}{more}; write more "
                "of the id"
            )
        return meant[0] if meant else text


def _n_shared(code: str, other: str) -> int:
    """Count the characters that two codes begin with alike."""
    pairs = enumerate(zip(code, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(code), len(other)))

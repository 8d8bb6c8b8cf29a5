"""The last questions' vectors: asked again, a question is not read again.

Each person has questions of their own, so that how fast an answer comes tells nobody what somebody
else has asked. Of a question there is only a hash; nothing is ever written to a file.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from family_recall.encoders.base import Encoding

MOST = 128
"""Questions kept in all, of everybody; the ones not asked for longest go first. About 10 MB."""

_Key = tuple[str | None, str, bytes]


class Questions:
    """Encodings by person, model and text. Safe to share between threads."""

    def __init__(self, most: int = MOST) -> None:
        """Keep so many."""
        self._most = most
        self._known: OrderedDict[_Key, Encoding] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Count the questions."""
        return len(self._known)

    def get(self, person_id: str | None, model_id: str, text: str) -> Encoding | None:
        """Give what a model made of a person's question, if it is still known."""
        key = _key(person_id, model_id, text)
        with self._lock:
            if key not in self._known:
                return None
            self._known.move_to_end(key)
            return self._known[key]

    def put(self, person_id: str | None, model_id: str, text: str, encoding: Encoding) -> None:
        """Keep what a model made of a person's question."""
        with self._lock:
            self._known[_key(person_id, model_id, text)] = encoding
            self._known.move_to_end(_key(person_id, model_id, text))
            while len(self._known) > self._most:
                self._known.popitem(last=False)

    def forget(self, person_id: str) -> None:
        """Forget one person's questions."""
        with self._lock:
            for key in [key for key in self._known if key[0] == person_id]:
                del self._known[key]

    def clear(self) -> None:
        """Forget everybody's."""
        with self._lock:
            self._known.clear()


def _key(person_id: str | None, model_id: str, text: str) -> _Key:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return person_id, model_id, digest

"""A cache of the vectors of recent questions.

Questions are cached per person, so that the speed of an answer does not reveal what others have
asked. Only a hash of the text is stored, and nothing is written to a file.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from family_recall.encoders.base import Encoding

MAX_QUESTIONS = 128
"""Questions of all people together; the least recently used are evicted. About 10 MB."""

_Key = tuple[str | None, str, bytes]


class QuestionCache:
    """Encodings by person, model and text. Safe to share between threads."""

    def __init__(self, max_questions: int = MAX_QUESTIONS) -> None:
        """Create an empty cache."""
        self._max_questions = max_questions
        self._encodings: OrderedDict[_Key, Encoding] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Count the questions."""
        return len(self._encodings)

    def get(self, person_id: str | None, model_id: str, text: str) -> Encoding | None:
        """Return the encoding of a person's question, or None if it is not cached."""
        key = _key(person_id, model_id, text)
        with self._lock:
            if key not in self._encodings:
                return None
            self._encodings.move_to_end(key)
            return self._encodings[key]

    def put(self, person_id: str | None, model_id: str, text: str, encoding: Encoding) -> None:
        """Store the encoding of a person's question."""
        with self._lock:
            self._encodings[_key(person_id, model_id, text)] = encoding
            self._encodings.move_to_end(_key(person_id, model_id, text))
            while len(self._encodings) > self._max_questions:
                self._encodings.popitem(last=False)

    def clear(self) -> None:
        """Delete everything."""
        with self._lock:
            self._encodings.clear()


def _key(person_id: str | None, model_id: str, text: str) -> _Key:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return person_id, model_id, digest

"""A cache of the vectors of recent questions.

Questions are cached per person, so that the speed of an answer reveals nothing about other people's
questions. Texts are stored as hashes, in memory only.
"""

from __future__ import annotations

import hashlib
import threading

from family_recall.encoders.base import Encoding

MAX_QUESTIONS = 32
"""Questions per person, about 2.5 MB; the least recently used is evicted."""
MAX_PEOPLE = 16
"""People with cached questions; the one who asked least recently is evicted."""


class QuestionCache:
    """Encodings by person, model and text. Safe to share between threads.

    Nothing is cached for unknown people: the next stranger may be somebody else.
    """

    def __init__(self, max_questions: int = MAX_QUESTIONS, max_people: int = MAX_PEOPLE) -> None:
        """Create an empty cache."""
        self._max_questions, self._max_people = max_questions, max_people
        # Both in the order of their last use.
        self._by_person: dict[str, dict[tuple[str, bytes], Encoding]] = {}
        self._lock = threading.RLock()

    def __len__(self) -> int:
        """Count the questions."""
        with self._lock:
            return sum(map(len, self._by_person.values()))

    def get(self, person_id: str | None, model_id: str, text: str) -> Encoding | None:
        """Return the cached encoding of a person's question, or None."""
        if person_id is None:
            return None
        with self._lock:
            encoding = self._by_person.get(person_id, {}).get((model_id, _digest(text)))
            if encoding is not None:
                self.put(person_id, model_id, text, encoding)
        return encoding

    def put(self, person_id: str | None, model_id: str, text: str, encoding: Encoding) -> None:
        """Store the encoding of a person's question; nothing for an unknown person."""
        if person_id is None:
            return
        key = model_id, _digest(text)
        with self._lock:
            questions = self._by_person.pop(person_id, {})
            questions.pop(key, None)
            self._by_person[person_id] = questions
            questions[key] = encoding
            if len(questions) > self._max_questions:
                del questions[next(iter(questions))]
            if len(self._by_person) > self._max_people:
                del self._by_person[next(iter(self._by_person))]

    def clear(self) -> None:
        """Delete everything."""
        with self._lock:
            self._by_person.clear()


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

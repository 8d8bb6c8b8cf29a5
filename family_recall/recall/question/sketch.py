"""What is compared, and stored with feedback, of a question: numbers, and no word of it."""

from __future__ import annotations

import hashlib

from family_recall.encoders.base import Encoder
from family_recall.english import Question
from family_recall.english.text import normalise, search_terms
from family_recall.store.logs.feedback import QuestionSketch
from family_recall.store.snapshot import Snapshot
from family_recall.store.words import stem_number


def question_hash(person_id: str, question: str) -> bytes:
    """Hash a question, so that feedback on the same one is recognised without its words."""
    return hashlib.blake2b(
        normalise(question).encode("utf-8", "surrogatepass"),
        digest_size=8,
        person=hashlib.blake2b(person_id.encode(), digest_size=16).digest(),
    ).digest()


def sketch_of(question: str, snapshot: Snapshot, static: Encoder | None) -> QuestionSketch:
    """Return the sketch of a question; without a vector where there is no static embedder."""
    terms = search_terms(snapshot.stems(question))
    return QuestionSketch(
        model_id=None if static is None else static.model_id,
        vector=None if static is None else static.encode_question(question).pooled,
        stems=frozenset(stem_number(stem) for _, stem in terms),
        kinds=Question(question).kinds,
    )

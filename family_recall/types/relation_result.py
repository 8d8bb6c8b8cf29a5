"""A relation as an answer shows it: who is what to whom, and what says so."""

from __future__ import annotations

from collections.abc import Iterable

from family_recall.types.records import Record


class RelationResult(Record, frozen=True):
    """One relation of an answer: *Leela* is *married to* *Vikram*.

    ``answers`` says whether it answers the question by itself, and ``asked_for`` which of its
    two ends was asked for; None where the question names both, or neither in particular. Other
    relations tell how those that the question names belong together.
    ``evidence`` are the doc_ids of memories that say so, of those the request may see;
    ``confidence`` in [0, 1] is how sure the relation was stated; ``valid_from`` and
    ``valid_until`` are ISO 8601, None where an end is open.
    """

    subject: str
    relation: str
    object: str
    space_id: str = ""
    confidence: float = 1.0
    valid_from: str | None = None
    valid_until: str | None = None
    evidence: tuple[str, ...] = ()
    answers: bool = False
    asked_for: str | None = None

    def __str__(self) -> str:
        """Return it as a sentence reads: ``Leela lives in Pune (since 2021-06-01)``."""
        dates = (("since", self.valid_from), ("until", self.valid_until))
        notes = ", ".join(f"{word} {moment[:10]}" for word, moment in dates if moment)
        text = f"{self.subject} {self.phrase} {self.object}"
        return f"{text} ({notes})" if notes else text

    @property
    def phrase(self) -> str:
        """The relation in words: ``OWNED BY`` for ``OWNED_BY``."""
        return self.relation.replace("_", " ")

    @property
    def fact(self) -> tuple[str, str] | None:
        """What it states, as key and value: ``("Leela lives in", "Pune")``; or None."""
        if not self.answers or self.asked_for is None:
            return None
        if self.asked_for == self.subject:
            return f"{self.phrase} {self.object}", self.subject
        return f"{self.subject} {self.phrase}", self.object


READING_CERTAINTY = 0.95
"""How surely a question is understood to ask for a relation, where no word of it is left over."""


def related_confidence(relations: Iterable[RelationResult]) -> float:
    """Return how sure the best relation that answers is, in [0, 1]; 0 where none does."""
    answering = (relation.confidence for relation in relations if relation.answers)
    return READING_CERTAINTY * max(answering, default=0.0)


def facts_of(relations: Iterable[RelationResult]) -> dict[str, str]:
    """Collect what some relations state; several values of one key stand side by side.

    >>> facts_of([RelationResult("Ann", "mother of", "Bo", answers=True, asked_for="Ann")])
    {'mother of Bo': 'Ann'}
    """
    facts: dict[str, dict[str, None]] = {}
    for relation in relations:
        if relation.fact is not None:
            key, value = relation.fact
            facts.setdefault(key, {})[value] = None
    return {key: ", ".join(values) for key, values in facts.items()}

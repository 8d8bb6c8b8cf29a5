"""Compare a question's own words with those of a relation: *Where does Ann live?* ~ *lives in*."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from family_recall.english.relation_vocabulary import (
    FILLERS,
    FUNCTION_WORDS,
    LIGHT,
    NAME_WORDS,
    PAST_WORDS,
    Part,
    RelationWords,
    Stems,
    beginnings,
    concept,
    relation_words,
)
from family_recall.recall.question.relation_wording import Token, Wording

MAX_CONTENT_WORDS = 4
"""Words that say something, of the longest question compared with relations."""

MIN_COVERAGE = 0.5
"""Share of a relation's core concepts that a question must name."""

End = Literal["subject", "object"]


@dataclass(frozen=True, slots=True)
class WordQuestion:
    """A question's words for a relation: position and concept of each that says something.

    ``begins`` are the same words as :func:`beginnings` has them.
    ``wh`` is its question word, or empty; ``asks_past`` whether it asks for what has ended.
    """

    wording: Wording
    content: tuple[tuple[int, str], ...]
    begins: frozenset[str]
    wh: str
    asks_past: bool


@dataclass(frozen=True, slots=True)
class Match:
    """How a relation fits a question: ``overlap`` in [0, 1], and whether it answers."""

    overlap: float
    answers: bool


def word_question(wording: Wording, stems: Stems) -> WordQuestion | None:
    """Read the words by which a question asks for a relation; None if it has too many or none."""
    wh = next((word for word in wording.words if word in _WH), "")
    skipped = _SKIPPED_OF_NAMES if wh in {"what", ""} else _SKIPPED
    content = [
        (at, token.word)
        for at, token in enumerate(wording.tokens)
        if token.mention < 0 and token.word not in skipped
    ]
    is_question = wh or (wording.tokens and wording.tokens[0].word in _OPENING_VERBS)
    if not is_question or not 1 <= len(content) <= MAX_CONTENT_WORDS:
        return None
    return WordQuestion(
        wording,
        tuple((at, concept(word, stems)) for at, word in content),
        beginnings(word for _, word in content),
        wh,
        not PAST_WORDS.isdisjoint(wording.words),
    )


def match(
    question: WordQuestion,
    phrase: str,
    ends: tuple[frozenset[int], frozenset[int]],
    end_names: tuple[str, str],
    stems: Stems,
) -> Match:
    """Compare a question with a relation.

    Args:
        question: The question's words.
        phrase: The relation, normalised.
        ends: The mentions that stand for its subject, and for its object.
        end_names: The names of both.
        stems: Splits a text into (word, stem) pairs.
    """
    if question.begins.isdisjoint(beginnings(phrase.split(" "))):
        return Match(0.0, answers=False)
    relation = relation_words(phrase, stems)
    asked = {word for _, word in question.content}
    overlap = len(relation.core & asked) / len(relation.core)
    if overlap < MIN_COVERAGE:
        return Match(overlap, answers=False)
    other = "" if ends[0] and ends[1] else end_names[1 if ends[0] else 0]
    of_other = {concept(word, stems) for word, _ in stems(other.casefold())}
    answers = (
        asked <= relation.all | of_other
        and (question.asks_past or not relation.has_ended)
        and _names_only(question.wording, ends)
        and _fits_question_word(question, relation)
        and (all(ends) or relation.is_symmetric or _in_its_place(question, relation, ends))
    )
    return Match(overlap, answers)


_OPENING_VERBS = frozenset("is are was were do does did has have had".split())
_SKIPPED = FUNCTION_WORDS | FILLERS | PAST_WORDS
_SKIPPED_OF_NAMES = _SKIPPED | NAME_WORDS
_WH = frozenset({"who", "whom", "whose", "where", "when", "why", "how", "what", "which"})


def _names_only(wording: Wording, ends: tuple[frozenset[int], frozenset[int]]) -> bool:
    """Whether everything a question names but the asker is an end of the relation."""
    at_ends = ends[0] | ends[1]
    others = wording.named - {wording.asker}
    return at_ends >= others if others else bool(at_ends)


def _fits_question_word(question: WordQuestion, relation: RelationWords) -> bool:
    words = question.wording.words
    if "with" in words and not relation.has_company:
        return False
    if question.wh == "where":
        # *Where did Mia go?* asks for today, and not for her school.
        return relation.is_place and not LIGHT.issuperset(word for _, word in question.content)
    if question.wh == "how":
        return "long" in words
    return question.wh != "why"


def _in_its_place(
    question: WordQuestion, relation: RelationWords, ends: tuple[frozenset[int], frozenset[int]]
) -> bool:
    """Whether the one named has the part in the question that they have in the relation."""
    tokens = question.wording.tokens
    heads = [at for at, word in question.content if word in relation.core]
    named = ends[0] | ends[1]
    places = [at for at, token in enumerate(tokens) if token.mention in named]
    for head in heads:
        for place in places:
            part = _part(tokens, place, head)
            if part == "owner" and question.wh == "what" and _does(question.wording.words):
                return False
            if part is not None:
                return relation.is_subject(part, tokens[head].word) == bool(ends[0])
    return True


def _part(tokens: tuple[Token, ...], place: int, head: int) -> Part | None:
    """Return the part of the thing named at ``place`` in what the word at ``head`` says."""
    first = head
    while first and tokens[first - 1].word in PAST_WORDS:
        first -= 1
    before = tokens[first - 1].word if first else ""
    after = tokens[head + 1].word if head + 1 < len(tokens) else ""
    if before in {"what", "which"}:
        return None
    if before == "whose":
        return "doer"
    if place < head:
        if tokens[place].is_possessive:
            return "owner"
        return "receiver" if after == "by" else "doer"
    if after in {"of", "for", "to"} and (after == "of" or before in {"the", "a", "an"}):
        return "owner"
    return "receiver"


def _does(words: Collection[str]) -> bool:
    return not {"do", "does", "did"}.isdisjoint(words)

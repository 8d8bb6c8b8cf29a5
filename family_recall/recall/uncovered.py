"""What a question names that the first result says nothing about: *the printer at the office*."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import numpy as np

from family_recall.english.kinship import KINSHIP_ROLES
from family_recall.english.text import normalise
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking.bm25 import covers
from family_recall.store.words import stem_number
from family_recall.types import IdArray

CLOSE: Final = 0.8
"""Cosine of tokens from which a memory has a word of like meaning."""

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def uncovered(
    context: QueryContext, ranking: Ranking, token_ids: Callable[[str], IdArray] | None
) -> tuple[str, ...]:
    """Return what a question names and its first candidate says nothing about.

    People and things it does not mention, and words for where, of what or for whom something is
    (*at the office*, *for the cat*) of which it holds none, nor a word that comes close. What it
    replies to counts as said.

    Args:
        context: The question.
        ranking: Candidates, the best first; at least one.
        token_ids: Returns the token ids of a word, as the question's; None without token vectors.
    """
    first = int(ranking.order[0])
    rows = [first]
    if first in ranking.reply_to:
        rows.append(ranking.reply_to[first])
    qualifying = context.plan.asked.qualifying
    if qualifying:
        qualifying -= _elsewhere_read(context, qualifying)
    asked = {
        stem_number(stem): word
        for word, stem in context.plan.terms
        if word.casefold() in qualifying
    }
    words = []
    if asked:
        held = np.logical_or.reduce(covers(ranking.rows, asked, np.array(rows)))
        words = [
            word
            for word, is_held in zip(asked.values(), held.tolist(), strict=True)
            if not is_held and not _comes_close(context, ranking, rows, token_ids, word)
        ]
    return tuple(dict.fromkeys((*_unmentioned(context, ranking, rows), *words)))


def _elsewhere_read(context: QueryContext, qualifying: frozenset[str]) -> set[str]:
    """Return the words that stand for a time, for somebody known or for a relative.

    Of relatives, those among the ``qualifying`` words.
    """
    plan, question = context.plan, context.request.query_text
    words = set(plan.name_words)
    for first, last in plan.timespan_words:
        words.update(word.casefold() for word in _WORD.findall(question[first:last]))
    if relatives := qualifying & KINSHIP_ROLES.keys():
        words |= relatives.intersection(map(normalise, _WORD.findall(question)))
    return words


def _unmentioned(context: QueryContext, ranking: Ranking, rows: list[int]) -> list[str]:
    """Return the names of the people and things a question names and no row mentions."""
    if not context.plan.entities:
        return []
    entities = {entity.id: entity for entity in context.plan.entities}
    authors = {ranking.rows.authors[row] for row in rows}
    present = authors | {context.scope.person_id}
    # *Grandma Elsa*, as she was heard, is the Elsa that the question asks about.
    heard = {word for author in authors for word in normalise(author or "").split()}
    absent = [
        entity
        for entity in entities.values()
        if (entity.person_id is None or entity.person_id not in present)
        and not heard.issuperset(normalise(entity.name).split())
    ]
    if not absent:
        return []
    ids = ranking.rows.ids[rows]
    pairs = context.snapshot.mentions(ids, list(entities), context.scope)
    mentioned = {entities[entity] for _, entity in pairs}
    names = {entity.name for entity in mentioned}
    people = {entity.person_id for entity in mentioned} - {None}
    unmentioned = [
        entity.name
        for entity in absent
        if entity.name not in names and entity.person_id not in people
    ]
    if unmentioned and _holds_role(context, ranking, rows):
        # *Grandma lands at 6:40* is about the grandma that the question asks about.
        asked = normalise(context.request.query_text)
        unmentioned = [name for name in unmentioned if normalise(name) in asked]
    return unmentioned


def _holds_role(context: QueryContext, ranking: Ranking, rows: list[int]) -> bool:
    """Whether a row holds a word for a relative by which the question names one."""
    words = map(normalise, _WORD.findall(context.request.query_text))
    stems = {
        stem_number(stem)
        for word in words
        if word in KINSHIP_ROLES
        for _, stem in context.snapshot.stems(word)
    }
    return bool(stems) and bool(ranking.rows.counts_of(stems)[rows][..., 0].any())


def _comes_close(
    context: QueryContext,
    ranking: Ranking,
    rows: list[int],
    token_ids: Callable[[str], IdArray] | None,
    word: str,
) -> bool:
    if token_ids is None or ranking.closest is None or context.question is None:
        return False
    tokens = (context.question.token_ids[:, None] == token_ids(word)).any(axis=1)
    is_close = ranking.closest[rows][:, tokens] >= CLOSE
    return bool(tokens.any()) and bool(is_close.all(axis=1).any())

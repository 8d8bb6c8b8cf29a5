"""What an answer covers: the current facts of a question, and what its first result leaves open."""

from __future__ import annotations

import datetime as dt
import difflib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

import numpy as np

from family_recall.english.kinship import FAMILY_LINKS, KINSHIP_ROLES
from family_recall.english.text import Words, normalise
from family_recall.english.things import is_said_of_things, things_asked
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.question.entities import Mention
from family_recall.recall.question.relatives import names_of
from family_recall.recall.ranking.bm25 import covers, question_weights
from family_recall.recall.ranking.owners import read_owners
from family_recall.store.memories import MemoryRow, epoch_s
from family_recall.store.scope_sql import among
from family_recall.store.words import stem_number
from family_recall.types import BoolArray, IdArray, parse_moment

MAX_FACTS = 32
"""Facts of an answer, and of the candidates past its results those that are read."""

CLOSE: Final = 0.8
"""Cosine of tokens from which a memory has a word of like meaning."""
AKIN: Final = 0.76
"""The same where all else is held: *maths* is less like *physics*, *sofa* more like *couch*."""
_ALIKE = 0.8
"""Likeness of two words from which one may be the other, misspelt."""
_FEW_WORDS = 20
"""A text of so many tells one thing: a longer one may tell of it in words of its own."""

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def stated_facts(
    context: QueryContext,
    ranking: Ranking,
    results: Mapping[int, MemoryRow],
    zone: dt.tzinfo | None,
    *,
    is_sure: bool,
) -> dict[str, str]:
    """Collect what the candidates state, by key, the best candidate's first.

    Those count that share a word with the question, or all of them if it asks for whatever is
    known about somebody; and the first, if it surely answers. Of two facts of one key the newer is
    told.

    Args:
        context: The question; one that asks for no fact has none.
        ranking: All candidates.
        results: Those that are returned, by row id.
        zone: Where a naive moment is read.
        is_sure: Whether the first surely answers.
    """
    if context.plan.strategy != "FACTUAL" and context.plan.breadth == "one":
        return {}
    concerned = _concerned(context, ranking, is_sure=is_sure)
    more = concerned[~among(concerned, np.array(list(results), np.int64))]
    more = context.snapshot.having_facts(more, context.scope)[:MAX_FACTS]
    shown = [row for memory, row in results.items() if memory in concerned]
    left_ms = context.deadline.remaining_ms
    loaded = context.snapshot.memories(more, context.scope, lambda _: left_ms() <= 0.0)
    memories = [*shown, *loaded]
    stating = {row.id for row in memories if row.fact_key}
    ids = ranking.rows.ids.tolist()
    # A successor that states a fact itself replaces those of its own key alone.
    replaced = {
        ids[row]
        for row, successor in ranking.superseded_by.items()
        if ids[successor.row] not in stating
    }
    newest: dict[str, tuple[float, int, str]] = {}
    for row in memories:
        if row.fact_key and row.fact_value and row.id not in replaced:
            fact = (_since_s(row, zone or dt.UTC), row.id, row.fact_value)
            newest[row.fact_key] = max(fact, newest.get(row.fact_key, fact))
    return {key: value for key, (_, _, value) in list(newest.items())[:MAX_FACTS]}


def _since_s(row: MemoryRow, zone: dt.tzinfo) -> float:
    """Return when a fact holds from, or else was said, or else was recorded."""
    if row.valid_from_s is not None:
        return row.valid_from_s
    occurred_s = epoch_s(parse_moment(row.occurred_at, "occurred_at"), zone)
    return row.recorded_s if occurred_s is None else occurred_s


def _concerned(context: QueryContext, ranking: Ranking, *, is_sure: bool) -> IdArray:
    """Return the row ids of the candidates that the question concerns, best first."""
    order = ranking.order
    if context.plan.breadth != "about":
        shares_word = _shares_word(context, ranking)
        if is_sure:
            shares_word[:1] = True
        order = order[shares_word]
    ids: IdArray = ranking.rows.ids[order]
    return ids


def _shares_word(context: QueryContext, ranking: Ranking) -> BoolArray:
    """Return which candidates (n), in order, share a word with the question.

    In their text or their labels. The name of somebody counts only where nothing else is asked, or
    each fact about Mira would concern what she is allergic to; and in their text alone, or whatever
    she wrote would concern a question about her.
    """
    weights, order = question_weights(context), ranking.order
    held = covers(ranking.rows, weights, order)
    names = context.plan.name_words
    is_name = np.array([word.casefold() in names for word, _ in context.plan.terms], np.bool_)
    if is_name.all():
        held = covers(ranking.rows, weights, order, header=False)
    return np.asarray(held[:, ~is_name | is_name.all()].any(axis=1))


def uncovered(
    context: QueryContext, ranking: Ranking, token_ids: Callable[[str], IdArray] | None
) -> tuple[str, ...]:
    """Return what a question names and its first candidate says nothing about.

    People and things it does not mention, and words for where, of what or for whom something is
    (*at the office*, *for the cat*) of which it holds none, nor a word that comes close; and a
    thing that it has another instead of. What it replies to, and what it replaced, counts as said.

    Args:
        context: The question.
        ranking: Candidates, the best first; at least one.
        token_ids: Returns the token ids of a word, as the question's; None without token vectors.
    """
    first = int(ranking.order[0])
    rows = [first]
    if first in ranking.reply_to:
        rows.append(ranking.reply_to[first])
    rows += [older for older, by in ranking.superseded_by.items() if by.row == first]
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
        told = set() if held.all() else _words_of(context, ranking, rows)
        words = [
            word
            for word, is_held in zip(asked.values(), held.tolist(), strict=True)
            if not is_held
            and not _is_spelt(word.casefold(), told)
            and not _comes_close(context, ranking, rows, token_ids, word, CLOSE)
        ]
    if first in ranking.owned and ranking.owned[first].telling == "another day's":
        spans = context.plan.timespan_words
        words += [context.request.query_text[begin:end] for begin, end in spans]
    untold, known = _owners(context, ranking, first)
    unmentioned = [name for name in _unmentioned(context, ranking, rows) if name not in known]
    if not (untold or unmentioned or words):
        words = _another_thing(context, ranking, rows, token_ids)
    return tuple(dict.fromkeys((*untold, *unmentioned, *words)))


def _another_thing(
    context: QueryContext,
    ranking: Ranking,
    rows: list[int],
    token_ids: Callable[[str], IdArray] | None,
) -> list[str]:
    """Return the things asked about, where a short text holds all else that is asked.

    *Mr Hughes teaches Isla physics* is not who teaches her maths.
    """
    plan, question = context.plan, Words.of(context.request.query_text)
    if ranking.rows.n_words[rows[0]] > _FEW_WORDS:
        return []
    skipped = _elsewhere_read(context, frozenset())
    skipped |= {word for owner in plan.owners for word in owner.words.split(" ")}
    skipped |= {word for word in question.plain if _is_relative(word)}
    things = things_asked(question, skipped)
    in_things = {word for thing in things for word in thing}
    lacking = {}
    for number, (word, stem) in enumerate(plan.terms if things else ()):
        plain = word.casefold()
        if plain in skipped or (plain not in in_things and is_said_of_things(plain)):
            continue
        alike = [related.stem for related in plan.related_words if related.term == number]
        stems = list(map(stem_number, (stem, *alike)))
        if not covers(ranking.rows, stems, np.array(rows)).any():
            lacking[plain] = word
    if not lacking or not lacking.keys() <= in_things:
        return []
    if not covers(ranking.rows, [stem_number(s) for _, s in plan.terms], np.array(rows)).any():
        return []
    told = _words_of(context, ranking, rows)
    unsaid = {
        plain
        for plain, word in lacking.items()
        if not _is_spelt(plain, told)
        and not _comes_close(context, ranking, rows, token_ids, word, AKIN)
    }
    return [" ".join(thing) for thing in things if not unsaid.isdisjoint(thing)]


def _words_of(context: QueryContext, ranking: Ranking, rows: list[int]) -> set[str]:
    statements = context.snapshot.statements(ranking.rows.ids[rows], context.scope)
    return {word for each in statements.values() for word in Words.of(each.text).plain}


def _is_relative(word: str) -> bool:
    return word in KINSHIP_ROLES and KINSHIP_ROLES[word].link in FAMILY_LINKS


def _is_spelt(word: str, told: Collection[str]) -> bool:
    """Whether one of some words is short for a word, or is it misspelt: *appt*, *colour*."""
    return bool(difflib.get_close_matches(word, told, 1, _ALIKE)) or any(
        len(other) > 2 and len(word) > 2 and (word.startswith(other) or other.startswith(word))
        for other in told
    )


def _owners(
    context: QueryContext, ranking: Ranking, first: int
) -> tuple[Sequence[str], Sequence[str]]:
    """Return of whom a question asks and the first candidate tells nothing, and of whom it does."""
    owners = context.plan.owners
    if not owners:
        return (), ()
    owned = ranking.owned.get(first) or read_owners(context, ranking, [first])[first]
    words = Words.of(context.request.query_text)
    names = [name for owner in owners for name in names_of(owner.entities) or [_said(words, owner)]]
    if owned.telling == "theirs":
        return (), names
    if owned.telling == "another day's":
        return (), ()
    if owned.telling == "open":
        return [_said(words, owner) for owner in owners if not owner.entities], ()
    return names, ()


def _said(words: Words, owner: Mention) -> str:
    """Return how a question calls somebody."""
    return words.said(owner.first, owner.first + owner.words.count(" "))


def _elsewhere_read(context: QueryContext, qualifying: frozenset[str]) -> set[str]:
    """Return the words that stand for a time, for somebody known or for a relative."""
    question = context.request.query_text
    words = {*context.plan.name_words, *(qualifying & KINSHIP_ROLES.keys())}
    for first, last in context.plan.timespan_words:
        words.update(word.casefold() for word in _WORD.findall(question[first:last]))
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
    least: float,
) -> bool:
    if token_ids is None or ranking.closest is None or context.question is None:
        return False
    tokens = (context.question.token_ids[:, None] == token_ids(word)).any(axis=1)
    is_close = ranking.closest[rows][:, tokens] >= least
    return bool(tokens.any()) and bool(is_close.all(axis=1).any())

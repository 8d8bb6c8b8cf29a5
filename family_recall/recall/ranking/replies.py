"""What was asked before: replies become candidates and stand above questions, which lose score.

A stored question is no answer. One that asks and states nothing loses a share of its score, by a
declared feature. Where it asks what the question asks and would still be first, it loses as much as
puts it behind the best memory that states something; with nothing else there, nearly all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from family_recall.english import BITS, Question, Statement, mask_of, mask_of_kinds
from family_recall.recall.dataflow import Pool, QueryContext, Ranking, Run
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.ranker import MARGIN, rescored, takes_over
from family_recall.recall.runner import Runner
from family_recall.store.memory_queries import Turn
from family_recall.types import BoolArray, IdArray

OPENER: Final = 0.8
"""Share of the best score that a memory has to have, for the turns after it to be compared."""

_EACH: Final = 2  # replies to one question that become candidates

TURNS: Final = 3
"""Turns after a question among which its reply is looked for."""

TOLD: Final = frozenset(("time", "day", "date", "money", "amount", "size", "number", "colour"))
"""Kinds of values that a few words, or another question, tell in passing."""

LEAST: Final = 0.3
"""Plausibility below which a turn is no reply."""

_BY_PLACE = (1.0, 0.8, 0.65)
_OWN_ANSWER = 0.6  # by who asked
_COMMENT = 0.3  # by who asked, after somebody else has replied
_EVADES = 0.15
_COUNTERED = 0.7  # somebody else asked in between
_OTHER_KIND = 0.75  # tells nothing of the kind asked for …
_RIGHT_KIND = 1.3  # … or something
_CORRECTS = 1.7
_TELLS_OTHERWISE = 1.4  # somebody else tells something of that kind later
_LONGEST_ELLIPSIS = 14  # words
_LONGEST_REPLY = 40  # words; a longer one needs no context, and what follows is no reply

_ASKS = mask_of("asks", "only_asks")
_FEW = 8  # words

SHARE: Final = 0.15
"""Share of its score that a stored question loses."""

ALONE: Final = 0.1
"""Share of the best score that is left to it where there is nothing but questions."""

LONGEST: Final = 16
"""Words of a question that states nothing; a longer one takes much for granted, and so tells it."""

REPEATS: Final = 0.8
"""BM25 from which a memory has about all words of the question."""

ASKS_THE_SAME: Final = 0.85
"""Late interaction from which each word of the question has one of like meaning in a memory."""


def find_replies(run: Runner, context: QueryContext, pool: Pool) -> Run:
    """Find the replies to what is asked in the best of what words and vectors found."""
    nothing = Run.empty("replies")
    n = min(len(pool.ids), context.config.reply_pool)
    if n == 0 or context.plan.asked.asks_about_asking or not run.can_start("replies", n):
        return nothing

    def find() -> Run:
        best = pool.ids[:n]
        place = {question: at for at, question in enumerate(best.tolist())}
        found = [r for each in _replies(context, best, _openers(context)) for r in each[:_EACH]]
        found.sort(key=lambda reply: (place[reply.question], -reply.plausibility))
        ids = list(dict.fromkeys(reply.id for reply in found))
        scores = 1.0 / (1.0 + np.arange(len(ids), dtype=np.float32))
        return Run("replies", np.array(ids, np.int64), scores)

    return run.run("replies", n, find, nothing)


def promote_replies(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Place each reply directly above what it replies to, and withhold score from questions."""
    best = ranking.order[: context.config.reply_pool]
    if not len(best) or context.plan.asked.asks_about_asking:
        return ranking
    asks = ranking.rows.cues[best] & BITS["asks"] != 0
    if n_any := _openers(context):
        score = ranking.score[best]
        asks[:n_any] |= score[:n_any] >= OPENER * score[0]
    n = int(asks.sum())
    if n == 0 or run.is_disabled("replies", n):
        return ranking
    if not run.can_start("replies", n):
        return withhold(context, ranking)
    return run.run("replies", n, lambda: _promoted(context, ranking, best[asks]), ranking)


def _promoted(context: QueryContext, ranking: Ranking, asking: IdArray) -> Ranking:
    """Carry out the moves from the last question to the first, so that each reply stays above."""
    rows = {memory: row for row, memory in enumerate(ranking.rows.ids.tolist())}
    replies = _replies(context, ranking.rows.ids[asking], len(asking))
    by_question = {rows[each[0].question]: each for each in replies if each}
    least = OPENER * ranking.score[ranking.order[0]]
    moves: list[tuple[int, int]] = []
    reply_to: dict[int, int] = {}
    for question in reversed(asking.tolist()):
        placed = [rows[r.id] for r in by_question.get(question, ()) if r.id in rows]
        reply_to |= dict.fromkeys(placed, question)
        # The turns after a question that is hardly like the one asked are in their own places.
        others = placed[1:] if ranking.score[question] >= least else ()
        moves += [(first, below) for first in placed[:1] for below in (question, *others)]
    promoted = takes_over(ranking, moves)
    return withhold(context, replace(promoted, reply_to=reply_to))


def _replies(context: QueryContext, ids: IdArray, n_any: int) -> list[Sequence[Reply]]:
    """Return the replies to each of some memories that ask, and to the first few, best first."""
    turns = context.snapshot.turns_after(ids, BITS["asks"], n_any, context.scope, TURNS)
    return [
        replies_to(after)
        if after[0].says & BITS["asks"]
        else answer_after(after, context.plan.asked)
        for after in turns.values()
        if after
    ]


def _openers(context: QueryContext) -> int:
    """Return how many of the best may leave open what the question asks for."""
    asked = context.plan.asked
    tells = asked.kinds & TOLD or asked.asks_who
    return context.config.openers if tells else 0


class Reply(msgspec.Struct, frozen=True):
    """A turn that may be the reply to a memory, by row ids, with its plausibility above 0."""

    question: int
    id: int
    plausibility: float


def replies_to(turns: Sequence[Turn]) -> list[Reply]:
    """Return the turns after one question that may be its reply, most plausible first.

    A turn that asks again, or says that it does not know, is none. One that denies another, or in
    which somebody else tells otherwise, comes before it; what the person who asked says about a
    reply comes after it.

    Args:
        turns: The turns after one question, in order.
    """
    if not turns:
        return []
    asked = Question(turns[0].asked)
    kinds, wants_somebody = mask_of_kinds(asked.kinds), asked.asks_who
    by_kind = (_OTHER_KIND, _RIGHT_KIND) if kinds or wants_somebody else (1.0, 1.0)
    replied: dict[str | None, bool] = {}  # whether what each of them said told what was asked
    replies, is_countered = [], False
    for turn in turns:
        n_words = len(turn.text.split())
        if n_words > _LONGEST_REPLY:
            break
        if turn.cues & _ASKS:
            is_countered = is_countered or turn.author != turn.asker
            continue
        statement, factor = Statement(turn.text), _BY_PLACE[turn.place - 1]
        if statement.evades:
            factor *= _EVADES
        else:
            tells = statement.names_somebody if wants_somebody else turn.cues & kinds != 0
            by_content = by_kind[tells]
            others = [told for author, told in replied.items() if author != turn.author]
            if others and statement.denies:
                factor *= _CORRECTS * max(by_content, 1.0)
            elif turn.author != turn.asker:
                factor *= by_content * (_TELLS_OTHERWISE if tells and any(others) else 1.0)
            else:
                # To an assistant people say one thing after another: they have to say that they
                # found it, or in a few words what was asked for.
                answers = is_countered or statement.finds or (tells and n_words <= _FEW)
                factor *= by_content * (_COMMENT if others else _OWN_ANSWER * answers)
            replied[turn.author] = tells or replied.get(turn.author, False)
        factor *= _COUNTERED if is_countered else 1.0
        if factor >= LEAST:
            replies.append(Reply(turn.question, turn.id, factor))
    return sorted(replies, key=lambda reply: (-reply.plausibility, reply.id))


def answer_after(turns: Sequence[Turn], question: Question) -> list[Reply]:
    """Return the turn after a statement that tells what it leaves open; at most one.

    *I booked Tom's dentist* is followed by *Thursday at four*: asked when it is, a short turn that
    tells something of the kind asked for is the answer, if the statement tells nothing of it.

    Args:
        turns: The turns after one statement, in order.
        question: What is asked now.
    """
    # When something happened is told by the moment of the memory itself.
    kinds = frozenset[str]() if question.asks_when_it_was else question.kinds & TOLD
    of_kinds = mask_of_kinds(kinds)
    if not turns or turns[0].says & of_kinds:
        return []
    for turn in turns:
        if turn.cues & _ASKS or len(turn.text.split()) > _LONGEST_ELLIPSIS:
            continue
        is_them = (
            question.asks_who and turn.author != turn.asker and Statement(turn.text).volunteers
        )
        if is_them or turn.cues & of_kinds:
            return [Reply(turn.question, turn.id, _BY_PLACE[turn.place - 1])]
    return []


def withhold(context: QueryContext, ranking: Ranking) -> Ranking:
    """Withhold score from the candidates that ask and state nothing.

    Returns:
        The ranking in the order of the new scores; the same one if none of them only asks.
    """
    order, rows, features = ranking.order, ranking.rows, ranking.features
    # Whether a memory says all that the question says, in its words or in others.
    repeats = features[:, INDEX["bm25"]] >= REPEATS
    repeats |= features[:, INDEX["maxsim"]] >= ASKS_THE_SAME
    only_asks = (rows.cues & BITS["only_asks"]) != 0
    only_asks = (only_asks & ((rows.n_words <= LONGEST) | repeats))[order]
    if not only_asks.any():
        return ranking
    # *Who drives us on Friday?* tells when that is, in asking something else.
    tells = (rows.cues & mask_of_kinds(context.plan.asked.kinds & TOLD)) != 0
    echoes = only_asks & ~(tells & ~repeats)[order]
    features = features.copy()
    lost = withheld(ranking.score[order].astype(np.float64), only_asks, echoes)
    features[order, INDEX["withheld"]] = lost.astype(np.float32)
    return rescored(ranking, features)


def withheld(
    score: npt.NDArray[np.float64], only_asks: BoolArray, echoes: BoolArray
) -> npt.NDArray[np.float64]:
    """Return how much of its score each candidate loses, (n,), 0 or more.

    Args:
        score: Shape (n,), best first.
        only_asks: Which of them ask and state nothing, (n,).
        echoes: Which of those ask what the question asks, (n,).
    """
    lost = np.where(only_asks, SHARE * np.maximum(score, 0.0), 0.0)
    if not echoes.any():
        return lost
    others = (score - lost)[~echoes]
    ceiling = float(others.max()) if len(others) else ALONE * max(float(score.max()), 0.0)
    # In their own order, each one a margin below the one before.
    ceilings = ceiling - MARGIN * np.cumsum(echoes)
    return np.where(echoes, np.maximum(lost, score - ceilings), lost)

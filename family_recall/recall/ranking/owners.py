"""Whose fact a candidate tells, against whom the question asks of.

*Dad's blood group is A positive* has all the words of *What is Mum's blood group?* but one, and no
score of words or vectors tells them apart. So of the best candidates it is read whether they tell
of the one who is asked about: by name, by kin word as its author means it, or in the first person
of that author. One that tells of somebody else loses most of its score, and never answers. So does
one that says *today* of another day, where the question asks of *today*.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from family_recall.english import values_in
from family_recall.english.kinship import FAMILY_LINKS, KINSHIP_ROLES, kin_phrases
from family_recall.english.owners import (
    I_AM,
    OURSELVES,
    PRONOUNS,
    YOU,
    acts,
    asks_what_was_said,
    owned_by,
    told_of,
)
from family_recall.english.text import STOP_WORDS, Words, normalise
from family_recall.english.times import is_relative
from family_recall.recall.dataflow import Owned, QueryContext, Ranking, Telling
from family_recall.recall.question.entities import Mention
from family_recall.recall.question.relatives import Kinship, is_same
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.ranker import rescored
from family_recall.recall.runner import Runner
from family_recall.store.graph import Entity
from family_recall.store.memory_queries import Statement
from family_recall.store.words import split
from family_recall.types import IdArray

FIRST, MOST = 3, 12
"""Candidates that are read: the first few, and more of them if one tells of somebody else."""
KEPT: Final = 0.25
"""Share of its score that is left to what tells of somebody else …"""
AS_NEAR: Final = 0.5
"""… where another candidate has this share of it: nothing unlike it stands above the closest."""
AS_NEAR_ON_DAY: Final = 0.7
"""The same of another day, where the other candidate is of the day that is asked about."""
_CHARS = 400
"""Characters of a text that are read: a longer one tells of several people."""
_ALIKE = 0.7
"""Likeness of two names from which one may be the other, misspelt."""


def set_others_back(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Withhold score from what tells of somebody else than is asked about, or of another day."""
    n, plan = min(len(ranking), MOST), context.plan
    is_asked = bool(plan.owners) or (plan.days_s is not None and not plan.about_time_alone)
    if not is_asked or not n or not run.can_start("owners", n):
        return ranking

    def read() -> Ranking:
        rows = ranking.order[:n].tolist()
        owned = read_owners(context, ranking, rows[:FIRST])
        if not any(each.is_elsewhere for each in owned.values()):
            return replace(ranking, owned=owned)
        owned |= read_owners(context, ranking, rows[FIRST:])
        best = np.array(list(owned), np.int64)
        is_anothers = np.array([each.is_elsewhere for each in owned.values()])
        score = np.maximum(ranking.score[best], 0.0)
        near = score[~is_anothers].max(initial=0.0)
        on_day = np.array([each.is_on_day for each in owned.values()])
        near_on_day = score[~is_anothers & on_day].max(initial=0.0)
        is_days = np.array([each.telling == "another day's" for each in owned.values()])
        is_set_back = is_anothers & np.where(
            is_days, near_on_day >= AS_NEAR_ON_DAY * score, near >= AS_NEAR * score
        )
        if not is_set_back.any():
            return replace(ranking, owned=owned)
        features = ranking.features.copy()
        others = best[is_set_back]
        lost = (1.0 - KEPT) * score[is_set_back]
        features[others, INDEX["withheld"]] += lost.astype(np.float32)
        return replace(rescored(ranking, features), owned=owned)

    return run.run("owners", n, read, ranking)


def read_owners(context: QueryContext, ranking: Ranking, rows: Sequence[int]) -> dict[int, Owned]:
    """Return what some rows tell of those whom the question asks of, and of its day."""
    scope, snapshot = context.scope, context.snapshot
    ids, authors = ranking.rows.ids[list(rows)], ranking.rows.authors
    statements = snapshot.statements(ids, scope)
    days = _days_told(context, ids, statements)
    if not context.plan.owners:
        return {row: days[memory] for row, memory in zip(rows, ids.tolist(), strict=True)}
    texts = {
        row: Words.of(statements[memory].text[:_CHARS])
        for row, memory in zip(rows, ids.tolist(), strict=True)
        if memory in statements
    }
    # All texts at once, with a word between that is in no name.
    plain = [word for words in texts.values() for word in (*words.plain, "|")]
    known: dict[str, list[Entity]] = {}
    for alias, entity in snapshot.entities_in(plain, scope):
        known.setdefault(alias, []).append(entity)
    aliases = {
        author: (f"@{author}", normalise(author))
        for author in {authors[row] for row in texts}
        if author is not None
    }
    named: dict[str, list[Entity]] = {}
    for alias, entity in snapshot.entities([a for pair in aliases.values() for a in pair], scope):
        named.setdefault(alias, []).append(entity)
    asked, kinship = _Asked.of(context), Kinship(scope, snapshot)
    owned = {
        row: _Reading(
            words,
            known,
            tuple(
                [e for alias in aliases.get(authors[row] or "", ()) for e in named.get(alias, ())]
            ),
            kinship,
        ).told(asked)
        for row, words in texts.items()
    }
    for row, memory in zip(rows, ids.tolist(), strict=True):
        if row in owned and days:
            other = days[memory].telling == "another day's"
            owned[row] = (
                days[memory] if other else owned[row]._replace(is_on_day=days[memory].is_on_day)
            )
    return owned


def _days_told(
    context: QueryContext, ids: IdArray, statements: Mapping[int, Statement]
) -> dict[int, Owned]:
    """Return which memories are of the days asked about, and which say *today* of other days."""
    if context.plan.days_s is None:
        return {}
    start, end = context.plan.days_s
    times = context.snapshot.mentioned_times(ids, context.scope)
    inside = set(times.ids[(times.start_s < end) & (times.end_s > start)].tolist())
    told = dict.fromkeys(ids.tolist(), Owned("open"))
    for memory, statement in statements.items():
        if memory in inside or start <= statement.said_s < end:
            told[memory] = Owned("open", is_on_day=True)
        elif len(statement.text) <= _CHARS and is_relative(statement.text):
            told[memory] = Owned("another day's")
    return told


class _Asked(NamedTuple):
    """Whom a question asks of, each with the words for what of theirs it asks.

    ``topic`` are the stems of all words that name nobody, ``named`` everybody it names.
    ``is_vague``: one of them is unknown, and may be a thing: *the car's insurance*; ``is_said``: it
    asks what somebody said.
    """

    owners: tuple[tuple[Mention, frozenset[str]], ...]
    is_vague: bool
    is_said: bool
    topic: frozenset[str]
    named: tuple[Entity, ...]

    @classmethod
    def of(cls, context: QueryContext) -> _Asked:
        plan, words = context.plan, Words.of(context.request.query_text)
        names = {
            *plan.name_words,
            *(word for owner in plan.owners for word in owner.words.split(" ")),
        }
        topic = frozenset(stem for word, stem in plan.terms if word.casefold() not in names)
        owners = [
            (owner, frozenset(owned_by(words, owner.first + owner.words.count(" "))))
            for owner in plan.owners
        ]
        is_vague = any(
            not (owner.entities or owner.possible or owner.role)
            and words.written[owner.first][0].islower()
            for owner in plan.owners
        )
        return cls(tuple(owners), is_vague, asks_what_was_said(words), topic, plan.entities)


class _Somebody(NamedTuple):
    """Somebody a text speaks of, with what it tells of them and what it says they have.

    ``entities`` are empty for who is unknown; ``noun`` is a kin word, if they are called by one.
    """

    said: str
    entities: tuple[Entity, ...] = ()
    noun: str = ""
    told: str = ""
    verb: str = ""
    has: tuple[str, ...] = ()

    def is_told(self, topic: frozenset[str]) -> bool:
        """Whether the text tells something of them that the question asks for.

        What somebody did tells of them only where the question asks for that.
        """
        if not topic.isdisjoint(stem for word in self.has for _, stem in split(word)):
            return True
        if not self.told or (self.verb and topic.isdisjoint(stem for _, stem in split(self.verb))):
            return False
        return not topic.isdisjoint(stem for _, stem in split(self.told))


class _Reading:
    """Of whom a text tells, as its author means it."""

    def __init__(
        self,
        words: Words,
        known: Mapping[str, Sequence[Entity]],
        author: tuple[Entity, ...],
        kinship: Kinship,
    ) -> None:
        self._words, self._author = words, author
        self._plain = frozenset(words.plain)
        used: set[int] = set()
        self._people = [
            *self._relatives(known, kinship, used),
            *self._named(known, used),
            *self._strangers(used),
            *self._authors(used),
        ]
        self._is_own = any(
            word in OURSELVES for at, word in enumerate(words.plain) if at not in used
        )

    def told(self, asked: _Asked) -> Owned:
        """Return what it tells of whom a question asks of: of the one it tells most of."""
        told = [self._told_of(owner, things, asked) for owner, things in asked.owners]
        best = min(told, key=lambda each: _ORDER.index(each.telling))
        if best.telling == "another's" and (asked.is_vague or self._names(asked.named)):
            return Owned("absent")
        return best

    def _told_of(self, owner: Mention, things: frozenset[str], asked: _Asked) -> Owned:
        if having := [person for person in self._people if not things.isdisjoint(person.has)]:
            return self._had(owner, having)
        if self._holds_name_of(owner) or any(_is(person, owner) for person in self._people):
            return Owned("theirs")
        is_author = _are_one(self._author, owner.entities or owner.possible)
        if is_author and (self._is_own or asked.is_said):
            return Owned("theirs")
        if not is_author and self._may_tell_of(owner):
            return Owned("open")
        told = [person for person in self._people if person.is_told(asked.topic)]
        if told and (not is_author or told[0].entities or told[0].noun):
            return Owned("another's", told[0].said)
        if is_author:
            return Owned("open" if self._people else "theirs")
        return Owned("absent" if self._people or self._is_own else "open")

    def _had(self, owner: Mention, having: Sequence[_Somebody]) -> Owned:
        """Return what it tells of somebody, where it says who has what is asked for."""
        if any(_is(person, owner) for person in having):
            return Owned("theirs")
        if self._holds_name_of(owner) and not owner.entities:
            return Owned("open")
        if any(_may_be(person, owner) for person in having):
            return Owned("open")
        return Owned("another's", having[0].said)

    def _may_tell_of(self, owner: Mention) -> bool:
        """Whether somebody whom it does not name may be whom the question asks of."""
        return (
            any(_may_be(person, owner) for person in self._people)
            or not self._plain.isdisjoint(PRONOUNS)
            or not self._plain.isdisjoint(YOU)
        )

    @property
    def _author_name(self) -> str:
        return self._author[0].name if self._author else ""

    def _names(self, entities: Sequence[Entity]) -> bool:
        """Whether it is about some people or things, or by one of them."""
        return any(_are_one(person.entities, entities) for person in self._people)

    def _holds_name_of(self, owner: Mention) -> bool:
        """Whether the words of a name are in it, though it takes them for no name."""
        names = [normalise(entity.name).split(" ") for entity in owner.entities]
        if not owner.entities and not owner.role:
            names.append(owner.words.split(" "))
        return any(self._plain.issuperset(name) for name in names)

    def _relatives(
        self, known: Mapping[str, Sequence[Entity]], kinship: Kinship, used: set[int]
    ) -> Iterator[_Somebody]:
        # *Mum*, as her own children call the author, is to herself her mother.
        others = {
            alias: entities
            for alias, entities in known.items()
            if alias not in KINSHIP_ROLES or not _are_one(entities, self._author)
        }
        for phrase in kin_phrases(self._words, others):
            first, last = phrase.span(len(phrase.roles))
            used.update(range(first, last + 1))
            if phrase.is_named:
                continue
            whose = tuple(others[phrase.owner]) if phrase.owner else self._author
            if phrase.owner is None:
                whose = ()
            n, noun = 0, ""
            for role in phrase.roles:
                kin = kinship.of(whose, role.kin)
                found = kin.entities or kin.possible
                if not found and role.kin.link not in _TIES:
                    break  # *Mum's dentist* is of her, whoever that is
                n, whose, noun = n + 1, found, role.noun
            first, last = phrase.span(n) if n else (phrase.first, phrase.last)
            if n or phrase.owner:
                yield self._somebody(first, last, whose, noun)
            else:
                used.difference_update(range(first, last + 1))

    def _named(self, known: Mapping[str, Sequence[Entity]], used: set[int]) -> Iterator[_Somebody]:
        beginnings = {alias.split(" ", maxsplit=1)[0] for alias in known}
        for at, word in enumerate(self._words.plain):
            is_name = word in beginnings and at not in used
            name = self._words.name_at(at, known) if is_name else ""
            if name:
                last = at + name.count(" ")
                used.update(range(at, last + 1))
                noun = name if name in KINSHIP_ROLES else ""
                yield self._somebody(at, last, tuple(known[name]), noun)

    def _strangers(self, used: set[int]) -> Iterator[_Somebody]:
        names = values_in(self._words.text, ["name"]).get("name", ())
        strange = {word for whole in names for word in whole.split()} - STOP_WORDS
        for at, word in enumerate(self._words.plain):
            if at not in used and word in strange:
                person = self._somebody(at, at)
                # Any word may have a capital where a text begins, and any title two.
                after = self._words.written[at + 1 : at + 2]
                is_name = bool(person.has) or (at > 0 and bool(after) and after[0].islower())
                yield person if is_name else person._replace(told="")

    def _authors(self, used: set[int]) -> Iterator[_Somebody]:
        for at, word in enumerate(self._words.plain):
            if at not in used and (word == "my" or word in I_AM):
                person = self._somebody(at, at, self._author)
                yield person._replace(said=self._author_name)

    def _somebody(
        self, first: int, last: int, entities: tuple[Entity, ...] = (), noun: str = ""
    ) -> _Somebody:
        words = self._words
        told, verb, has = told_of(words, first, last), acts(words, last), owned_by(words, last)
        return _Somebody(words.said(first, last), entities, noun, told, verb, has)


_TIES = FAMILY_LINKS - {"pet"}
_ORDER: Sequence[Telling] = ("theirs", "open", "absent", "another's")


def _is(person: _Somebody, owner: Mention) -> bool:
    """Whether somebody a text speaks of is whom the question asks of."""
    entities = owner.entities or owner.possible
    if entities or person.entities:
        return _are_one(person.entities, entities)
    if owner.role or person.noun:
        return owner.role == person.noun
    return normalise(person.said) == owner.words


def _may_be(person: _Somebody, owner: Mention) -> bool:
    """Whether somebody may be whom the question asks of, for all that is known."""
    if owner.words in ("my", "i"):  # who asks is a person; who spoke may be anybody
        if person.entities:
            return not any(entity.person_id for entity in person.entities)
        return not person.noun and _are_alike(owner, person)
    mine, theirs = KINSHIP_ROLES.get(owner.role), KINSHIP_ROLES.get(person.noun)
    if mine and theirs and not (owner.entities and person.entities):
        return mine.link == theirs.link and mine.sort in ("", theirs.sort)
    if not (owner.entities or owner.possible):  # who is asked about is unknown
        return bool(owner.role) or _are_alike(owner, person)
    return not person.entities and (bool(person.noun) or _are_alike(owner, person))


def _are_alike(owner: Mention, person: _Somebody) -> bool:
    """Whether two names may be one, misspelt."""
    names = [owner.words, *(normalise(entity.name) for entity in owner.entities)]
    others = [normalise(person.said), *(normalise(entity.name) for entity in person.entities)]
    return any(
        difflib.SequenceMatcher(None, name, other).ratio() >= _ALIKE
        for name in names
        for other in others
    )


def _are_one(entities: Iterable[Entity], others: Sequence[Entity]) -> bool:
    """Whether any are the same; *Grandma Elsa*, as she was heard, is Elsa."""
    return any(
        entity.id == other.id
        or is_same(entity, other)
        or is_same(other, entity)
        or (entity.person_id is None and _words_of(entity) >= _words_of(other))
        for entity in entities
        for other in others
    )


def _words_of(entity: Entity) -> frozenset[str]:
    return frozenset(normalise(entity.name).split(" "))

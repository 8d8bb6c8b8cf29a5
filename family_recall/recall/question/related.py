"""The relations of an answer: those that a question asks for, and those between what it names."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from family_recall.english.kinship import KINSHIP_ROLES, is_family_tie
from family_recall.english.relations import RelationWords, Wording
from family_recall.recall.question.entities import Mention, Resolution
from family_recall.recall.question.relatives import (
    credible_relations,
    in_all_partitions,
    in_every_partition,
    is_same,
)
from family_recall.store.graph import Entity
from family_recall.store.relations import StoredRelation
from family_recall.store.transaction import Snapshot
from family_recall.types import RelationResult, Scope

MAX_ANSWERING = 12
"""Relations that answer a question."""

MAX_OTHERS = 5
"""Other relations of an answer, between the things it names."""

MAX_PATH = 3
"""Relations on the longest path by which two are told to be related."""


READING_CERTAINTY = 0.95
"""How surely a question is understood to ask for a relation, where no word of it is left over."""


class Found(NamedTuple):
    """A relation for an answer: whether it answers, and the end asked for."""

    relation: StoredRelation
    answers: bool = False
    asked_for: Entity | None = None


class Related(msgspec.Struct, frozen=True):
    """The relations of an answer; ``evidence`` by row id: how sure the ones that answer are."""

    relations: tuple[RelationResult, ...] = ()
    evidence: Mapping[int, float] = msgspec.field(default_factory=dict)


def related(
    resolution: Resolution,
    scope: Scope,
    snapshot: Snapshot,
    *,
    zone: dt.tzinfo | None,
    time_words: Sequence[tuple[int, int]] = (),
    timespan_s: tuple[float, float] | None = None,
    asks_when: bool = False,
) -> Related:
    """Find the relations that a question asks for, best first, and then those it touches.

    Args:
        resolution: The question and what it names.
        scope: What the asker may see.
        snapshot: The file.
        zone: The household's zone.
        time_words: The characters of its words for a time.
        timespan_s: The time it speaks of, in epoch seconds; a past one asks for what held then.
        asks_when: Whether it asks for a time, which only a relation with a start can tell.
    """
    if not resolution.mentions and not resolution.asker_is_named:
        return Related()
    is_past = timespan_s is not None and timespan_s[1] < scope.as_of_s
    if timespan_s is not None and is_past:
        scope = dataclasses.replace(scope, as_of_s=timespan_s[1] - 1.0)
    mentions = [each for each in resolution.mentions if each.role or not _is_kind(each.words)]
    numbers = [each.words for each in mentions]
    named = {
        each.first: (each.words.count(" ") + 1, numbers.index(each.words)) for each in mentions
    }
    asker = len(mentions) if resolution.asker else -1
    wording = Wording(resolution.question, named, asker, time_words, snapshot.stems)
    mentions.append(Mention("i", resolution.asker))
    found = _asked(wording, mentions, scope, snapshot) if wording.named else []
    if is_past:
        found = [f for f in found if not f.answers or _held(f.relation, scope.as_of_s)]
    if asks_when or "long" in wording.words:
        found = [f for f in found if not f.answers or f.relation.valid_from_s is not None]
    others = _between(resolution.entities, scope, snapshot)
    return _results([*found, *others], scope, snapshot, zone)


def relations_of_asker(scope: Scope, snapshot: Snapshot, zone: dt.tzinfo | None) -> Related:
    """Return who and what the person who asks is related to, the newest first, as no answer."""
    stored = credible_relations(snapshot.asker(scope), scope, snapshot)
    found = [Found(relation) for relation in sorted(stored, key=lambda r: (-_since(r), -r.no))]
    return _results(found, scope, snapshot, zone, max_others=MAX_ANSWERING)


def relations_about(
    entities: Sequence[Entity] | None, scope: Scope, snapshot: Snapshot, zone: dt.tzinfo | None
) -> Related:
    """Return all that is stored of who and what some entities are related to, as an answer.

    Of everybody, where there are no entities, who is what to whom: family ties, the oldest first.
    """
    if entities is None:
        ties = credible_relations(None, scope, snapshot)
        found = [tie for tie in ties if is_family_tie(tie.relation)]
    else:
        found = credible_relations(in_all_partitions(entities, scope, snapshot), scope, snapshot)
    return _results([Found(relation, answers=True) for relation in found], scope, snapshot, zone)


def _asked(
    wording: Wording, mentions: Sequence[Mention], scope: Scope, snapshot: Snapshot
) -> list[Found]:
    """Return the relations that a question asks for."""
    named = [mentions[number] for number in wording.named]
    phrases = [mention for mention in named if mention.role]
    others = [mention for mention in named if not mention.role]
    said = {word for phrase in phrases for r in phrase.relations for word in r.relation.split(" ")}
    if len(phrases) == 1 and (
        wording.asks_whether if len(others) == 1 else not others and wording.asks_identity(said)
    ):
        return _of_kin(phrases[0], others[0] if others else None)
    if len(named) == 1 and wording.asks_who:
        everywhere = in_all_partitions(named[0].entities, scope, snapshot)
        stored = credible_relations(everywhere, scope, snapshot)
        return [Found(relation, answers=True) for relation in stored]
    if wording.asks_path:
        path = _path(named[0], named[1], scope, snapshot)
        return [Found(relation, answers=True) for relation in path]
    return _by_words(wording, mentions, scope, snapshot) if wording.content else []


def _is_kind(words: str) -> bool:
    """Whether a name is what animals are called: *dog*, where *Biscuit is a dog* is stored."""
    return words in KINSHIP_ROLES and KINSHIP_ROLES[words].link == "pet"


def _of_kin(kin: Mention, other: Mention | None) -> list[Found]:
    """Return what says who has a role; where somebody is named besides, only if it is them."""
    if other is not None and not any(
        is_same(named, entity) or is_same(entity, named)
        for named in other.entities
        for entity in kin.entities
    ):
        return []
    found = []
    for relation in kin.relations:
        ends = (relation.subject, relation.object)
        end = next((end for end in ends if end in kin.entities), None)
        found.append(Found(relation, end is not None, None if other is not None else end))
    return found


def _by_words(
    wording: Wording, mentions: Sequence[Mention], scope: Scope, snapshot: Snapshot
) -> list[Found]:
    """Return the relations whose words state what a question asks, the newest first.

    Where only one can hold, *lives in*, an older one of the same does not answer.
    """
    numbers: dict[Entity, set[int]] = {}
    for number in wording.named:
        for entity in mentions[number].entities:
            numbers.setdefault(entity, set()).add(number)
    stored = credible_relations(list(numbers), scope, snapshot)
    if wording.asks_past:
        stored = [each for each in stored if _words_of(each, snapshot).has_ended]
        stored += credible_relations(list(numbers), scope, snapshot, ended=True)
    found: list[Found] = []
    newest: dict[tuple[str, str], str] = {}
    for relation in sorted(stored, key=lambda r: (-_since(r), -r.no)):
        words = _words_of(relation, snapshot)
        subject, object_ = relation.subject, relation.object
        ends = frozenset(numbers.get(subject, ())), frozenset(numbers.get(object_, ()))
        asked_for = None if all(ends) else object_ if ends[0] else subject
        other_name = "" if asked_for is None else asked_for.name
        if wording.is_answered_by(words, ends, other_name):
            places = {
                newest.setdefault((subject.name, concept), object_.name)
                for concept in words.single_valued
            }
            found.append(Found(relation, places <= {object_.name}, asked_for))
    return found


def _words_of(relation: StoredRelation, snapshot: Snapshot) -> RelationWords:
    return RelationWords.of(relation.relation, snapshot.stems)


def _held(relation: StoredRelation, then_s: float) -> bool:
    """Whether a relation surely held at a past moment: by its dates, or because it is kinship."""
    if relation.valid_from_s is not None or relation.recorded_s <= then_s:
        return True
    return is_family_tie(relation.relation)


def _since(relation: StoredRelation) -> float:
    return relation.recorded_s if relation.valid_from_s is None else relation.valid_from_s


def _path(
    first: Mention, second: Mention, scope: Scope, snapshot: Snapshot
) -> tuple[StoredRelation, ...]:
    """Return the shortest path of relations between two, breadth first; empty if there is none."""
    goals = in_all_partitions(second.entities, scope, snapshot)
    level = in_every_partition(dict.fromkeys(first.entities, ()), scope, snapshot)
    reached = dict(level)
    for _ in range(MAX_PATH):
        following: dict[Entity, tuple[StoredRelation, ...]] = {}
        for relation in credible_relations(list(level), scope, snapshot):
            for here, there in (
                (relation.subject, relation.object), (relation.object, relation.subject)
            ):  # fmt: skip
                if here in level and there not in reached:
                    following.setdefault(there, (*level[here], relation))
        path = next((path for entity, path in following.items() if entity in goals), None)
        if path is not None:
            return path
        level = in_every_partition(following, scope, snapshot)
        level = {entity: path for entity, path in level.items() if entity not in reached}
        reached |= level
    return ()


def _between(entities: Sequence[Entity], scope: Scope, snapshot: Snapshot) -> list[Found]:
    """Return the relations among some entities, the most confident first."""
    if len(entities) < 2:
        return []
    among = [
        relation
        for relation in snapshot.relations(sorted(entity.id for entity in entities), scope)
        if {relation.subject, relation.object} <= set(entities)
    ]
    among.sort(key=lambda r: (-r.confidence, r.subject.name, r.relation, r.object.name))
    return [Found(relation) for relation in among]


def _results(
    found: Iterable[Found],
    scope: Scope,
    snapshot: Snapshot,
    zone: dt.tzinfo | None,
    *,
    max_others: int = MAX_OTHERS,
) -> Related:
    """Write relations as results: those that answer first, each once."""
    once: dict[tuple[str, str, str], Found] = {}
    for one in sorted(found, key=lambda f: not f.answers):
        relation = one.relation
        once.setdefault((relation.subject.name, relation.relation, relation.object.name), one)
    answering = [one for one in once.values() if one.answers][:MAX_ANSWERING]
    chosen = [*answering, *[one for one in once.values() if not one.answers][:max_others]]
    if not chosen:
        return Related()
    evidence = snapshot.evidence_of([one.relation for one in chosen], scope)

    def moment(at_s: float | None) -> str | None:
        return None if at_s is None else dt.datetime.fromtimestamp(at_s, zone).isoformat()

    return Related(
        tuple(
            RelationResult(
                subject=one.relation.subject.name,
                relation=one.relation.relation,
                object=one.relation.object.name,
                space_id=one.relation.space_id,
                confidence=one.relation.confidence,
                valid_from=moment(one.relation.valid_from_s),
                valid_until=moment(one.relation.valid_until_s),
                evidence=tuple(doc_id for _, doc_id, _ in evidence[one.relation.no]),
                answers=one.answers,
                asked_for=one.asked_for.name if one.answers and one.asked_for else None,
            )
            for one in chosen
        ),
        {
            row: one.relation.confidence
            for one in sorted(answering, key=lambda f: f.relation.confidence)
            for row, _, _ in evidence[one.relation.no]
        },
    )


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

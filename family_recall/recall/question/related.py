"""The relations of an answer: those that a question asks for, and those between what it names."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from family_recall.english.kinship import (
    FAMILY_LINKS,
    IS_A,
    KINSHIP_ROLES,
    meaning_of,
    relation_phrase,
)
from family_recall.english.relations import SINGLE_VALUED, RelationWords, Wording
from family_recall.recall.question.entities import Mention, Resolution
from family_recall.recall.question.kinship import (
    Relatives,
    credible_relations,
    in_all_partitions,
    is_same,
)
from family_recall.store.file.schema import partition_of
from family_recall.store.graph import Entity
from family_recall.store.relations import StoredRelation
from family_recall.store.snapshot import Snapshot
from family_recall.types import RelationResult, Scope

MAX_ANSWERING = 12
"""Relations that answer a question."""

MAX_OTHERS = 5
"""Other relations of an answer, between the things it names."""

MAX_PATH = 3
"""Relations on the longest path by which two are told to be related."""

MAX_READ = 200
"""Relations that are read to find the family ties among them."""

_MAX_REACHED = 32


@dataclass(frozen=True, slots=True)
class Found:
    """A relation for an answer: whether it answers, and the end asked for."""

    relation: StoredRelation
    answers: bool = False
    asked_for: Entity | None = None


class Related(msgspec.Struct, frozen=True):
    """The relations of an answer; ``evidence`` by row id: how sure the ones that answer are."""

    relations: tuple[RelationResult, ...] = ()
    evidence: Mapping[int, float] = msgspec.field(default_factory=dict)


def related(
    question: str,
    resolution: Resolution,
    scope: Scope,
    snapshot: Snapshot,
    *,
    zone: dt.tzinfo | None,
    timespan_s: tuple[float, float] | None = None,
    asks_when: bool = False,
) -> Related:
    """Find the relations that a question asks for, best first, and then those it touches.

    Args:
        question: The question, without its words for a time.
        resolution: What it names.
        scope: What the asker may see.
        snapshot: The file.
        zone: The household's zone.
        timespan_s: The time it speaks of, in epoch seconds; a past one asks for what held then.
        asks_when: Whether it asks for a time, which only a relation with a start can tell.
    """
    if not resolution.mentions and not resolution.asker_is_named:
        return Related()
    is_past = timespan_s is not None and timespan_s[1] < scope.as_of_s
    if timespan_s is not None and is_past:
        scope = dataclasses.replace(scope, as_of_s=timespan_s[1] - 1.0)
    mentions = [each for each in resolution.mentions if each.role or not _is_kind(each.words)]
    wording = Wording.of(
        question, [each.words for each in mentions], asker_is_known=bool(resolution.asker)
    )
    if resolution.asker:
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
    entities: Sequence[Entity], scope: Scope, snapshot: Snapshot, zone: dt.tzinfo | None
) -> Related:
    """Return all that is stored of who and what some entities are related to, as an answer."""
    everywhere = in_all_partitions(entities, scope, snapshot)
    stored = credible_relations(everywhere, scope, snapshot)
    return _results([Found(relation, answers=True) for relation in stored], scope, snapshot, zone)


def relations_of_family(scope: Scope, snapshot: Snapshot) -> Related:
    """Return who is what to whom in a scope, as an answer: family ties, the oldest first."""
    ties = (
        relation
        for relation in snapshot.relations_in(scope, MAX_READ)
        if (meaning := meaning_of(relation.relation)) is not None and meaning.link in FAMILY_LINKS
    )
    return Related(
        tuple(
            RelationResult(
                subject=relation.subject,
                relation=relation.relation,
                object=relation.object,
                space_id=relation.space_id,
                confidence=relation.confidence,
                evidence=relation.evidence,
                answers=True,
            )
            for relation in itertools.islice(ties, MAX_ANSWERING)
        )
    )


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
        kin = Relatives(phrases[0].entities, relations=phrases[0].relations)
        return _of_kin(kin, others[0] if others else None)
    if len(named) == 1 and wording.asks_who:
        everywhere = in_all_partitions(named[0].entities, scope, snapshot)
        stored = credible_relations(everywhere, scope, snapshot)
        return [Found(relation, answers=True) for relation in stored]
    if wording.asks_path:
        return [
            Found(relation, answers=True) for relation in _path(named[0], named[1], scope, snapshot)
        ]
    return _by_words(wording, mentions, scope, snapshot) if wording.content(snapshot.stems) else []


def _is_kind(words: str) -> bool:
    """Whether a name is what animals are called: *dog*, where *Biscuit is a dog* is stored."""
    return words in KINSHIP_ROLES and KINSHIP_ROLES[words].link == "pet"


def _of_kin(kin: Relatives, other: Mention | None) -> list[Found]:
    """Return what says who has a role; where somebody is named besides, only if it is them."""
    if other is not None and not any(
        is_same(named, entity) or is_same(entity, named)
        for named in other.entities
        for entity in kin.entities
    ):
        return []
    ids = {entity.id for entity in kin.entities}
    found = []
    for relation in kin.relations:
        end = next((end for end in (relation.subject, relation.object) if end.id in ids), None)
        found.append(Found(relation, end is not None, None if other is not None else end))
    return found


def _by_words(
    wording: Wording, mentions: Sequence[Mention], scope: Scope, snapshot: Snapshot
) -> list[Found]:
    """Return the relations whose words state what a question asks, the newest first."""
    by_entity: dict[int, set[int]] = {}
    named = [(number, e) for number in wording.named for e in mentions[number].entities]
    for number, entity in named:
        by_entity.setdefault(entity.id, set()).add(number)
    entities = [entity for _, entity in named]
    stored = credible_relations(entities, scope, snapshot)
    if wording.asks_past:
        stored = [relation for relation in stored if _words_of(relation, snapshot).has_ended]
        stored += credible_relations(entities, scope, snapshot, ended=True)
    found: list[Found] = []
    for relation in stored:
        words = _words_of(relation, snapshot)
        ends = (
            frozenset(by_entity.get(relation.subject.id, ())),
            frozenset(by_entity.get(relation.object.id, ())),
        )
        asked_for = None if all(ends) else relation.object if ends[0] else relation.subject
        other_name = "" if asked_for is None else asked_for.name
        if words.phrase not in IS_A and wording.is_answered_by(
            words, ends, other_name, snapshot.stems
        ):
            found.append(Found(relation, answers=True, asked_for=asked_for))
    return _newest(found, snapshot)


def _held(relation: StoredRelation, then_s: float) -> bool:
    """Whether a relation surely held at a past moment: by its dates, or because it is kinship."""
    if relation.valid_from_s is not None or relation.recorded_s <= then_s:
        return True
    return _is_family(relation)


def _is_family(relation: StoredRelation) -> bool:
    """Whether a relation is a family tie, or between a pet and its owner."""
    meaning = meaning_of(relation.relation)
    return meaning is not None and meaning.link in FAMILY_LINKS


def _words_of(relation: StoredRelation, snapshot: Snapshot) -> RelationWords:
    return RelationWords.of(relation_phrase(relation.relation), snapshot.stems)


def _newest(found: Sequence[Found], snapshot: Snapshot) -> list[Found]:
    """Put the newest first; where only one can hold, an older one of the same does not answer."""
    ordered = sorted(found, key=lambda f: (-_since(f.relation), -f.relation.no))
    seen: dict[tuple[str, str], str] = {}
    result = []
    for each in ordered:
        relation = each.relation
        single = _words_of(relation, snapshot).core & SINGLE_VALUED
        places = {
            seen.setdefault((relation.subject.name, concept), relation.object.name)
            for concept in single
        }
        is_newest = places <= {relation.object.name}
        result.append(dataclasses.replace(each, answers=each.answers and is_newest))
    return result


def _since(relation: StoredRelation) -> float:
    return relation.recorded_s if relation.valid_from_s is None else relation.valid_from_s


def _path(
    first: Mention, second: Mention, scope: Scope, snapshot: Snapshot
) -> tuple[StoredRelation, ...]:
    """Return the shortest path of relations between two, breadth first; empty if there is none."""
    goal = {entity.id for entity in in_all_partitions(second.entities, scope, snapshot)}
    reached: dict[Entity, tuple[StoredRelation, ...]] = dict.fromkeys(
        in_all_partitions(first.entities, scope, snapshot), ()
    )
    level = list(reached)
    for _ in range(MAX_PATH):
        seen = set(reached)
        following: dict[Entity, tuple[StoredRelation, ...]] = {}
        for relation in credible_relations(level[:_MAX_REACHED], scope, snapshot):
            for here, there in (
                (relation.subject, relation.object), (relation.object, relation.subject)
            ):  # fmt: skip
                if here in reached and there not in reached:
                    following.setdefault(there, (*reached[here], relation))
        for entity, path in following.items():
            if entity.id in goal:
                return path
        for entity in in_all_partitions(list(following), scope, snapshot):
            twin = next((one for one in following if is_same(one, entity)), entity)
            reached.setdefault(entity, following.get(entity) or following.get(twin, ()))
        level = [entity for entity in reached if entity not in seen]
    return ()


def _between(entities: Sequence[Entity], scope: Scope, snapshot: Snapshot) -> list[Found]:
    """Return the relations among some entities, the most confident first."""
    ids = {entity.id for entity in entities}
    if len(ids) < 2:
        return []
    among = [
        relation
        for relation in snapshot.relations(sorted(ids), scope)
        if {relation.subject.id, relation.object.id} <= ids
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
    space_of = {part.no: part.space_id for part in snapshot.partitions(scope)}

    def moment(at_s: float | None) -> str | None:
        return None if at_s is None else dt.datetime.fromtimestamp(at_s, zone).isoformat()

    return Related(
        tuple(
            RelationResult(
                subject=one.relation.subject.name,
                relation=one.relation.relation,
                object=one.relation.object.name,
                space_id=space_of.get(partition_of(one.relation.subject.id), ""),
                confidence=one.relation.confidence,
                valid_from=moment(one.relation.valid_from_s),
                valid_until=moment(one.relation.valid_until_s),
                evidence=tuple(doc_id for _, doc_id in evidence.get(one.relation.no, ())),
                answers=one.answers,
                asked_for=one.asked_for.name if one.answers and one.asked_for else None,
            )
            for one in chosen
        ),
        {
            row: one.relation.confidence
            for one in sorted(answering, key=lambda f: f.relation.confidence)
            for row, _ in evidence.get(one.relation.no, ())
        },
    )

"""The relations of an answer: those that a question asks for, and those between what it names."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from family_recall.english.kinship import IS_A, KINSHIP_ROLES, meaning_of, relation_phrase
from family_recall.english.relation_vocabulary import SINGLE_VALUED, relation_words
from family_recall.recall.question.entities import Mention, Resolution
from family_recall.recall.question.kinship import (
    MAX_STEPS,
    credible_relations,
    in_all_partitions,
    is_same,
    relatives,
)
from family_recall.recall.question.relation_matching import WordQuestion, match, word_question
from family_recall.recall.question.relation_wording import (
    KinQuestion,
    Wording,
    kin_question,
    path_question,
    person_question,
    read_wording,
)
from family_recall.store.file.row_ids import partition_of
from family_recall.store.graph import Entity
from family_recall.store.relations import StoredRelation
from family_recall.store.snapshot import Snapshot
from family_recall.types import RelationResult, Scope

MAX_ANSWERING = 12
"""Relations that answer a question."""

MAX_OTHERS = 5
"""Other relations of an answer, between the named things or near to the question."""

MAX_PATH = 3
"""Relations on the longest path by which two are told to be related."""

MAX_READ = 200
"""Relations that are read to find the family ties among them."""

_MAX_REACHED = 32
_FAMILY = frozenset(
    """
    parent child spouse sibling grandparent grandchild cousin pet owner godparent godchild in-law
    """.split()
) | {
    "aunt or uncle", "niece or nephew", "parent-in-law", "child-in-law", "sibling-in-law",
    "former spouse",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A relation for an answer: whether it answers, the end asked for, its overlap in words."""

    relation: StoredRelation
    answers: bool = False
    asked_for: Entity | None = None
    overlap: float = 0.0


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
    wording = read_wording(question, resolution)
    found = [] if wording.is_empty else _asked(wording, scope, snapshot)
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
        if (meaning := meaning_of(relation.relation)) is not None and meaning.link in _FAMILY
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


def _asked(wording: Wording, scope: Scope, snapshot: Snapshot) -> list[Found]:
    """Return the relations that a question asks for, and those that come near."""
    kin = kin_question(wording)
    if kin is not None:
        found = _described(kin, scope, snapshot) if kin.described else _of_kin(kin, scope, snapshot)
        if found or not kin.described:
            return found
    person = person_question(wording)
    if person is not None:
        everywhere = in_all_partitions(person.entities, scope, snapshot)
        stored = credible_relations(everywhere, scope, snapshot)
        return [Found(relation, answers=True) for relation in stored]
    two = path_question(wording)
    if two is not None:
        return [Found(relation, answers=True) for relation in _path(*two, scope, snapshot)]
    words = word_question(wording, snapshot.stems)
    return [] if words is None else _by_words(words, scope, snapshot)


def _of_kin(question: KinQuestion, scope: Scope, snapshot: Snapshot) -> list[Found]:
    entities, relations = question.whose.entities, question.whose.relations
    if question.role is not None:
        kin = relatives(entities, question.role, scope, snapshot, max_steps=MAX_STEPS)
        entities, relations = kin.entities, kin.relations
    other = question.other
    if other is not None and not any(
        is_same(one, entity) or is_same(entity, one)
        for one in other.entities
        for entity in entities
    ):
        return []
    ids = {entity.id for entity in entities}
    found = []
    for relation in relations:
        end = next((end for end in (relation.subject, relation.object) if end.id in ids), None)
        found.append(Found(relation, end is not None, None if other is not None else end, 1.0))
    return found


def _described(question: KinQuestion, scope: Scope, snapshot: Snapshot) -> list[Found]:
    """Return the relations that hold a question's words beyond the role: *former carer of*.

    A former carer is no carer, so all relations of the person whose role it is are read.
    """
    whose = list(question.whose.entities)
    if question.role is None:
        meant = {entity.id for entity in whose}
        ends = [end for r in question.whose.relations for end in (r.subject, r.object)]
        whose = [end for end in ends if end.id not in meant]
    ids = {entity.id for entity in whose}
    link = KINSHIP_ROLES[question.noun].link if question.noun else ""
    found = []
    for relation in credible_relations(whose, scope, snapshot):
        words = relation_phrase(relation.relation).split(" ")
        links = {KINSHIP_ROLES[word].link for word in words if word in KINSHIP_ROLES}
        bearer, owner = relation.subject, relation.object
        named, asked_for = (bearer, owner) if question.is_inverse else (owner, bearer)
        if named.id in ids and link in links and question.described.issubset(words):
            found.append(Found(relation, answers=True, asked_for=asked_for, overlap=1.0))
    return found


def _by_words(question: WordQuestion, scope: Scope, snapshot: Snapshot) -> list[Found]:
    mentions = question.wording.mentions
    by_entity: dict[int, set[int]] = {}
    for index in question.wording.named:
        for entity in mentions[index].entities:
            by_entity.setdefault(entity.id, set()).add(index)
    named = [entity for index in question.wording.named for entity in mentions[index].entities]
    found: list[Found] = []
    stored = credible_relations(named, scope, snapshot)
    if question.asks_past:
        stored = [relation for relation in stored if _says_past(relation, snapshot)]
        stored += credible_relations(named, scope, snapshot, ended=True)
    for relation in stored:
        phrase = relation_phrase(relation.relation)
        # One word for kin, as in *sister*, was looked up as a role; *half sister* was not.
        if phrase in IS_A or (len(question.content) == 1 and _is_family(relation)):
            continue
        subject, object_ = relation.subject, relation.object
        ends = (
            frozenset(by_entity.get(subject.id, ())),
            frozenset(by_entity.get(object_.id, ())),
        )
        fit = match(question, phrase, ends, (subject.name, object_.name), snapshot.stems)
        asked_for = None if all(ends) else object_ if ends[0] else subject
        if fit.overlap >= 0.5:
            found.append(Found(relation, fit.answers, asked_for, fit.overlap))
    return _newest(found, snapshot)


def _held(relation: StoredRelation, then_s: float) -> bool:
    """Whether a relation surely held at a past moment: by its dates, or because it is kinship."""
    if relation.valid_from_s is not None or relation.recorded_s <= then_s:
        return True
    return _is_family(relation)


def _is_family(relation: StoredRelation) -> bool:
    """Whether a relation is a family tie, or between a pet and its owner."""
    meaning = meaning_of(relation.relation)
    return meaning is not None and meaning.link in _FAMILY


def _says_past(relation: StoredRelation, snapshot: Snapshot) -> bool:
    return relation_words(relation_phrase(relation.relation), snapshot.stems).has_ended


def _newest(found: Sequence[Found], snapshot: Snapshot) -> list[Found]:
    """Put the newest first; where only one can hold, an older one of the same does not answer."""
    ordered = sorted(found, key=lambda f: (-f.overlap, -_since(f.relation), -f.relation.no))
    seen: dict[tuple[str, str], str] = {}
    kept = []
    for one in ordered:
        relation = one.relation
        phrase = relation_phrase(relation.relation)
        single = relation_words(phrase, snapshot.stems).core & SINGLE_VALUED
        places = {
            seen.setdefault((relation.subject.name, concept), relation.object.name)
            for concept in single
        }
        is_newest = places <= {relation.object.name}
        kept.append(dataclasses.replace(one, answers=one.answers and is_newest))
    return kept


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
    for one in sorted(found, key=lambda f: (not f.answers, -f.overlap)):
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

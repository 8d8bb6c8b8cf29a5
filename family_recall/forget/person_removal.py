"""Remove a person: their memories stay in their name, lose their author, or are forgotten.

Memories that nobody else could read are always forgotten: those in private spaces that only they
may enter, and those for the guardians of a removed child. Their entities are then derived again,
as if they had never been a person of the household.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from family_recall.access.rights import unique_names_of
from family_recall.english.text import names_in, normalise
from family_recall.errors import InvalidRequestError, UnknownPersonError
from family_recall.forget import entity_provenance
from family_recall.forget.selection import Choice, authors_of, with_versions
from family_recall.remember import Indexer, people
from family_recall.store.transaction import Transaction, WriteTransaction
from family_recall.store.versions import Criteria, Version
from family_recall.types import Person
from family_recall.types.erasure import About, Said


@dataclass(frozen=True, slots=True)
class Removal:
    """What removing a person changes.

    Args:
        person: The person removed.
        said: What happens to memories by them.
        about: What happens to memories that mention them.
        spaces: Private spaces that only they may enter; they are removed.
        choice: The memories to forget.
        authored: Remaining versions by them, redacted views included.
        mentioning: Remaining versions that mention them.
        names: Their normalised names that nobody else here has.
        authors: Their names as author of memories.
    """

    person: Person
    said: Said
    about: About
    spaces: tuple[str, ...]
    choice: Choice
    authored: tuple[Version, ...]
    mentioning: tuple[Version, ...]
    names: frozenset[str]
    authors: frozenset[str]


def removal_of(tables: Transaction, person_id: str, said: Said, about: About) -> Removal:
    """Decide what removing a person changes.

    Raises:
        UnknownPersonError: If there is no such person.
        InvalidRequestError: If they are the only guardian of a child with memories for guardians.
    """
    household = tables.household
    person = household.person(person_id)
    if person is None:
        raise UnknownPersonError(
            f"nobody here has the id {person_id!r}; nobody was removed", person_id
        )
    _check_guardianships(tables, person_id)
    names = unique_names_of(person_id, household.people())
    partitions = household.every_partition()
    everywhere = [partition.no for partition in partitions]
    authors = authors_of(tables, person_id, names if said != "keep" else (), everywhere)
    spaces = tuple(sorted(household.alone_in(person_id)))
    unreadable = [
        *(partition.no for partition in partitions if partition.space_id in spaces),
        *household.partitions_for_guardians_of(person_id),
    ]
    forgotten = tables.versions.find(unreadable, Criteria())
    authored = tables.versions.find(None, Criteria(authors=authors))
    mentions = {*tables.versions.mentioning(everywhere, person_id)}
    mentions |= {no for no, texts in tables.versions.texts() if names_in(texts, names)}
    mentioning = tables.versions.find(None, Criteria(ids=mentions))
    forgotten += authored if said == "forget" else []
    forgotten += mentioning if about == "forget" else []
    choice = with_versions(tables, [version for version in forgotten if version.view == 0], None)
    erased = frozenset(choice.ids)
    return Removal(
        person=person,
        said=said,
        about=about,
        spaces=spaces,
        choice=choice,
        authored=tuple(version for version in authored if version.id not in erased),
        mentioning=tuple(version for version in mentioning if version.id not in erased),
        names=names,
        authors=frozenset(authors),
    )


def remove_person(
    indexer: Indexer, writing: WriteTransaction, removal: Removal, wall_s: float
) -> None:
    """Remove a person, in the transaction that erased their forgotten memories."""
    person_id = removal.person.person_id
    authored = [version.id for version in removal.authored]
    entities = writing.entities.of_person(person_id, authored)
    entities |= entity_provenance.entities_of_superseded(writing, removal.authored)
    if removal.about == "forget":
        entities |= _remove_relations(writing, removal.names)
    writing.feedback.reset(person_id)
    writing.audit.remove("person", person_id, wall_s)
    writing.erasure_log.remove_person(person_id, removal.authors)
    author = removal.person.name if removal.said == "keep" else None
    people.remove(writing, person_id, authored, author)
    for space_id in removal.spaces:
        writing.audit.remove("space", space_id, wall_s)
        writing.partitions.remove_space(space_id)
    entity_provenance.derive_again(indexer, writing, entities)


def _remove_relations(writing: WriteTransaction, names: Collection[str]) -> set[int]:
    """Remove the relations that use one of these names; return their entities."""
    ends: set[int] = set()
    for relation in writing.relations.rows():
        if any(normalise(name) in names for name in relation.given_names):
            writing.relations.remove(relation)
            ends |= {relation.subject.id, relation.object.id}
    return ends


def _check_guardianships(tables: Transaction, person_id: str) -> None:
    """Refuse to remove the only guardian of a child with memories for guardians."""
    for child_id, guardians in tables.household.guardians().items():
        if guardians == (person_id,) and child_id != person_id:
            partitions = tables.household.partitions_for_guardians_of(child_id)
            n = len({version.memory for version in tables.versions.find(partitions, Criteria())})
            if n:
                raise InvalidRequestError(
                    f"{person_id!r} is the only guardian of {child_id!r}, for whose guardians {n} "
                    "memories are stored; make somebody else their guardian first, or nobody could "
                    "read them"
                )

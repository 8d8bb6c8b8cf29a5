"""People as authors: what is derived from a memory's author has the person's name, not their id.

The header, the context of the memory after it, and the vectors of a memory are made from the name.
When somebody gets a name, or another one, the words of what they said are indexed again in the same
transaction, and its vectors become pending.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from family_recall.remember.derived import header_of, prepare
from family_recall.remember.entity_linker import EntityLinker
from family_recall.store.memories import StoredMemory
from family_recall.store.transaction import WriteTransaction
from family_recall.types import Person


def put(writing: WriteTransaction, linker: EntityLinker, person: Person) -> None:
    """Add a person, or change their name and aliases, with everything derived from them."""
    household = writing.household
    before = household.person(person.person_id)
    name_before = person.person_id if before is None else before.name
    if name_before == person.name:
        household.put_person(person)
    else:
        memories = writing.authored_by(person.person_id)
        _index_again(writing, memories, lambda: household.put_person(person))
        writing.vectors.remove(memories)
    if before != person:
        linker.rename(person)
    if before is not None and (before.name != person.name or {*before.aliases} - {*person.aliases}):
        writing.erasure_log.set_rewrite_due()


def remove(
    writing: WriteTransaction, person_id: str, memories: list[int], author: str | None
) -> None:
    """Delete a person, whose memories have another author from then on, or none.

    ``memories`` are all that have the person as their author, by id or as heard. Without an author
    their vectors become pending.
    """

    def change() -> None:
        for stored in _intact(writing, memories):
            memory = dataclasses.replace(stored.memory, author=author)
            new = prepare(memory, stored.recorded_s, writing.zone, author)
            writing.put_author(stored.id, author, new.content_hash)
        writing.partitions.remove_for_guardians_of(person_id)
        writing.household.remove_person(person_id)

    _index_again(writing, memories, change)
    if author is None:
        writing.vectors.remove(memories)


def _index_again(
    writing: WriteTransaction, memories: list[int], change: Callable[[], None]
) -> None:
    """Index the words of memories again after a change of names."""
    affected = writing.versions.with_following(memories)
    writing.words.remove(affected)
    change()
    for stored in _intact(writing, memories):
        header = header_of(stored.memory, writing.zone, stored.author_name)
        writing.put_header(stored.id, header)
    writing.words.add(affected)


def _intact(writing: WriteTransaction, memories: list[int]) -> Iterator[StoredMemory]:
    return (stored for stored in writing.load(memories) if stored.intact)

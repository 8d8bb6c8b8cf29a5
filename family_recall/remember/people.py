"""People as authors: what is derived from a memory's author has the person's name, not their id.

The header, the context of the memory after it, and the vectors of a memory are made from the name.
When somebody gets a name, or another one, the words of what they said are indexed again in the same
transaction, and its vectors become pending.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from family_recall.remember.entity_linker import EntityLinker
from family_recall.remember.preparation import header_of, prepare
from family_recall.store.new_memories import batches
from family_recall.store.transaction import WriteTransaction
from family_recall.types import Person

INFO_KEY = "authors"
INFO_VERSION = "1"
"""Of what an author is indexed as: the name of the person."""


def put(writing: WriteTransaction, linker: EntityLinker, person: Person) -> None:
    """Add a person, or change their name and aliases, with everything derived from them."""
    household = writing.household
    before = household.person(person.person_id)
    name_before = person.person_id if before is None else before.name
    if name_before == person.name:
        household.put_person(person)
    else:
        memories = writing.authors.memories_of(person.person_id)
        _index_again(writing, memories, lambda: household.put_person(person), as_written=False)
    if before != person:
        linker.rename(person)


def remove(
    writing: WriteTransaction, person_id: str, memories: list[int], author: str | None
) -> None:
    """Delete a person, whose memories have another author from then on, or none.

    ``memories`` are all that have the person as their author, by id or as heard.
    """

    def change() -> None:
        for batch in batches(memories):
            for stored in writing.load(batch):
                if stored.intact:
                    memory = dataclasses.replace(stored.memory, author=author)
                    new = prepare(memory, stored.recorded_s, writing.zone, author)
                    writing.authors.put_author(stored.id, author, new.content_hash)
        writing.partitions.remove_for_guardians_of(person_id)
        writing.household.remove_person(person_id)

    _index_again(writing, memories, change, as_written=False, named_alike=author is not None)


def name_authors(writing: WriteTransaction) -> None:
    """Index the authors of a file that was indexed by their ids under their names."""
    memories = writing.authors.memories_of_people_named_otherwise()
    _index_again(writing, memories, lambda: None, as_written=True)
    writing.put_info(INFO_KEY, INFO_VERSION)


def _index_again(
    writing: WriteTransaction,
    memories: list[int],
    change: Callable[[], None],
    *,
    as_written: bool,
    named_alike: bool = False,
) -> None:
    """Index the words of memories again after a change of names; their vectors become pending.

    ``as_written`` says that they are indexed by their authors as written so far, ``named_alike``
    that their authors are called as before, so that the vectors stay.
    """
    affected = list(writing.authors.with_following(memories))
    for batch in affected:
        writing.words.remove(batch, as_written=as_written)
    change()
    writing.authors.clear()
    for batch in batches(memories):
        for stored in writing.load(batch):
            if stored.intact:
                header = header_of(stored.memory, writing.zone, stored.author_name)
                writing.authors.put_header(stored.id, header)
    for batch in affected:
        writing.words.add(batch)
    if memories and not named_alike:
        writing.vectors.clear(memories)

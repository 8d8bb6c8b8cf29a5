"""People as authors: what is derived from a memory's author has the person's name, not their id.

The header, the context of the memory after it, and the vectors of a memory are made from the name.
When somebody gets a name, or another one, the words of what they said are indexed again in the same
transaction, and its vectors become pending.
"""

from __future__ import annotations

from collections.abc import Callable

from family_recall.indexing.entity_linker import EntityLinker
from family_recall.indexing.preparation import header_of
from family_recall.stores.write.authors import batches
from family_recall.stores.write.transaction import WriteTransaction
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
) -> None:
    """Index the words of memories again after a change of names; their vectors become pending.

    ``as_written`` says that they are indexed by their authors as written so far.
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
    if memories:
        writing.vectors.clear(memories)

"""Names after a forgetting: a name that nothing else said is not known any more.

A name becomes known by somebody who speaks, by a relation, or, for people of the household, by
being named. Where what remains would have made another name of it, *Fahim* rather than *Fahim
Khan*, it is made anew from what remains.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from family_recall.erasure.selection import Choice
from family_recall.indexing import Indexer
from family_recall.query.text import names_in, normalise
from family_recall.stores.file.row_ids import partition_of
from family_recall.stores.graph.entity_provenance import Named, RelationRow, TellingRow
from family_recall.stores.write.transaction import WriteTransaction


def named_in_the_past(writing: WriteTransaction, choice: Choice) -> set[int]:
    """Find whom versions that were replaced named, which no mention says any more."""
    found: set[int] = set()
    known: dict[int, dict[str, int]] = {}
    for version in (*choice.versions, *choice.views):
        if not version.past:
            continue
        partition = partition_of(version.id)
        if partition not in known:
            known[partition] = writing.names.aliases(partition)
        names = known[partition]
        said = [*names_in(version.text, names), normalise(version.author or "")]
        found |= {names[name] for name in said if name in names}
    return found


def settle(indexer: Indexer, writing: WriteTransaction, entities: Collection[int]) -> None:
    """Let go of the names that only what is gone gave a reason for."""
    named = writing.named
    for entity in sorted(entities, reverse=True):
        found = named.entity(entity)
        if found is None:
            continue
        name, person = found
        alike = named.alike(entity)
        if len(alike) > 1:
            # Who else goes by one of its names may have got it because this one was known first.
            _name_again(indexer, writing, alike)
        elif person is not None:
            if not named.is_linked(entity) and not _once_named(named, entity):
                named.drop_entity(entity)
        elif [name] != _sources(named, entity)[:1] or len(_normalised(named, entity)) > 1:
            _name_again(indexer, writing, alike)


def relate_again(
    indexer: Indexer,
    writing: WriteTransaction,
    relations: Sequence[Mapping[str, Any]],
) -> None:
    """Bring relations back that went with what they rested on."""
    named = writing.named
    for told in relations:
        partition = partition_of(told["subject"])
        names = [told["subject_name"], told["object_name"]]
        subject, object_ = json.loads(told["stated"]) if told["stated"] else names
        space_id = named.space_of(partition)
        first, second = indexer.cast(writing).ends(partition, space_id, (subject, object_))
        named.put_relation({**told, "subject": first, "object": second})
        writing.names.relink(first, second)


def _sources(named: Named, entity: int) -> list[str]:
    """List the names by which what remains made an entity known, as written, the earliest first."""
    aliases = named.aliases_of(entity)
    found = [(recorded_s, author) for recorded_s, author in named.authored(entity)]
    for told in named.relations_of([entity]):
        ends = zip(told.stated, (told.subject, told.object), strict=True)
        found += [(told.recorded_s, end) for end, at in ends if at == entity]
    found += [
        (once.recorded_s, once.author)
        for once in named.past_of(partition_of(entity))
        if once.author and normalise(once.author) in aliases
    ]
    return [name for _, name in sorted(found, key=lambda one: one[0])]


def _normalised(named: Named, entity: int) -> set[str]:
    return {normalise(name) for name in _sources(named, entity)}


def _once_named(named: Named, entity: int) -> bool:
    """Whether a version that was replaced names a person, as an author or in its text."""
    aliases = named.aliases_of(entity)
    return any(_names(once, aliases) for once in named.past_of(partition_of(entity)))


def _names(told: TellingRow, aliases: Collection[str]) -> bool:
    author = bool(told.author) and normalise(told.author or "") in aliases
    return author or bool(names_in(told.text, frozenset(aliases)))


def _name_again(indexer: Indexer, writing: WriteTransaction, entities: Collection[int]) -> None:
    """Forget some names of one partition, and learn them from what remains in the order it came.

    What was replaced since is read too: it made names known, and is tied to none.
    """
    named = writing.named
    partition = partition_of(next(iter(entities)))
    aliases = frozenset(alias for entity in entities for alias in named.aliases_of(entity))
    past = [once for once in named.past_of(partition) if _names(once, aliases)]
    relations = named.relations_of(entities)
    mentioned = {memory for entity in entities for memory in named.drop_entity(entity)}
    steps: list[TellingRow | RelationRow] = [*named.tellings(mentioned), *past, *relations]
    moved: list[tuple[int, int]] = []
    space_id = named.space_of(partition)
    for told in sorted(steps, key=lambda one: (one.recorded_s, one.no)):
        if isinstance(told, RelationRow):
            ends = indexer.cast(writing).ends(partition, space_id, told.stated)
            named.move_relation(told.no, *ends)
            moved.append(ends)
        else:
            # A name made known above was tied to this memory, which was not yet told then.
            named.unlink(told.no, aliases)
            indexer.cast(writing).name(
                told.no, space_id, told.author, told.text, linked=not told.past
            )
        writing.ties.write()
    for ends in moved:
        writing.names.relink(*ends)

"""Links memories to the entities they mention; finds or creates those while writing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from family_recall.config import RecallConfig
from family_recall.english.text import names_in, normalise
from family_recall.store.file.schema import partition_of
from family_recall.store.transaction import WriteTransaction
from family_recall.types import Person

_SCHEME = re.compile(r"^(?:https?|mailto|www) (?:www )?")


@dataclass(frozen=True, slots=True)
class _Resident:
    """A person who may enter a space, and all aliases of theirs."""

    no: int
    name: str
    aliases: tuple[str, ...]

    @classmethod
    def of(cls, no: int, person: Person) -> _Resident:
        """Return the resident that a person is."""
        aliases = [alias for name in (person.name, *person.aliases)
                   for alias in _aliases_of(name)]  # fmt: skip
        aliases += [normalise(person.person_id), f"@{person.person_id}"]
        return cls(no, person.name, tuple(dict.fromkeys(aliases)))


@dataclass(slots=True)
class _KnownNames:
    """Normalised names to look for in texts, and the words they begin with."""

    whole: set[str] = field(default_factory=set)
    first_words: set[str] = field(default_factory=set)

    def add(self, names: Iterable[str]) -> None:
        """Add names."""
        for name in names:
            self.whole.add(name)
            self.first_words.add(name.split(" ", maxsplit=1)[0])


class EntityLinker:
    """The entities of partitions, as one write transaction knows them.

    A person who may enter a space becomes an entity of a partition once it mentions them. A new
    entity is linked to the memories that mentioned it before it was known.
    """

    def __init__(self, writing: WriteTransaction, config: RecallConfig) -> None:
        self._writing = writing
        self._config = config
        self._entities: dict[int, dict[str, int]] = {}
        self._names: dict[int, _KnownNames] = {}
        self._residents: dict[str, dict[str, _Resident]] = {}
        self._authors: dict[tuple[int, str], int] = {}

    def link(
        self, memory: int, space_id: str, author: str | None, text: str, *, mention: bool = True
    ) -> None:
        """Find or create the entities of a memory, and link it to them unless not ``mention``."""
        partition = partition_of(memory)
        mentions = [
            (self.entity(partition, space_id, name), "mention", self._config.mention_weight)
            for name in self._names_in(text, partition, space_id)
        ]
        if author:
            entity = self._author(partition, space_id, author)
            mentions.append((entity, "author", self._config.author_weight))
        if mention:
            self._writing.edge_buffer.add_mentions(memory, mentions)

    def rename(self, person: Person) -> None:
        """Rename the entities of a person to their name of today; names they had remain aliases.

        What was only known by the person's id, as an author, is the person from now on, and what
        is called as they are where they may enter.
        """
        no = self._writing.household.person_no(person.person_id)
        resident = _Resident.of(no, person)
        self._residents.clear()
        self._authors.clear()
        for entity, name, is_linked in self._writing.entities.called(resident.aliases, no):
            partition = partition_of(entity)
            space_id = self._writing.household.space_of(partition)
            known = self._residents_of(space_id).get(normalise(name))
            if is_linked or name == person.person_id or (known is not None and known.no == no):
                self._writing.entities.rename(entity, person.name, no, resident.aliases)
                self._entities.pop(partition, None)
                self._names.pop(partition, None)
                self._link_earlier_memories(entity, partition, space_id, resident.aliases)

    def ends(self, partition: int, space_id: str, names: tuple[str, str]) -> tuple[int, int]:
        """Find or create the two entities of a relation."""
        subject, object_ = (self.entity(partition, space_id, name) for name in names)
        return subject, object_

    def entity(self, partition: int, space_id: str, name: str) -> int:
        """Find or create the entity of a name in a partition."""
        known = self._by_alias(partition)
        alias = normalise(name) or name
        if alias in known:
            return known[alias]
        residents = self._residents_of(space_id)
        resident = residents.get(alias) or residents.get(f"@{name}")
        if resident is None:
            aliases = _aliases_of(name)
            entity = self._writing.entities.create(partition, name, aliases)
        else:
            aliases = resident.aliases
            entity = self._writing.entities.create(partition, resident.name, aliases, resident.no)
        for each in (*aliases, alias):
            known.setdefault(each, entity)
        if partition in self._names:
            self._names[partition].add((*aliases, alias))
        self._link_earlier_memories(entity, partition, space_id, aliases)
        return entity

    def _link_earlier_memories(
        self, entity: int, partition: int, space_id: str, aliases: Iterable[str]
    ) -> None:
        mention = (entity, "mention", self._config.mention_weight)
        for alias in aliases:
            for memory, text in self._writing.naming(partition, alias):
                if alias in self._names_in(text, partition, space_id):
                    self._writing.edge_buffer.add_mentions(memory, [mention])

    def _names_in(self, text: str, partition: int, space_id: str) -> list[str]:
        """Find the normalised names in a text that some entity or resident has."""
        names = self._names.get(partition)
        if names is None:
            names = self._names[partition] = _KnownNames()
            names.add(self._by_alias(partition))
            names.add(self._residents_of(space_id))
        return names_in(text, names.whole, names.first_words)

    def _author(self, partition: int, space_id: str, author: str) -> int:
        """Find or create the entity of an author; a person is then a resident, by their id."""
        entity = self._authors.get((partition, author))
        if entity is None:
            residents, key = self._residents_of(space_id), f"@{author}"
            person = None if key in residents else self._writing.household.person(author)
            if person is not None:
                residents[key] = _Resident.of(self._writing.household.person_no(author), person)
            entity = self._authors[partition, author] = self.entity(partition, space_id, author)
        return entity

    def _by_alias(self, partition: int) -> dict[str, int]:
        if partition not in self._entities:
            self._entities[partition] = self._writing.entities.by_alias(partition)
        return self._entities[partition]

    def _residents_of(self, space_id: str) -> dict[str, _Resident]:
        """Map the aliases of the people who may enter a space; the first person has an alias."""
        if space_id not in self._residents:
            residents = self._residents.setdefault(space_id, {})
            for no, person in self._writing.entities.people_of(space_id):
                resident = _Resident.of(no, person)
                for alias in resident.aliases:
                    residents.setdefault(alias, resident)
        return self._residents[space_id]


def _aliases_of(name: str) -> tuple[str, ...]:
    """Return a name and, of several words, its first: *Fahim Khan* is also *Fahim*.

    An address is also known without its scheme and *www*.
    """
    whole = normalise(name)
    bare = _SCHEME.sub("", whole)
    other = whole.split(" ", maxsplit=1)[0] if bare == whole else bare
    return tuple(dict.fromkeys(alias for alias in (whole, other) if len(alias) > 1)) or (name,)

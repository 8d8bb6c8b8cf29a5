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


@dataclass(frozen=True, slots=True)
class _Names:
    """The aliases that a partition knows, and the words they begin with.

    Each alias has its entity, or the resident who becomes one when they are mentioned.
    """

    known: dict[str, int | _Resident]
    first_words: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Add the first word of each alias."""
        self.first_words.update(alias.split(" ", maxsplit=1)[0] for alias in self.known)

    def add(self, aliases: Iterable[str], entity: int) -> None:
        """Add a new entity; an alias that another entity has stays that one's."""
        for alias in aliases:
            if not isinstance(self.known.get(alias), int):
                self.known[alias] = entity
            self.first_words.add(alias.split(" ", maxsplit=1)[0])


class EntityLinker:
    """The entities of partitions, as one write transaction knows them.

    A person who may enter a space becomes an entity of a partition once it mentions them. A new
    entity is linked to the memories that mentioned it before it was known.
    """

    def __init__(self, writing: WriteTransaction, config: RecallConfig) -> None:
        self._writing = writing
        self._config = config
        self._names: dict[int, _Names] = {}

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
        self._names.clear()  # who has which alias may have changed
        for entity, name, is_linked in self._writing.entities.called(resident.aliases, no):
            partition = partition_of(entity)
            space_id = self._writing.household.space_of(partition)
            known = self._residents_of(space_id).get(normalise(name))
            if is_linked or name == person.person_id or (known is not None and known.no == no):
                self._writing.entities.rename(entity, person.name, no, resident.aliases)
                self._names.pop(partition, None)
                self._link_earlier_memories(entity, partition, space_id, resident.aliases)
        self.link_earlier(person)

    def link_earlier(self, person: Person) -> None:
        """Make a person an entity wherever they may enter and an earlier memory mentions them."""
        no = self._writing.household.person_no(person.person_id)
        entered = {entry.space_id for entry in self._writing.household.access(person.person_id)}
        for partition in self._writing.household.every_partition():
            if partition.space_id not in entered:
                continue
            known = self._names_of(partition.no, partition.space_id).known
            for alias in _Resident.of(no, person).aliases:
                resident = known.get(alias)
                if (
                    isinstance(resident, _Resident)
                    and resident.no == no
                    and any(
                        alias in self._names_in(text, partition.no, partition.space_id)
                        for _, text in self._writing.words.with_phrase(partition.no, alias)
                    )
                ):
                    self.entity(partition.no, partition.space_id, alias)
                    break

    def entity(self, partition: int, space_id: str, name: str) -> int:
        """Find or create the entity of a name in a partition."""
        names = self._names_of(partition, space_id)
        alias = normalise(name) or name
        known = names.known.get(alias) or names.known.get(f"@{name}")
        if isinstance(known, int):
            return known
        aliases = _aliases_of(name) if known is None else known.aliases
        create = self._writing.entities.create
        entity = (
            create(partition, name, aliases)
            if known is None
            else create(partition, known.name, aliases, known.no)
        )
        names.add((*aliases, alias), entity)
        self._link_earlier_memories(entity, partition, space_id, aliases)
        return entity

    def _link_earlier_memories(
        self, entity: int, partition: int, space_id: str, aliases: Iterable[str]
    ) -> None:
        mention = (entity, "mention", self._config.mention_weight)
        for alias in aliases:
            for memory, text in self._writing.words.with_phrase(partition, alias):
                if alias in self._names_in(text, partition, space_id):
                    self._writing.edge_buffer.add_mentions(memory, [mention])

    def _names_in(self, text: str, partition: int, space_id: str) -> list[str]:
        """Find the normalised names in a text that some entity or resident has."""
        names = self._names_of(partition, space_id)
        return names_in(text, names.known, names.first_words)

    def _author(self, partition: int, space_id: str, author: str) -> int:
        """Find or create the entity of an author; a person is then a resident, by their id."""
        known, key = self._names_of(partition, space_id).known, f"@{author}"
        if key not in known and not isinstance(known.get(normalise(author) or author), int):
            person = self._writing.household.person(author)
            if person is not None:
                known[key] = _Resident.of(self._writing.household.person_no(author), person)
        return self.entity(partition, space_id, author)

    def _names_of(self, partition: int, space_id: str) -> _Names:
        if partition not in self._names:
            entities = self._writing.entities.by_alias(partition)
            self._names[partition] = _Names({**self._residents_of(space_id), **entities})
        return self._names[partition]

    def _residents_of(self, space_id: str) -> dict[str, _Resident]:
        """Map the aliases of the people who may enter a space; the first person has an alias."""
        residents: dict[str, _Resident] = {}
        for no, person in self._writing.entities.people_of(space_id):
            resident = _Resident.of(no, person)
            for alias in resident.aliases:
                residents.setdefault(alias, resident)
        return residents


def _aliases_of(name: str) -> tuple[str, ...]:
    """Return a name and, of several words, its first: *Fahim Khan* is also *Fahim*.

    An address is also known without its scheme and *www*.
    """
    whole = normalise(name)
    bare = _SCHEME.sub("", whole)
    other = whole.split(" ", maxsplit=1)[0] if bare == whole else bare
    return tuple(dict.fromkeys(alias for alias in (whole, other) if len(alias) > 1)) or (name,)

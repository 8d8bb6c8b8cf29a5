"""The cast: who and what a partition's memories name, found or made as they are written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from family_recall.config import RecallConfig
from family_recall.query.text import names_in, normalise
from family_recall.stores.file.row_ids import partition_of
from family_recall.stores.write.transaction import WriteTransaction


class EntityLinker:
    """The names a transaction knows: each partition's own entities, and who lives in its space.

    A resident becomes an entity of a partition when first named there. A new entity is tied
    to the memories that named it before it was known.
    """

    def __init__(self, writing: WriteTransaction, config: RecallConfig) -> None:
        self._writing = writing
        self._config = config
        self._entities: dict[int, dict[str, int]] = {}
        self._names: dict[int, _Names] = {}
        self._residents: dict[str, dict[str, tuple[int, str, tuple[str, ...]]]] = {}

    def name(
        self,
        memory_id: int,
        space_id: str,
        author: str | None,
        text: str,
        *,
        linked: bool = True,
    ) -> None:
        """Make known whom a memory names; ``linked`` says whether it is tied to them."""
        partition = partition_of(memory_id)
        mentions = [
            (self.entity(partition, space_id, name), "mention", self._config.mention_weight)
            for name in self.names_in(text, partition, space_id)
        ]
        if author:
            entity = self.entity(partition, space_id, author)
            mentions.append((entity, "author", self._config.author_weight))
        if linked:
            self._writing.ties.link(memory_id, mentions)

    def ends(self, partition: int, space_id: str, names: tuple[str, str]) -> tuple[int, int]:
        """Find or make the two entities of a relation."""
        subject, object_ = names
        return (
            self.entity(partition, space_id, subject),
            self.entity(partition, space_id, object_),
        )

    def names_in(self, text: str, partition: int, space_id: str) -> list[str]:
        """Find the normalised names in a text that mean somebody or something here."""
        names = self._names.get(partition)
        if names is None:
            names = self._names[partition] = _Names()
            names.add(self._known(partition))
            names.add(self._people(space_id))
        return names_in(text, names.whole, names.beginnings)

    def entity(self, partition: int, space_id: str, name: str) -> int:
        """Find or make the entity a name stands for in a partition."""
        known = self._known(partition)
        alias = normalise(name) or name
        if alias in known:
            return known[alias]
        resident = self._people(space_id).get(alias) or self._people(space_id).get(f"@{name}")
        if resident is not None:
            person, full_name, aliases = resident
            entity = self._writing.names.new_entity(partition, full_name, aliases, person)
        else:
            aliases = _aliases_of(name)
            entity = self._writing.names.new_entity(partition, name, aliases)
        for each in (*aliases, alias):
            known.setdefault(each, entity)
        if partition in self._names:
            self._names[partition].add((*aliases, alias))
        for each in aliases:
            for memory, text in self._writing.saying(partition, each):
                if each in self.names_in(text, partition, space_id):
                    weight = self._config.mention_weight
                    self._writing.names.link(memory, [(entity, "mention", weight)])
        return entity

    def _known(self, partition: int) -> dict[str, int]:
        if partition not in self._entities:
            self._entities[partition] = self._writing.names.aliases(partition)
        return self._entities[partition]

    def _people(self, space_id: str) -> dict[str, tuple[int, str, tuple[str, ...]]]:
        if space_id not in self._residents:
            people = self._residents.setdefault(space_id, {})
            for number, person in self._writing.names.residents(space_id):
                names = [alias for name in (person.name, *person.aliases)
                         for alias in _aliases_of(name)]  # fmt: skip
                names += [normalise(person.person_id), f"@{person.person_id}"]
                found = (number, person.name, tuple(dict.fromkeys(names)))
                for alias in found[2]:
                    people.setdefault(alias, found)
        return self._residents[space_id]


@dataclass(slots=True)
class _Names:
    """Normalised names to look for in texts, and the words they begin with."""

    whole: set[str] = field(default_factory=set)
    beginnings: set[str] = field(default_factory=set)

    def add(self, names: Iterable[str]) -> None:
        """Add some."""
        for name in names:
            self.whole.add(name)
            self.beginnings.add(name.split(" ", maxsplit=1)[0])


def _aliases_of(name: str) -> tuple[str, ...]:
    """A name and, of a name of several words, its first: *Fahim Khan* is also *Fahim*."""
    whole = normalise(name)
    first = whole.split(" ", maxsplit=1)[0]
    return tuple(dict.fromkeys(alias for alias in (whole, first) if len(alias) > 1)) or (name,)

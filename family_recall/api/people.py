"""Who lives in the household, and who is whose guardian."""

from __future__ import annotations

from family_recall.access import accessible_spaces
from family_recall.api.engine import Engine
from family_recall.types import Person


class People:
    """The people of a household, and their guardians."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, person: Person) -> None:
        """Add a person, or change the name and aliases of one that is there."""
        with self._engine.store.writing() as writing:
            writing.household.put_person(person)

    def all(self, person_id: str | None = None) -> list[Person]:
        """List the people, by id; for a person, who may enter a space that they may enter too.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        with self._engine.store.reading() as tables:
            if person_id is None:
                return tables.household.people()
            return accessible_spaces.people(tables.household, person_id, self._engine.wall_clock())

    def add_guardian(self, person_id: str, child_id: str) -> None:
        """Make a person the guardian of a child: they may see what is told for guardians only.

        Raises:
            UnknownPersonError: If one of the two is not there.
        """
        with self._engine.store.writing() as writing:
            writing.household.put_guardian(person_id, child_id)

    def remove_guardian(self, person_id: str, child_id: str) -> bool:
        """Make a person a child's guardian no longer; False where they were none.

        Raises:
            UnknownPersonError: If one of the two is not there.
        """
        with self._engine.store.writing() as writing:
            return writing.household.remove_guardian(person_id, child_id)

    def guardians(self) -> dict[str, tuple[str, ...]]:
        """Name each child's guardians, by id."""
        with self._engine.store.reading() as tables:
            return tables.household.guardians()

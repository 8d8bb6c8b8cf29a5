"""The people of a household, and who is whose guardian."""

from __future__ import annotations

from family_recall.access import policy
from family_recall.api.engine import Engine
from family_recall.types import Person
from family_recall.types.checked import checked


@checked
class People:
    """The people of a household, and their guardians."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, person: Person) -> None:
        """Add a person, or change the name and aliases of one that is there.

        Their name stands in the index of what they said. With another name, that is indexed again
        at once, which takes about as long as storing it did; its vectors are pending until
        ``home.flush``.
        """
        self._engine.indexer.put_person(person)

    def all(self, person_id: str | None = None) -> list[Person]:
        """List the people, by id; for one person, those who may enter a space that they may.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        wall_s = self._engine.wall_clock()
        with self._engine.store.reading() as tables:
            household = tables.household
            everyone = household.people()
            if person_id is None:
                return everyone

            def spaces_of(who: str) -> set[str]:
                return set(policy.entered(household.access(who), wall_s))

            own = spaces_of(person_id)
            return [
                person
                for person in everyone
                if person.person_id == person_id or own & spaces_of(person.person_id)
            ]

    def add_guardian(self, person_id: str, child_id: str) -> None:
        """Make a person the guardian of a child, who sees what is stored for guardians only.

        Raises:
            UnknownPersonError: If one of the two is not there.
        """
        with self._engine.store.writing() as writing:
            writing.household.put_guardian(person_id, child_id)

    def remove_guardian(self, person_id: str, child_id: str) -> bool:
        """End a guardianship; False where there was none.

        Raises:
            UnknownPersonError: If one of the two is not there.
        """
        with self._engine.store.writing() as writing:
            return writing.household.remove_guardian(person_id, child_id)

    def guardians(self) -> dict[str, tuple[str, ...]]:
        """Return each child's guardians, by id."""
        with self._engine.store.reading() as tables:
            return tables.household.guardians()

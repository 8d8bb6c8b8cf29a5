"""The people of a household and the guardians of children."""

from __future__ import annotations

from typing import Literal, overload

from family_recall.access import policy
from family_recall.api.arguments import Part
from family_recall.remember import people
from family_recall.types import Person
from family_recall.types.erasure import About, Receipt, RemovalPlan, Said


class People(Part):
    """The people of a household, and their guardians."""

    def add(self, person: Person) -> None:
        """Add a person, or change their name and aliases.

        The index of their memories contains their name. If it changes, their memories are indexed
        again, which takes about as long as storing them; vectors are pending until ``home.flush``.
        """
        with self._engine.store.writing() as writing:
            people.put(writing, self._engine.indexer.writer(writing).linker, person)
        self._engine.clean()

    @overload
    def remove(
        self, person_id: str, *, said: Said, about: About = "keep", dry_run: Literal[True]
    ) -> RemovalPlan: ...

    @overload
    def remove(
        self,
        person_id: str,
        *,
        said: Said,
        about: About = "keep",
        dry_run: Literal[False] = False,
        token: str | None = None,
    ) -> Receipt: ...

    def remove(
        self,
        person_id: str,
        *,
        said: Said,
        about: About = "keep",
        dry_run: bool = False,
        token: str | None = None,
    ) -> RemovalPlan | Receipt:
        """Remove a person: their name, grants, guardianships, feedback and learned weights.

        Memories that nobody else could read are forgotten: those in private spaces that only they
        may enter (unless granted to somebody before), and those for their own guardians. Their
        calls are deleted from the audit log, and from the trash what they said or alone could
        restore. It cannot be undone. With ``said="forget"`` and ``about="forget"`` no byte of their
        name and id is left in the file, if texts, titles, summaries, sections, fact values and
        labels name them by a name that nobody else here has.

        Args:
            person_id: The person.
            said: What happens to memories by them: ``"keep"`` leaves them in their name;
                ``"nobody"`` removes the author, with vectors pending until ``home.flush``;
                ``"forget"`` forgets them.
            about: What happens to others' memories that mention them: ``"keep"`` or ``"forget"``.
            dry_run: Return what would change, and change nothing.
            token: The token of the dry run's ``forgotten``; needed to forget several memories.

        Returns:
            The receipt, even if nothing was forgotten; with ``dry_run`` the plan.

        Raises:
            UnknownPersonError: If there is no such person.
            InvalidRequestError: If a choice is invalid, or they are the only guardian of a child
                with memories for guardians.
            UnconfirmedError: If a token is needed, or confirms other memories.
        """
        if dry_run:
            return self._engine.forgetter.plan_removal(person_id, said, about)
        return self._engine.forget(
            lambda wall_s: self._engine.forgetter.remove_person(
                person_id, said, about, token=token, wall_s=wall_s
            )
        )

    def all(self, person_id: str | None = None) -> list[Person]:
        """List the people by id; with ``person_id`` those who share a space with that person.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        wall_s = self._engine.wall_clock()
        with self._engine.store.reading() as tables:
            return policy.known_people(tables.household, person_id, wall_s)

    def add_guardian(self, person_id: str, child_id: str) -> None:
        """Make a person the guardian of a child, to see memories for guardians only.

        Raises:
            UnknownPersonError: If one of them does not exist.
        """
        with self._engine.store.writing() as writing:
            writing.household.put_guardian(person_id, child_id)

    def remove_guardian(self, person_id: str, child_id: str) -> bool:
        """End a guardianship; return False if there was none.

        Raises:
            UnknownPersonError: If one of them does not exist.
        """
        with self._engine.store.writing() as writing:
            return writing.household.remove_guardian(person_id, child_id)

    def guardians(self) -> dict[str, tuple[str, ...]]:
        """Return each child's guardians, by id."""
        with self._engine.store.reading() as tables:
            return tables.household.guardians()

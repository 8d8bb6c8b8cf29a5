"""The people of a household, and who is whose guardian."""

from __future__ import annotations

from typing import Literal, overload

from family_recall.access import policy
from family_recall.api.keywords import Part
from family_recall.remember import people
from family_recall.types import Person
from family_recall.types.erasure import About, Receipt, RemovalPlan, Said


class People(Part):
    """The people of a household, and their guardians."""

    def add(self, person: Person) -> None:
        """Add a person, or change the name and aliases of one that is there.

        Their name stands in the index of what they said. With another name, that is indexed again
        at once, which takes about as long as storing it did; its vectors are pending until
        ``home.flush``.
        """
        with self._engine.store.writing() as writing:
            people.put(writing, self._engine.indexer.writer(writing).linker, person)

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
        """Remove a person: their name, grants, guardianships, feedback and what was learned of it.

        What nobody could read without them is forgotten: what is in a private space that only they
        may enter (grant it to somebody before, and it stays), and what is for their own guardians.
        Their calls go from the audit log, and from the trash what they said or alone could restore.
        It cannot be undone. With ``said="forget"`` and ``about="forget"`` no byte of their name
        and id is left in the file, as far as texts, titles, summaries, sections, fact values and
        labels name them by a name that nobody else here has.

        Args:
            person_id: Who is removed.
            said: What becomes of what they said: ``"keep"`` keeps it in their name, as that of
                somebody who does not live here; ``"nobody"`` takes the author off, its vectors
                being pending until ``home.flush``; ``"forget"`` forgets it.
            about: What becomes of what others said that mentions them: ``"keep"`` or ``"forget"``.
            dry_run: Report what would go and stay, and change nothing.
            token: That of the dry run's ``forgotten``; needed for more than one forgotten memory.

        Returns:
            The receipt of what was forgotten, be it nothing; with ``dry_run``, the plan.

        Raises:
            UnknownPersonError: If there is no such person.
            InvalidRequestError: If a choice is none of these, or they are the only guardian of a
                child for whose guardians something is stored.
            UnconfirmedError: If a token is needed, or confirms something else.
        """
        if dry_run:
            return self._engine.forgetter.plan_removal(person_id, said, about)
        return self._engine.forget(
            lambda wall_s: self._engine.forgetter.remove_person(
                person_id, said, about, token=token, wall_s=wall_s
            )
        )

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

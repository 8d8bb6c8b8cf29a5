"""List a household's people and spaces, all of them or those that one person may know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from family_recall.apps.cli.output import Output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import family_recall as fr


@dataclass(frozen=True, slots=True)
class Household:
    """People, spaces, who may enter them, and what roles do not see."""

    people: list[fr.Person]
    spaces: list[fr.Space]
    grants: list[fr.Grant]
    guardians: dict[str, tuple[str, ...]]
    hidden: list[fr.Hidden]

    @classmethod
    def seen_by(cls, home: fr.FamilyRecall, person_id: str | None = None) -> Household:
        """Return what a person may know: that of the spaces they may enter; everything for None.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        people, spaces = home.people.all(person_id), home.spaces.all(person_id)
        person_ids = {person.person_id for person in people}
        space_ids = {space.space_id for space in spaces}
        return cls(
            people,
            spaces,
            [grant for grant in home.spaces.grants() if grant.space_id in space_ids],
            {
                child: guardians
                for child, guardians in home.people.guardians().items()
                if person_id is None or (child in person_ids and person_id in (child, *guardians))
            },
            [hidden for hidden in home.spaces.hidden() if hidden.space_id in space_ids],
        )

    def people_output(self) -> Output:
        """Return the people with their spaces and guardians."""
        record = [
            {
                "person_id": person.person_id,
                "name": person.name,
                "aliases": list(person.aliases),
                "spaces": {grant.space_id: grant.role for grant in self._granted_to(person)},
                "guardians": list(self.guardians.get(person.person_id, ())),
            }
            for person in self.people
        ]
        return Output({"people": record}, self._people_lines())

    def spaces_output(self) -> Output:
        """Return the spaces with their grants and hidden fields."""
        record = [
            {
                "space_id": space.space_id,
                "kind": space.kind,
                "name": space.name,
                "everybody": space.kind == "household",
                "grants": [
                    {
                        "person_id": grant.person_id,
                        "role": grant.role,
                        "expires_at": grant.expires_at.isoformat() if grant.expires_at else None,
                    }
                    for grant in self._grants_of(space)
                ],
                "hidden": {
                    hidden.role: list(hidden.fields)
                    for hidden in self.hidden
                    if hidden.space_id == space.space_id
                },
            }
            for space in self.spaces
        ]
        return Output({"spaces": record}, self._space_lines())

    def _granted_to(self, person: fr.Person) -> list[fr.Grant]:
        return [grant for grant in self.grants if grant.person_id == person.person_id]

    def _grants_of(self, space: fr.Space) -> list[fr.Grant]:
        return [grant for grant in self.grants if grant.space_id == space.space_id]

    def _people_lines(self) -> Iterator[str]:
        for person in self.people:
            also = f", also {', '.join(person.aliases)}" if person.aliases else ""
            spaces = [f"{grant.space_id} ({_role(grant)})" for grant in self._granted_to(person)]
            yield f"{person.person_id}: {person.name}{also}; in {', '.join(spaces) or 'no space'}"
        for child, guardians in self.guardians.items():
            yield f"guardians of {child}: {', '.join(guardians)}"

    def _space_lines(self) -> Iterator[str]:
        for space in self.spaces:
            seen_by = [f"{grant.person_id} ({_role(grant)})" for grant in self._grants_of(space)]
            seen_by += ["everybody here"] * (space.kind == "household")
            name = f" {space.name}" if space.name else ""
            yield (
                f"{space.kind} space {space.space_id}{name}: "
                f"seen by {', '.join(seen_by) or 'nobody yet'}"
            )
        for hidden in self.hidden:
            fields = ", ".join(hidden.fields)
            yield f"in {hidden.space_id} the role {hidden.role} does not see: {fields}"


def changed_output(home: fr.FamilyRecall, change: Callable[[], object]) -> Output:
    """Change who lives here or who sees what; return the lines that read otherwise than before."""
    before = set(household_output(home).lines)
    change()
    output = household_output(home)
    changed = [line for line in output.lines if line not in before]
    return Output(output.record, changed or ["nothing changed: it was so already"])


def household_output(home: fr.FamilyRecall) -> Output:
    """Return who lives here and who sees what."""
    household = Household.seen_by(home)
    people, spaces = household.people_output(), household.spaces_output()
    path = click.get_current_context().params["db"]
    return Output(
        {"path": str(path), **people.record, **spaces.record}, [*people.lines, *spaces.lines]
    )


def _role(grant: fr.Grant) -> str:
    until = f" until {grant.expires_at:%Y-%m-%d}" if grant.expires_at else ""
    return f"{grant.role}{until}"

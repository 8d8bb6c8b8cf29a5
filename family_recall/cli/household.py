"""A household's people and spaces in, as the whole or as a person may know them; lines out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from family_recall.cli.base import one_line, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    import family_recall as fr


@dataclass(frozen=True, slots=True)
class Household:
    """Who lives here, where things belong, who may enter, and what roles do not see."""

    people: list[fr.Person]
    spaces: list[fr.Space]
    grants: list[fr.Grant]
    guardians: dict[str, tuple[str, ...]]
    hidden: list[fr.Hidden]

    @classmethod
    def seen_by(cls, home: fr.FamilyRecall, person_id: str | None = None) -> Household:
        """Give what a person may know of it: of the spaces they may enter; all of it for None.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        people, spaces = home.people.all(person_id), home.spaces.all(person_id)
        who = {person.person_id for person in people}
        where = {space.space_id for space in spaces}
        return cls(
            people,
            spaces,
            [grant for grant in home.spaces.grants() if grant.space_id in where],
            {
                child: known
                for child, known in home.people.guardians().items()
                if person_id is None or (child in who and person_id in (child, *known))
            },
            [hidden for hidden in home.spaces.hidden() if hidden.space_id in where],
        )

    def people_told(self) -> list[dict[str, Any]]:
        """Give the people for a program."""
        return [
            {
                "person_id": one.person_id,
                "name": one.name,
                "aliases": list(one.aliases),
                "spaces": {g.space_id: g.role for g in self.grants if g.person_id == one.person_id},
                "guardians": list(self.guardians.get(one.person_id, ())),
            }
            for one in self.people
        ]

    def spaces_told(self) -> list[dict[str, Any]]:
        """Give the spaces for a program."""
        return [
            {
                "space_id": one.space_id,
                "kind": one.kind,
                "name": one.name,
                "everybody": one.kind == "household",
                "grants": [_granted(g) for g in self.grants if g.space_id == one.space_id],
                "hidden": {
                    h.role: list(h.fields) for h in self.hidden if h.space_id == one.space_id
                },
            }
            for one in self.spaces
        ]

    def people_lines(self) -> Iterator[str]:
        """Tell of the people, one a line, and of guardians."""
        for one in self.people:
            also = f", also {', '.join(one.aliases)}" if one.aliases else ""
            ways = [
                f"{g.space_id} ({g.role}{_until(g)})"
                for g in self.grants
                if g.person_id == one.person_id
            ]
            yield f"{one.person_id}: {one.name}{also}; in {', '.join(ways) or 'no space of these'}"
        for child, known in self.guardians.items():
            yield f"guardians of {child}: {', '.join(known)}"

    def spaces_lines(self) -> Iterator[str]:
        """Tell of the spaces, one a line, and of what roles do not see."""
        for one in self.spaces:
            seen_by = [
                f"{g.person_id} ({g.role}{_until(g)})"
                for g in self.grants
                if g.space_id == one.space_id
            ] + ["everybody here"] * (one.kind == "household")
            name = f" {one.name}" if one.name else ""
            yield (
                f"{one.kind} space {one.space_id}{name}: "
                f"seen by {', '.join(seen_by) or 'nobody yet'}"
            )
        for kept in self.hidden:
            yield f"in {kept.space_id} a role {kept.role} does not see: {', '.join(kept.fields)}"


def show(home: fr.FamilyRecall, db: Path, *, as_json: bool) -> None:
    """Print who lives here and who sees what; every command that changes it ends with it."""
    whole = Household.seen_by(home)
    if as_json:
        print_json({
            "path": str(db), "people": whole.people_told(), "spaces": whole.spaces_told(),
        })  # fmt: skip
        return
    for line in (*whole.people_lines(), *whole.spaces_lines()):
        click.echo(one_line(line))


def _granted(grant: fr.Grant) -> dict[str, Any]:
    expires = grant.expires_at.isoformat() if grant.expires_at else None
    return {"person_id": grant.person_id, "role": grant.role, "expires_at": expires}


def _until(grant: fr.Grant) -> str:
    return f" until {grant.expires_at:%Y-%m-%d}" if grant.expires_at else ""

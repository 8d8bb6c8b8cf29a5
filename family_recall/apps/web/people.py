"""The page of a household: its spaces, its people, and the names its memories mention."""

from __future__ import annotations

from starlette.datastructures import QueryParams

from family_recall.apps.web.pages import Page, Reader

MAX_NAMES = 60


def page(reader: Reader, _: QueryParams) -> Page:
    """Show the household as one person may see it."""
    guardians = reader.home.people.guardians()
    people = reader.home.people.all(reader.person_id)
    names = {person.person_id: person.name for person in people}
    return Page(
        "people.jinja",
        {
            "spaces": reader.spaces(),
            "people": people,
            "children": [
                names.get(child, child)
                for child, theirs in guardians.items()
                if reader.person_id in theirs
            ],
            "names": reader.home.memories.entities(reader.ctx, limit=MAX_NAMES),
        },
    )

"""People: who looks in; the spaces they may enter, who else may, and who is talked about, out."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.datastructures import QueryParams

from family_recall.reports.markup import Markup, joined, spoken, tag
from family_recall.types import AccessibleSpace
from family_recall.web.layout import NOTHING, Page, Reader, items, section, to

NAMES = 60
_A = {"owner": "the owner", "adult": "an adult", "child": "a child", "guest": "a guest",
      "device": "a device"}  # fmt: skip


def page(reader: Reader, _: QueryParams) -> Page:
    """Show the household as one person may see it."""
    rooms = list(reader.rooms().values())
    spaces = tag("ul", *map(_room, rooms), class_="memories")
    none = tag("p", "There is no space that you may enter.", class_="quiet")
    return Page(
        title="People and spaces",
        body=joined(
            section("Spaces", spaces if rooms else none, id_="spaces"),
            section("People", items(list(_people(reader)), "memories"), id_="people"),
            _names(reader),
        ),
        place="/people",
    )


def _room(room: AccessibleSpace) -> Markup:
    space = room.space
    who = [tag("li", spoken(person.name), f", {role}") for person, role in room.people]
    memories = "1 memory" if room.n_memories == 1 else f"{room.n_memories:,} memories"
    without = f"without {_listed(room.hidden)}" if room.hidden else ""
    return tag(
        "li",
        tag("a", tag("b", spoken(space.name or space.space_id)),
            href=to("/look", space=space.space_id)),
        tag(
            "p",
            tag("span", space.kind, class_="chip"),
            tag("span", memories),
            tag("span", f"you are {_A[room.role]} there, and see {_listed(room.bands)}"),
            *([tag("span", without, class_="warn")] if without else []),
            class_="about",
        ),
        *([items(who, "names")] if who else []),
    )  # fmt: skip


def _people(reader: Reader) -> Iterator[Markup]:
    """List who shares a space with the reader, and whose guardians are who."""
    guardians = reader.home.people.guardians()
    for person in reader.home.people.all(reader.person_id):
        person_id, me = person.person_id, person.person_id == reader.person_id
        wards = [child for child, theirs in guardians.items() if me and person_id in theirs]
        yield tag(
            "li",
            tag("a", tag("b", spoken(person.name)), href=to("/look", about=person.name)),
            tag(
                "p",
                spoken(person_id, class_="id"),
                *([tag("span", "that is you")] if me else []),
                *(
                    [tag("span", "also ", spoken(", ".join(person.aliases)))]
                    if person.aliases
                    else []
                ),
                *([tag("span", "guardian of ", spoken(", ".join(wards)))] if wards else []),
                class_="about",
            ),
        )


def _names(reader: Reader) -> Markup:
    names = reader.home.memories.names(reader.ctx, limit=NAMES)
    if not names:
        return NOTHING
    links = [
        tag("li", tag("a", spoken(one.name), " ", tag("small", f"{one.n_memories:,}"),
                      href=to("/look", about=one.name), class_="chip"))
        for one in names
    ]  # fmt: skip
    return section("Who and what is talked about", items(links, "names"), id_="names")


def _listed(words: tuple[str, ...]) -> str:
    first, last = ", ".join(words[:-1]), words[-1]
    return f"{first} and {last}" if first else last

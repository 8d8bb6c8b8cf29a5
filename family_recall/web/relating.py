"""Relating: a form in; a relation that rests on a memory, or one less, out."""

from __future__ import annotations

from starlette.datastructures import QueryParams

from family_recall.reports.markup import Markup, joined, shown, spoken, tag
from family_recall.types import Memory, Relation
from family_recall.web.editing import buttons, found, mendable
from family_recall.web.layout import (
    Page,
    Reader,
    form,
    labelled,
    param,
    space_name,
    text_input,
    to,
    to_memory,
)

_NAMED = ("subject", "relation", "object", "since")


def page(reader: Reader, params: QueryParams) -> Page:
    """Show the form that relates two named things, with a memory as the evidence."""
    detail = mendable(reader, params)
    memory = detail.kept.memory
    names = tag("datalist", *(tag("option", value=name) for name, _ in detail.names), id="names")
    return Page(
        title="Relate",
        kicker=space_name(memory.space_id, reader.rooms()),
        body=form(
            reader,
            to_memory(memory, "/relate"),
            spoken(memory.text[:400], element="p", class_="quoted"),
            tag(
                "div",
                labelled("Who or what", text_input("subject", list="names", required="required")),
                labelled("is what to it", text_input("relation", required="required",
                                                     placeholder="married to")),
                labelled("Whom or what", text_input("object", list="names", required="required")),
                class_="fields",
            ),
            names,
            tag("p", "It holds for everybody who sees this memory, and goes when it is forgotten.",
                class_="quiet"),
            buttons("Keep the relation", memory),
            class_="card",
        ),
        place="/look",
    )  # fmt: skip


def relate(reader: Reader, params: QueryParams, sent: QueryParams) -> str:
    """Keep a relation, seen by those who see the memory it rests on."""
    memory = found(reader, params).kept.memory
    reader.home.relations.add(
        Relation(
            subject=param(sent, "subject"),
            relation=param(sent, "relation"),
            object=param(sent, "object"),
            space_id=memory.space_id,
            band=memory.band,
            evidence=(str(memory.doc_id),),
            guardians_of=memory.guardians_of,
        ),
        person_id=reader.person_id,
    )
    return to("/memory", id=memory.doc_id, space=memory.space_id, said="related")


def unrelate(reader: Reader, params: QueryParams, sent: QueryParams) -> str:
    """Take a relation back that is shown with a memory."""
    del sent
    detail = found(reader, params)
    meant = {name: params[name] for name in _NAMED if params.get(name)}
    told = [one for one in detail.relations if _named(one) == meant]
    gone = [reader.home.relations.remove(one, person_id=reader.person_id) for one in told]
    memory = detail.kept.memory
    said = "unrelated" if any(gone) else "unchanged"
    return to("/memory", id=memory.doc_id, space=memory.space_id, said=said)


def told_of(reader: Reader, memory: Memory, relation: Relation) -> Markup:
    """Show a relation, with the button that takes it back where that is the reader's to do."""
    what = joined(
        spoken(relation.subject),
        " ",
        tag("b", spoken(relation.relation.replace("_", " "))),
        " ",
        spoken(relation.object),
    )
    if reader.read_only or not reader.home.relations.may_remove(
        relation, person_id=reader.person_id
    ):
        return tag("li", what)
    action = to("/unrelate", id=memory.doc_id, space=memory.space_id, **_named(relation))
    whole = shown(f"{relation.subject} {relation.relation} {relation.object}")
    button = tag("button", "Take it back", aria_label=f"Take it back: {whole}")
    return tag("li", what, " ", form(reader, action, button))


def _named(relation: Relation) -> dict[str, str]:
    """Give what says, in a link, which of a memory's relations is meant."""
    since = relation.valid_from.isoformat() if relation.valid_from else None
    values = (relation.subject, relation.relation, relation.object, since)
    return {name: value for name, value in zip(_NAMED, values, strict=True) if value}

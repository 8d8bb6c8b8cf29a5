"""Relating: a form in, a relation between two named things with a memory as its evidence out."""

from __future__ import annotations

from starlette.datastructures import QueryParams

from family_recall.browsing.correcting import buttons, mendable
from family_recall.browsing.layout import (
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
from family_recall.inspecting.markup import spoken, tag
from family_recall.types import Relation


def page(reader: Reader, params: QueryParams) -> Page:
    """Show the form that relates two named things, with a memory as the evidence."""
    detail, rooms = mendable(reader, params)
    memory = detail.kept.memory
    names = tag("datalist", *(tag("option", value=name) for name, _ in detail.names), id="names")
    return Page(
        title="Relate",
        kicker=space_name(memory.space_id, rooms),
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
    detail, _ = mendable(reader, params)
    memory = detail.kept.memory
    reader.home.relate(
        Relation(
            subject=param(sent, "subject"),
            relation=param(sent, "relation"),
            object=param(sent, "object"),
            space_id=memory.space_id,
            band=memory.band,
            evidence=(str(memory.doc_id),),
            guardians_of=memory.guardians_of,
        )
    )
    return to("/memory", id=memory.doc_id, space=memory.space_id, said="related")

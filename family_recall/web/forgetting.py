"""Forgetting: a memory in; what would go, then a receipt, and the way back while it lasts, out."""

from __future__ import annotations

import datetime as dt

from starlette.datastructures import QueryParams

from family_recall.errors import InvalidRequestError, NotTheirsError
from family_recall.reports.markup import Markup, joined, spoken, table, tag
from family_recall.types import AccessibleSpace, ForgetPlan, Receipt
from family_recall.web.editing import chosen_memory, found
from family_recall.web.layout import (
    NOTHING,
    Page,
    Reader,
    chosen,
    form,
    items,
    labelled,
    notice,
    param,
    said_when,
    section,
    space_name,
    to,
    to_memory,
)

KEPT_ASIDE = (
    ("7", "for a week, unseen, so that it can be brought back"),
    ("1", "for a day, unseen, so that it can be brought back"),
    ("0", "not at all: no byte of it is left at once"),
)
"""How long what is forgotten may be kept aside: days, and what is read."""
_SHOWN_RECEIPTS = 200
_ROWS = {
    "memory": "versions of them",
    "embedding": "vectors",
    "edge": "links",
    "mention": "names in them",
    "identifier": "identifiers",
    "relation": "relations",
    "judgement": "judgements",
    "shown": "what was judged beside them",
    "audit_memory": "entries in the log of recalls",
    "entity": "names nobody else said",
    "alias": "spellings of those names",
}


def page(reader: Reader, params: QueryParams) -> Page:
    """Show exactly what would go; nothing is changed."""
    rooms = reader.rooms()
    memory = found(reader, params).kept.memory
    plan = reader.home.forget(chosen_memory(memory), person_id=reader.person_id, dry_run=True)
    if plan.held_back or not plan.doc_ids:
        raise NotTheirsError("only whoever said this, or an owner of its space, may forget it")
    ask = form(
        reader,
        to_memory(memory, "/forget"),
        tag("input", type="hidden", name="confirm", value=plan.token),
        labelled("Keep it aside", chosen("days", KEPT_ASIDE, "7"), wide=True),
        tag("p", "Backups and exports are files of their own, and are not touched.",
            class_="quiet"),
        tag(
            "div",
            tag("button", "Forget this", class_="danger"),
            tag("a", "Leave it as it is", href=to_memory(memory)),
            class_="row",
        ),
        class_="card",
    )  # fmt: skip
    return Page(
        title="Forget this?",
        kicker="Nothing has been changed yet",
        body=joined(section("What would go", _plan(plan, rooms), id_="plan"), ask),
        place="/look",
    )


def forget(reader: Reader, params: QueryParams, sent: QueryParams) -> str:
    """Forget what a dry run showed, and nothing else."""
    memory = found(reader, params).kept.memory
    days = param(sent, "days")
    if days not in dict(KEPT_ASIDE):
        raise InvalidRequestError(f"it can be kept aside for 7, 1 or 0 days, got {days!r}")
    done = reader.home.forget(
        chosen_memory(memory),
        person_id=reader.person_id,
        token=param(sent, "confirm"),
        undo_for=dt.timedelta(days=int(days)) if days != "0" else None,
    )
    return to("/receipt", id=done.receipt_id)


def receipt(reader: Reader, params: QueryParams) -> Page:
    """Show what went, in numbers; with proof where it is wanted and nothing is kept aside."""
    found = _receipt(reader, param(params, "id"))
    rows = [
        tag(
            "tr",
            tag("th", _ROWS.get(name, name.replace("_", " ")), scope="row"),
            tag("td", f"{n:,}", class_="n"),
        )
        for name, n in found.counts.items()
    ]
    proof = [_proof(reader, found)] if param(params, "proof") else []
    look = tag(
        "a", "Look for what is left of it", href=to("/receipt", id=found.receipt_id, proof="yes")
    )
    return Page(
        title="Forgotten",
        lead=tag(
            "p",
            tag("span", _moment(reader, found.at)),
            tag("span", "by ", spoken(found.person_id or "")),
            tag("span", "receipt ", tag("span", found.receipt_id, class_="id")),
            class_="summary",
        ),
        body=joined(
            _way_back(reader, found),
            *proof,
            section(
                "What went",
                table("Rows, by what they were", ("What", "Rows"), *rows, class_="counted"),
                *([] if proof or found.undo_until else [tag("p", look)]),
                id_="went",
            ),
        ),
        place="/forgotten",
    )


def undo(reader: Reader, params: QueryParams, _: QueryParams) -> str:
    """Bring back what is kept aside."""
    found = _receipt(reader, param(params, "id"))
    reader.home.erasure.undo(found.receipt_id, person_id=reader.person_id)
    return to("/forgotten", said="undone")


def forgotten(reader: Reader, params: QueryParams) -> Page:
    """List what this reader had forgotten, the newest first."""
    mine = [one for one in reader.home.erasure.receipts() if one.person_id == reader.person_id]
    said = [notice("It is back.")] if param(params, "said") == "undone" else []
    told = [
        tag(
            "li",
            tag("a", _moment(reader, one.at), href=to("/receipt", id=one.receipt_id)),
            tag(
                "p",
                tag("span", _memories(one.counts.get("memories", 0))),
                *_aside(reader, one),
                class_="about",
            ),
        )
        for one in mine[:_SHOWN_RECEIPTS]
    ]  # fmt: skip
    nothing = tag("p", "You had nothing forgotten.", class_="quiet")
    return Page(
        title="Forgotten",
        lead=tag("p", "Receipts hold numbers, and no word of what went.", class_="quiet"),
        body=joined(*said, items(told, "memories") if told else nothing),
        place="/forgotten",
    )


def _plan(plan: ForgetPlan, rooms: dict[str, AccessibleSpace]) -> Markup:
    told = [
        tag(
            "li",
            spoken(one.text, element="p", class_="text"),
            tag(
                "p",
                *([spoken(one.author)] if one.author else []),
                *([tag("span", one.occurred_at[:10])] if one.occurred_at else []),
                spoken(space_name(one.space_id, rooms), class_="chip"),
                class_="about",
            ),
        )
        for one in plan.examples
    ]
    counts = [
        ("memory" if len(plan.doc_ids) == 1 else "memories", len(plan.doc_ids)),
        ("version of it" if plan.n_versions == 1 else "versions in all", plan.n_versions),
        ("other loses its turn before", plan.neighbours),
    ]
    numbers = (tag("div", tag("dd", f"{n:,}"), tag("dt", name)) for name, n in counts if n)
    why = (
        "With it go its words, vectors, links, identifiers and judgements, names that nobody else "
        "said, and relations that rest on it alone."
    )
    return joined(
        tag("dl", *numbers, class_="counts"),
        items(told, "memories"),
        tag("p", why, class_="quiet"),
    )


def _way_back(reader: Reader, found: Receipt) -> Markup:
    if not _is_aside(reader, found):
        return NOTHING
    return form(
        reader,
        to("/undo", id=found.receipt_id),
        tag("p", "It is ", *_aside(reader, found), ". Until then its bytes are in the file."),
        tag("button", "Bring it back", class_="main"),
        class_="card",
    )  # fmt: skip


def _proof(reader: Reader, found: Receipt) -> Markup:
    proven = reader.home.erasure.verify(found)
    read = f"{proven.bytes_read:,} bytes were read."
    if proven.forgotten:
        return notice(f"Nothing of it is left. {read}")
    return notice(f"Something of it is left: {proven.to_json()}. {read}", bad=True)


def _receipt(reader: Reader, receipt_id: str) -> Receipt:
    for one in reader.home.erasure.receipts():
        if one.receipt_id == receipt_id and one.person_id == reader.person_id:
            return one
    raise InvalidRequestError(f"there is no receipt {receipt_id!r} of yours")


def _aside(reader: Reader, found: Receipt) -> list[Markup]:
    """Say until when something is kept aside; nothing where it is not."""
    if not _is_aside(reader, found):
        return []
    return [tag("span", f"kept aside, unseen, until {_moment(reader, found.undo_until)}")]


def _is_aside(reader: Reader, found: Receipt) -> bool:
    now = reader.ctx.now or dt.datetime.now(dt.UTC)
    return found.undo_until is not None and dt.datetime.fromisoformat(found.undo_until) > now


def _moment(reader: Reader, iso: str | None) -> str:
    if iso is None:
        return ""
    return said_when(dt.datetime.fromisoformat(iso).astimezone(reader.home.zone))


def _memories(n: int) -> str:
    return "1 memory" if n == 1 else f"{n:,} memories"

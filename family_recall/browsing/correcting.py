"""Correcting: a form in, a new version of a memory out.

Who may forget a memory may correct it: whoever said it, and an owner of its space.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from family_recall.browsing.layout import (
    Page,
    Reader,
    chosen,
    form,
    labelled,
    lines,
    notice,
    param,
    space_name,
    text_input,
    to,
    to_memory,
)
from family_recall.errors import (
    FamilyRecallError,
    InvalidMemoryError,
    NotTheirsError,
)
from family_recall.inspecting.markup import Markup, joined, shown, tag
from family_recall.types import (
    CATEGORIES,
    KINDS,
    Detail,
    Kept,
    Memory,
    Room,
    Selection,
    parse_moment,
)

_TEXTS = ("author", "title", "summary", "fact_key", "fact_value", "event_type")
_ONE_LINE = {*_TEXTS} - {"summary"}
_MOMENTS = ("occurred_at", "valid_from", "valid_until")


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of the form: how a memory's value is written in it, and read from it."""

    write: Callable[[Kept, str], str]
    read: Callable[[str, str], Any]


def page(reader: Reader, params: QueryParams) -> Page:
    """Show the form that corrects a memory."""
    detail, rooms = mendable(reader, params)
    return _form(reader, detail, rooms, _as_written(detail.kept))


def correct(reader: Reader, params: QueryParams, sent: QueryParams) -> Page | str:
    """Keep what was sent as a new version; a field that reads as it did stays as it is."""
    detail, rooms = mendable(reader, params)
    kept, memory = detail.kept, detail.kept.memory
    shown_as = _as_written(kept)
    typed = {name: _plain(name, sent.get(name, value)) for name, value in shown_as.items()}
    if kept.recorded_at.isoformat() != params.get("seen"):
        said = "Somebody told it anew meanwhile. Below is what you typed; look at it again."
        return _form(reader, detail, rooms, typed, said)
    try:
        changes = dict(_changed(shown_as, typed))
        if "author" in changes and not _owns(rooms, memory):
            raise InvalidMemoryError("only an owner of its space may say that another said it")
        if "band" in changes and changes["band"] not in rooms[memory.space_id].bands:
            raise InvalidMemoryError(f"the band {changes['band']!r} is not open to you")
        if changes:
            reader.home.remember(dataclasses.replace(memory, **changes))
    except (FamilyRecallError, ValueError) as error:
        return _form(reader, detail, rooms, typed, f"Nothing was changed: {error}")
    said = "corrected" if changes else "unchanged"
    return to("/memory", id=memory.doc_id, space=memory.space_id, said=said)


def chosen_memory(memory: Memory) -> Selection:
    """Choose a memory as it is chosen to be forgotten."""
    return Selection(doc_ids=(str(memory.doc_id),), space_id=memory.space_id)


def why_not(reader: Reader, memory: Memory, rooms: Mapping[str, Room]) -> str | None:
    """Say why a reader may not mend a memory; None where they may."""
    if hidden := rooms[memory.space_id].hidden:
        return (
            f"You see this without {', '.join(hidden)}; it can be mended by somebody who sees all "
            "of it."
        )
    what = chosen_memory(memory)
    plan = reader.home.forget(what, person_id=reader.person_id, dry_run=True)
    if plan.held_back or not plan.doc_ids:
        return "Only whoever said this, or an owner of its space, may mend it."
    return None


def mendable(reader: Reader, params: QueryParams) -> tuple[Detail, dict[str, Room]]:
    """Give the memory that is to be mended, and the rooms of who mends it.

    Raises:
        NotTheirsError: If it is another's.
        UnknownMemoryError: If there is none that they may see.
    """
    rooms = reader.rooms()
    detail = reader.home.look(
        params.get("id", ""), reader.ctx, space_id=param(params, "space") or None
    )
    if refused := why_not(reader, detail.kept.memory, rooms):
        raise NotTheirsError(refused)
    return detail, rooms


def _form(
    reader: Reader,
    detail: Detail,
    rooms: Mapping[str, Room],
    values: Mapping[str, str],
    wrong: str | None = None,
) -> Page:
    kept, memory = detail.kept, detail.kept.memory
    action = to("/correct", id=memory.doc_id, space=memory.space_id,
                seen=kept.recorded_at.isoformat())  # fmt: skip
    pairs = {"kind": KINDS, "category": CATEGORIES, "band": rooms[memory.space_id].bands}
    chosen_from = {
        name: chosen(name, [(one, one) for one in options], values[name])
        for name, options in pairs.items()
    }
    moments = {
        name: text_input(name, values[name], type="datetime-local", step="1") for name in _MOMENTS
    }
    author = (
        [labelled("Said by", text_input("author", values["author"], dir="auto"))]
        if _owns(rooms, memory)
        else []
    )
    body = form(
        reader,
        action,
        labelled("Text", lines("text", values["text"], rows=6, required="required", dir="auto"),
                 wide=True),
        tag(
            "div",
            labelled("Title", text_input("title", values["title"], dir="auto")),
            labelled("Kind", chosen_from["kind"]),
            labelled("Category", chosen_from["category"], "how fast it fades"),
            labelled("When it happened", moments["occurred_at"]),
            labelled("Seen by", chosen_from["band"], "green: everybody there"),
            labelled("Importance", text_input("importance", values["importance"], type="number",
                                              min="0", max="1", step="any"), "from 0 to 1"),
            *author,
            class_="fields",
        ),
        tag(
            "details",
            tag("summary", "Fact, event, labels, summary"),
            tag(
                "div",
                labelled("A fact about", text_input("fact_key", values["fact_key"], dir="auto"),
                         "such as spouse_name"),
                labelled("which is", text_input("fact_value", values["fact_value"], dir="auto")),
                labelled("Event", text_input("event_type", values["event_type"], dir="auto"),
                         "such as wedding"),
                labelled("True from", moments["valid_from"]),
                labelled("True until", moments["valid_until"], "this moment left out"),
                labelled("Labels", lines("labels", values["labels"], rows=3), "one a line"),
                class_="fields",
            ),
            labelled("Summary", lines("summary", values["summary"], rows=3, dir="auto"), wide=True),
        ),
        tag("p", "What it says now is kept as an earlier version.", class_="quiet"),
        buttons("Keep this", memory),
        class_="card",
    )  # fmt: skip
    warned = [notice(wrong, bad=True)] if wrong else []
    return Page(
        title="Correct",
        kicker=space_name(memory.space_id, dict(rooms)),
        body=joined(*warned, body),
        place="/look",
        status=422 if wrong else 200,
    )


def _owns(rooms: Mapping[str, Room], memory: Memory) -> bool:
    return rooms[memory.space_id].role == "owner"


def buttons(name: str, memory: Memory) -> Markup:
    """Make the button of a form about a memory, and the way back."""
    away = tag("a", "Leave it as it is", href=to_memory(memory))
    return tag("div", tag("button", name, class_="main"), away, class_="row")


def _changed(shown_as: Mapping[str, str], typed: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Give the fields that mean something else than what was shown; a browser may shorten one."""
    for name, value in typed.items():
        field = _FIELDS[name]
        if value != shown_as[name]:
            meant = field.read(name, value)
            if meant != field.read(name, shown_as[name]):
                yield name, meant


def _as_written(kept: Kept) -> dict[str, str]:
    """Write every field as the form shows it."""
    return {name: _plain(name, shown(field.write(kept, name))) for name, field in _FIELDS.items()}


def _plain(name: str, text: str) -> str:
    """Give a text with line breaks as everything but a form has them; none in a field of a line."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\n", "") if name in _ONE_LINE else text


def _write_text(kept: Kept, name: str) -> str:
    return str(getattr(kept.memory, name) or "")


def _write_moment(kept: Kept, name: str) -> str:
    moment: dt.datetime | None = getattr(kept.memory, name)
    if moment is None:
        return ""
    local = moment.astimezone(kept.recorded_at.tzinfo) if moment.tzinfo else moment
    return local.replace(tzinfo=None).isoformat(timespec="seconds")


def _read_text(_: str, value: str) -> str | None:
    return value if value.strip() else None


def _read_number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InvalidMemoryError(f"{name} must be a number, got {value!r}") from None


_FIELDS: Mapping[str, _Field] = {
    "text": _Field(_write_text, lambda _, value: value),
    **{name: _Field(_write_text, _read_text) for name in _TEXTS},
    **{name: _Field(_write_text, lambda _, value: value) for name in ("kind", "category", "band")},
    **{
        name: _Field(_write_moment, lambda name, value: parse_moment(value or None, name))
        for name in _MOMENTS
    },
    "importance": _Field(lambda kept, _: f"{kept.memory.importance!r}", _read_number),
    "labels": _Field(
        lambda kept, _: "\n".join(kept.memory.labels),
        lambda _, value: tuple(one.strip() for one in value.split("\n") if one.strip()),
    ),
}

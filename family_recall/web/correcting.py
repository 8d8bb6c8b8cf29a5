"""Correcting: a form in, a new version of a memory out.

A field that is hidden from the reader is none of the form's, and stays as it is.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from family_recall.errors import ConflictError, FamilyRecallError, InvalidMemoryError
from family_recall.reports.markup import Markup, joined, shown, tag
from family_recall.types import (
    CATEGORIES,
    KINDS,
    AccessibleSpace,
    Detail,
    StoredVersion,
    parse_moment,
)
from family_recall.web.editing import buttons, mendable
from family_recall.web.layout import (
    Page,
    Reader,
    chosen,
    form,
    labelled,
    lines,
    notice,
    param,
    text_input,
    to,
)

_TEXTS = ("author", "title", "summary", "fact_key", "fact_value", "event_type")
_ONE_LINE = {*_TEXTS} - {"summary"}
_MOMENTS = ("occurred_at", "valid_from", "valid_until")
_ROWS = {"text": 6, "labels": 3, "summary": 3}
_WIDE = {"text", "summary"}
_FIRST = ("title", "kind", "category", "occurred_at", "band", "importance", "author")
_MORE = ("fact_key", "fact_value", "event_type", "valid_from", "valid_until", "labels")
_LABELS: Mapping[str, tuple[str, str]] = {
    "text": ("Text", ""),
    "title": ("Title", ""),
    "kind": ("Kind", ""),
    "category": ("Category", "how fast it fades"),
    "occurred_at": ("When it happened", ""),
    "band": ("Seen by", "green: everybody there"),
    "importance": ("Importance", "from 0 to 1"),
    "author": ("Said by", ""),
    "fact_key": ("A fact about", "such as spouse_name"),
    "fact_value": ("which is", ""),
    "event_type": ("Event", "such as wedding"),
    "valid_from": ("True from", ""),
    "valid_until": ("True until", "this moment left out"),
    "labels": ("Labels", "one a line"),
    "summary": ("Summary", ""),
}
"""What each field is called in the form, and the hint below it."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of the form: how a memory's value is written in it, and read from it."""

    write: Callable[[StoredVersion, str], str]
    read: Callable[[str, str], Any]


def page(reader: Reader, params: QueryParams) -> Page:
    """Show the form that corrects a memory."""
    detail = mendable(reader, params)
    room = _room(reader, detail)
    return _form(reader, detail, room, _as_written(detail.kept, room))


def correct(reader: Reader, params: QueryParams, sent: QueryParams) -> Page | str:
    """Keep what was sent as a new version; a field that reads as it did stays as it is."""
    detail = mendable(reader, params)
    memory, room = detail.kept.memory, _room(reader, detail)
    shown_as = _as_written(detail.kept, room)
    typed = {name: _plain(name, sent.get(name, value)) for name, value in shown_as.items()}
    try:
        done = reader.home.correct(
            str(memory.doc_id),
            person_id=reader.person_id,
            space_id=memory.space_id,
            recorded_at=parse_moment(param(params, "seen"), "seen"),
            **dict(_changed(shown_as, typed)),
        )
    except ConflictError:
        said = "Somebody told it anew meanwhile. Below is what you typed; look at it again."
        return _form(reader, detail, room, typed, said)
    except (FamilyRecallError, ValueError) as error:
        return _form(reader, detail, room, typed, f"Nothing was changed: {error}")
    said = "corrected" if done.changed else "unchanged"
    return to("/memory", id=memory.doc_id, space=memory.space_id, said=said)


def _room(reader: Reader, detail: Detail) -> AccessibleSpace:
    return reader.rooms()[detail.kept.memory.space_id]


def _form(
    reader: Reader,
    detail: Detail,
    room: AccessibleSpace,
    values: Mapping[str, str],
    wrong: str | None = None,
) -> Page:
    kept, memory = detail.kept, detail.kept.memory
    action = to("/correct", id=memory.doc_id, space=memory.space_id,
                seen=kept.recorded_at.isoformat())  # fmt: skip
    controls = _controls(room, values)
    first, more = (
        [controls[name] for name in names if name in controls] for names in (_FIRST, _MORE)
    )
    hidden = f" You are kept from {', '.join(room.hidden)} here: that stays as it is."
    body = form(
        reader,
        action,
        controls["text"],
        tag("div", *first, class_="fields"),
        tag(
            "details",
            tag("summary", "Fact, event, labels, summary"),
            tag("div", *more, class_="fields"),
            *([controls["summary"]] if "summary" in controls else []),
        ),
        tag("p", "What it says now is kept as an earlier version.", hidden if room.hidden else "",
            class_="quiet"),
        buttons("Keep this", memory),
        class_="card",
    )  # fmt: skip
    warned = [notice(wrong, bad=True)] if wrong else []
    return Page(
        title="Correct",
        kicker=room.space.name or memory.space_id,
        body=joined(*warned, body),
        place="/look",
        status=422 if wrong else 200,
    )


def _controls(room: AccessibleSpace, values: Mapping[str, str]) -> dict[str, Markup]:
    """Make the control of every field there is a value for; who said it, an owner may say."""
    options = {"kind": KINDS, "category": CATEGORIES, "band": room.bands}
    made = {}
    for name, value in values.items():
        if name == "author" and room.role != "owner":
            continue
        label, hint = _LABELS[name]
        if name in options:
            control = chosen(name, [(one, one) for one in options[name]], value)
        elif name in _MOMENTS:
            control = text_input(name, value, type="datetime-local", step="1")
        elif name == "importance":
            control = text_input(name, value, type="number", min="0", max="1", step="any")
        elif name in _ROWS:
            needed = "required" if name == "text" else None
            control = lines(name, value, rows=_ROWS[name], required=needed, dir="auto")
        else:
            control = text_input(name, value, dir="auto")
        made[name] = labelled(label, control, hint, wide=name in _WIDE)
    return made


def _changed(shown_as: Mapping[str, str], typed: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Give the fields that mean something else than what was shown; a browser may shorten one."""
    for name, value in typed.items():
        field = _FIELDS[name]
        if value != shown_as[name]:
            meant = field.read(name, value)
            if meant != field.read(name, shown_as[name]):
                yield name, meant


def _as_written(kept: StoredVersion, room: AccessibleSpace) -> dict[str, str]:
    """Write every field that the reader sees as the form shows it."""
    return {
        name: _plain(name, shown(field.write(kept, name)))
        for name, field in _FIELDS.items()
        if name not in room.hidden
    }


def _plain(name: str, text: str) -> str:
    """Give a text with line breaks as everything but a form has them; none in a field of a line."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\n", "") if name in _ONE_LINE else text


def _write_text(kept: StoredVersion, name: str) -> str:
    return str(getattr(kept.memory, name) or "")


def _write_moment(kept: StoredVersion, name: str) -> str:
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

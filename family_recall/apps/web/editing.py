"""The forms that add, correct, relate and forget memories, receipts, and undo."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from starlette.datastructures import QueryParams

from family_recall.apps.reports.templating import printable
from family_recall.apps.web.memory import (
    find_editable,
    find_memory,
    memory_link,
    relation_params,
    relations_of,
)
from family_recall.apps.web.pages import Page, Reader, link, param
from family_recall.errors import (
    ConflictError,
    FamilyRecallError,
    InvalidMemoryError,
    InvalidRequestError,
    NotTheirsError,
)
from family_recall.types import (
    AccessibleSpace,
    Memory,
    MemoryDetail,
    Receipt,
    Relation,
    Selection,
    StoredVersion,
    parse_moment,
)
from family_recall.types.fields import FieldSpec
from family_recall.types.memory import MEMORY_FIELDS


def add_page(reader: Reader, params: QueryParams) -> Page:
    """Show the form that adds a memory."""
    return _add_form(reader, {"text": "", "space_id": param(params, "space"), "occurred_at": ""})


def add(reader: Reader, _: QueryParams, form: QueryParams) -> Page | str:
    """Store a memory; return the form with an error where that fails."""
    values = {
        "text": form.get("text", "").replace("\r\n", "\n").strip(),
        "space_id": param(form, "space_id"),
        "occurred_at": param(form, "occurred_at"),
    }
    now = reader.ctx.now or dt.datetime.now(dt.UTC)
    try:
        if not values["text"]:
            raise InvalidMemoryError("please write what is to be remembered")
        memory = Memory(
            values["text"],
            values["space_id"],
            author=reader.person_id,
            occurred_at=parse_moment(values["occurred_at"] or None, "occurred_at") or now,
        )
        stored, change = reader.changes.add(memory)
    except (FamilyRecallError, ValueError) as error:
        return _add_form(reader, values, f"Nothing was added: {error}")
    detail = reader.home.memories.get(stored.doc_id, reader.ctx, space_id=memory.space_id)
    text = "Added." if change else "You had added just that before; here it is."
    return reader.note(text, memory_link(detail.current.memory), change, back="/")


def _add_form(reader: Reader, values: Mapping[str, str], error: str = "") -> Page:
    spaces = [accessible.space for accessible in reader.spaces().values()]
    shared = [space.space_id for space in spaces if space.kind != "private"]
    names = {space.space_id: space.name for space in spaces}
    default = reader.ctx.space_id or next(iter([*shared, *names]), "")
    view = {
        "typed": {**values, "space_id": values["space_id"] or default},
        "spaces": names,
        "text_field": MEMORY_FIELDS["text"],
        "error": error,
    }
    return Page("add.jinja", view, status=422 if error else 200)


FIRST_FIELDS = ("text", "occurred_at", "band", "author")
MORE_FIELDS = ("title", "kind", "category", "importance", "fact_key", "fact_value", "event_type",
               "valid_from", "valid_until", "labels", "summary")  # fmt: skip
_CHANGED_MEANWHILE = (
    "Somebody changed it in the meantime. Below is what you typed; please check it again."
)


def correct_page(reader: Reader, params: QueryParams) -> Page:
    """Show the form that corrects a memory."""
    detail = find_editable(reader, params)
    space = reader.spaces()[detail.current.memory.space_id]
    return _correct_form(detail, space, _form_values(detail.current, space))


def correct(reader: Reader, params: QueryParams, form: QueryParams) -> Page | str:
    """Store a new version; a field that was sent as shown stays unchanged."""
    detail = find_editable(reader, params)
    memory = detail.current.memory
    space = reader.spaces()[memory.space_id]
    shown = _form_values(detail.current, space)
    values = {
        name: _line_feeds(MEMORY_FIELDS[name], form.get(name, value))
        for name, value in shown.items()
    }
    try:
        _, change = reader.changes.correct(
            str(memory.doc_id),
            space_id=memory.space_id,
            recorded_at=parse_moment(param(params, "seen"), "seen"),
            **dict(_changed(shown, values)),
        )
    except ConflictError:
        return _correct_form(detail, space, values, _CHANGED_MEANWHILE)
    except (FamilyRecallError, ValueError) as error:
        return _correct_form(detail, space, values, f"Nothing was changed: {error}")
    text = "Corrected. What it said before is kept as an earlier version."
    return reader.note(text if change else "Nothing was changed.", memory_link(memory), change)


def _correct_form(
    detail: MemoryDetail, space: AccessibleSpace, values: Mapping[str, str], error: str = ""
) -> Page:
    memory = detail.current.memory
    controls = {
        name: (spec, values[name], space.bands if name == "band" else spec.choices)
        for name, spec in MEMORY_FIELDS.items()
        # Only an owner may say that somebody else said it.
        if name in values and (name != "author" or space.role == "owner")
    }
    view = {
        "memory": memory,
        "space": space,
        "action": memory_link(memory, "/correct", seen=detail.current.recorded_at.isoformat()),
        "first": [controls[name] for name in FIRST_FIELDS if name in controls],
        "more": [controls[name] for name in MORE_FIELDS if name in controls],
        "error": error,
    }
    return Page("correct.jinja", view, status=422 if error else 200)


def _changed(shown: Mapping[str, str], values: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the fields whose parsed value changed; a browser may rewrite a text."""
    for name, text in values.items():
        spec = MEMORY_FIELDS[name]
        if text != shown[name]:
            value = _field_value(spec, text)
            if value != _field_value(spec, shown[name]):
                yield name, value


def _form_values(version: StoredVersion, space: AccessibleSpace) -> dict[str, str]:
    return {
        name: _line_feeds(MEMORY_FIELDS[name], printable(_field_text(MEMORY_FIELDS[name], version)))
        for name in (*FIRST_FIELDS, *MORE_FIELDS)
        if name not in space.hidden
    }


def _line_feeds(spec: FieldSpec, text: str) -> str:
    """Return a text with line feeds; without any for a field of one line."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    has_one_line = spec.type == "text" and not spec.multiline
    return text.replace("\n", "") if has_one_line else text


def _field_text(spec: FieldSpec, version: StoredVersion) -> str:
    value = getattr(version.memory, spec.name)
    if spec.type == "texts":
        return "\n".join(value)
    if spec.type == "moment" and value is not None:
        local = value.astimezone(version.recorded_at.tzinfo) if value.tzinfo else value
        return str(local.replace(tzinfo=None).isoformat(timespec="seconds"))
    return "" if value is None else str(value)


def _field_value(spec: FieldSpec, value: str) -> Any:
    if spec.type == "texts":
        return tuple(line.strip() for line in value.split("\n") if line.strip())
    if spec.type == "moment":
        return parse_moment(value or None, spec.name)
    if spec.type == "number":
        try:
            return float(value)
        except ValueError:
            raise InvalidMemoryError(f"{spec.name} must be a number, got {value!r}") from None
    return value if spec.required or spec.choices or value.strip() else None


def relate_page(reader: Reader, params: QueryParams) -> Page:
    """Show the form that relates two named things."""
    detail = find_editable(reader, params)
    memory = detail.current.memory
    view = {
        "spaces": reader.spaces(),
        "memory": memory,
        "names": [name for name, _ in detail.entities],
        "action": memory_link(memory, "/relate"),
    }
    return Page("relate.jinja", view)


def relate(reader: Reader, params: QueryParams, form: QueryParams) -> str:
    """Store a relation, visible to those who see its memory."""
    memory = find_memory(reader, params).current.memory
    change = reader.changes.relate(
        Relation(
            subject=param(form, "subject"),
            relation=param(form, "relation"),
            object=param(form, "object"),
            space_id=memory.space_id,
            band=memory.band,
            evidence=(str(memory.doc_id),),
            guardians_of=memory.guardians_of,
        )
    )
    text = "The relation is stored, with this memory as its evidence."
    return reader.note(text, memory_link(memory), change)


def unrelate(reader: Reader, params: QueryParams, _: QueryParams) -> str:
    """Remove a relation of a memory."""
    detail = find_memory(reader, params)
    names = ("subject", "relation", "object", "since")
    identity = {name: params[name] for name in names if params.get(name)}
    relations = itertools.chain(*relations_of(reader, detail))
    change = reader.changes.unrelate([r for r in relations if relation_params(r) == identity])
    text = "The relation is removed. The memories it was based on stay."
    then = memory_link(detail.current.memory)
    return reader.note(text if change else "Nothing was changed.", then, change)


def undo(reader: Reader, params: QueryParams, _: QueryParams) -> str:
    """Undo the change of a link; return the link to the page it was made from."""
    number = param(params, "done")
    done = reader.done.pop(number, None)
    if done is None or done.change is None:
        raise InvalidRequestError(
            "there is nothing left to undo here: it was undone already, or the pages were closed "
            "and opened again since"
        )
    try:
        done.change.undo()
    except Exception:
        reader.done[number] = done  # undoing may succeed later
        raise
    return reader.note(f"Undone: {done.change.what}.", done.back)


TRASH_DAYS = {
    "7": "a week, in case you change your mind",
    "1": "a day, in case you change your mind",
    "0": "no time: gone at once, with no undo",
}
"""Days in the trash, and their description in the form."""
_MAX_RECEIPTS = 200


def forget_page(reader: Reader, params: QueryParams) -> Page:
    """Show what would be forgotten."""
    memory = find_memory(reader, params).current.memory
    plan = reader.home.forget(_selection(memory), person_id=reader.person_id, dry_run=True)
    if plan.held_back or not plan.doc_ids:
        raise NotTheirsError(
            "only the person who said this, or an owner of its space, may forget it"
        )
    view = {
        "spaces": reader.spaces(),
        "memory": memory,
        "plan": plan,
        "trash_days": TRASH_DAYS,
        "action": memory_link(memory, "/forget"),
    }
    return Page("forget.jinja", view)


def forget(reader: Reader, params: QueryParams, form: QueryParams) -> str:
    """Forget exactly what the dry run showed."""
    memory = find_memory(reader, params).current.memory
    days = param(form, "days")
    if days not in TRASH_DAYS:
        raise InvalidRequestError(f"it can stay in the trash for 7, 1 or 0 days, got {days!r}")
    receipt = reader.home.forget(
        _selection(memory),
        person_id=reader.person_id,
        token=param(form, "confirm"),
        undo_for=dt.timedelta(days=int(days)) if days != "0" else None,
    )
    return link("/receipt", id=receipt.receipt_id)


def receipt_page(reader: Reader, params: QueryParams) -> Page:
    """Show a receipt, with its verification where that is asked for."""
    receipt = _receipt(reader, params)
    proof = reader.home.erasure.verify(receipt) if param(params, "proof") else None
    view = {
        "receipt": receipt,
        "at": _moment(reader, receipt.at),
        "trash_until": _trash_until(reader, receipt),
        "proof": proof,
    }
    return Page("receipt.jinja", view)


def restore(reader: Reader, params: QueryParams, _: QueryParams) -> str:
    """Restore forgotten memories from the trash."""
    receipt = _receipt(reader, params)
    reader.home.erasure.undo(receipt.receipt_id, person_id=reader.person_id)
    return reader.note("It is restored.", "/forgotten")


def receipts_page(reader: Reader, _: QueryParams) -> Page:
    """List the reader's receipts, the newest first."""
    rows = [
        (receipt, _moment(reader, receipt.at), _trash_until(reader, receipt))
        for receipt in reader.home.erasure.receipts()
        if receipt.person_id == reader.person_id
    ]
    view = {"rows": rows[:_MAX_RECEIPTS]}
    return Page("receipts.jinja", view)


def _selection(memory: Memory) -> Selection:
    return Selection(doc_ids=(str(memory.doc_id),), space_id=memory.space_id)


def _receipt(reader: Reader, params: QueryParams) -> Receipt:
    receipt_id = param(params, "id")
    for receipt in reader.home.erasure.receipts():
        if receipt.receipt_id == receipt_id and receipt.person_id == reader.person_id:
            return receipt
    raise InvalidRequestError(f"there is no receipt {receipt_id!r} of yours")


def _trash_until(reader: Reader, receipt: Receipt) -> str | None:
    """Return when the trash is emptied; None where nothing is in it."""
    now = reader.ctx.now or dt.datetime.now(dt.UTC)
    if receipt.undo_until is None or dt.datetime.fromisoformat(receipt.undo_until) <= now:
        return None
    return _moment(reader, receipt.undo_until)


def _moment(reader: Reader, iso: str) -> str:
    moment = dt.datetime.fromisoformat(iso).astimezone(reader.home.zone)
    return f"{moment.day} {moment:%B %Y, %H:%M}"

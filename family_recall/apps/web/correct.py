"""The form that corrects a memory; what is sent becomes a new version.

A field that is hidden from the reader is not in the form, and stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from starlette.datastructures import QueryParams

from family_recall.apps.reports.templating import printable
from family_recall.apps.web.memory import find_editable, memory_link
from family_recall.apps.web.pages import Page, Reader, param
from family_recall.errors import ConflictError, FamilyRecallError, InvalidMemoryError
from family_recall.types import AccessibleSpace, MemoryDetail, StoredVersion, parse_moment
from family_recall.types.field_specs import MEMORY_FIELDS, FieldSpec

FIRST_FIELDS = ("text", "occurred_at", "band", "author")
MORE_FIELDS = ("title", "kind", "category", "importance", "fact_key", "fact_value", "event_type",
               "valid_from", "valid_until", "labels", "summary")  # fmt: skip
_CHANGED_MEANWHILE = (
    "Somebody changed it in the meantime. Below is what you typed; please check it again."
)


def page(reader: Reader, params: QueryParams) -> Page:
    """Show the form that corrects a memory."""
    detail = find_editable(reader, params)
    space = _space(reader, detail)
    return _form(detail, space, _form_values(detail.current, space))


def correct(reader: Reader, params: QueryParams, form: QueryParams) -> Page | str:
    """Store what was sent as a new version; a field sent as it was shown stays as it is."""
    detail = find_editable(reader, params)
    memory, space = detail.current.memory, _space(reader, detail)
    shown = _form_values(detail.current, space)
    typed = {
        name: _normalized(MEMORY_FIELDS[name], form.get(name, value))
        for name, value in shown.items()
    }
    try:
        _, change = reader.changes.correct(
            str(memory.doc_id),
            space_id=memory.space_id,
            recorded_at=parse_moment(param(params, "seen"), "seen"),
            **dict(_changed(shown, typed)),
        )
    except ConflictError:
        return _form(detail, space, typed, _CHANGED_MEANWHILE)
    except (FamilyRecallError, ValueError) as error:
        return _form(detail, space, typed, f"Nothing was changed: {error}")
    text = "Corrected. What it said before is kept as an earlier version."
    return reader.note(text if change else "Nothing was changed.", memory_link(memory), change)


def _space(reader: Reader, detail: MemoryDetail) -> AccessibleSpace:
    return reader.spaces()[detail.current.memory.space_id]


def _form(
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


def _changed(shown: Mapping[str, str], typed: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the fields whose meaning differs from what was shown; a browser may rewrite one."""
    for name, value in typed.items():
        spec = MEMORY_FIELDS[name]
        if value != shown[name]:
            meaning = _parsed(spec, value)
            if meaning != _parsed(spec, shown[name]):
                yield name, meaning


def _form_values(version: StoredVersion, space: AccessibleSpace) -> dict[str, str]:
    """Return every field that the reader sees as the form shows it."""
    return {
        name: _normalized(MEMORY_FIELDS[name], printable(_written(MEMORY_FIELDS[name], version)))
        for name in (*FIRST_FIELDS, *MORE_FIELDS)
        if name not in space.hidden
    }


def _normalized(spec: FieldSpec, text: str) -> str:
    """Return a value with line feeds as line breaks; without any where the form has one line."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    has_one_line = spec.type == "text" and not spec.multiline
    return text.replace("\n", "") if has_one_line else text


def _written(spec: FieldSpec, version: StoredVersion) -> str:
    """Write a field as its control in the form holds it."""
    value = getattr(version.memory, spec.name)
    if spec.type == "texts":
        return "\n".join(value)
    if spec.type == "moment" and value is not None:
        local = value.astimezone(version.recorded_at.tzinfo) if value.tzinfo else value
        return str(local.replace(tzinfo=None).isoformat(timespec="seconds"))
    return "" if value is None else str(value)


def _parsed(spec: FieldSpec, value: str) -> Any:
    """Return what a control's value means as the value of the field.

    Raises:
        InvalidMemoryError: If it is not a number where one is needed.
        ValueError: If it is not a moment where one is needed.
    """
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

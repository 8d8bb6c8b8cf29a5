"""Arguments of tools: their JSON Schemas, and checks of the values that a model sends."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

from family_recall.errors import InvalidRequestError
from family_recall.types.fields import FieldSpec, refusal

MAX_MOMENT_CHARS = 40
_JSON_TYPES = {"text": "string", "texts": "array", "flag": "boolean", "moment": "string"}


def description(spec: FieldSpec) -> str:
    """Return an argument's description with its bounds, which not every interface shows."""
    text = spec.sentence()
    if spec.type == "moment":
        text += "; ISO 8601 day or moment such as 2026-03-01 or 2026-03-01T18:30"
    elif spec.max_items is not None:
        text += f"; 1 to {spec.max_items}"
    elif spec.max_chars is not None and not spec.choices:
        text += f"; 1 to {spec.max_chars} characters"
    return f"{text[0].upper()}{text[1:]}."


def schema_of(spec: FieldSpec) -> dict[str, Any]:
    """Return the JSON Schema of an argument."""
    keywords: dict[str, Any] = {"type": _JSON_TYPES.get(spec.type, spec.type)}
    text = {"type": "string", "enum": list(spec.choices)} if spec.choices else {
        "type": "string", "minLength": 1, "maxLength": spec.max_chars,
    }  # fmt: skip
    if spec.type == "text":
        keywords = text
    elif spec.type == "texts":
        keywords |= {"items": _set(text), "minItems": 1, "maxItems": spec.max_items}
        keywords["uniqueItems"] = True
    elif spec.type == "moment":
        keywords["maxLength"] = MAX_MOMENT_CHARS
    keywords |= {"minimum": spec.minimum, "maximum": spec.maximum, "exclusiveMinimum": spec.above}
    default = None if spec.default == () else spec.default
    return _set({**keywords, "description": description(spec), "default": default})


def _set(keywords: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in keywords.items() if value is not None}


def read_arguments(
    tool: str, specs: Sequence[FieldSpec], arguments: Mapping[str, Any] | str | None
) -> dict[str, Any]:
    """Check an object, or its JSON text; return a value for every argument, or its default."""
    values_sent = _object(tool, arguments)
    names = [spec.name for spec in specs]
    if unknown := [name for name in values_sent if name not in names]:
        raise InvalidRequestError(
            f"{tool} has no argument {reprlib.repr(unknown[0])}; it has {', '.join(names)}"
        )
    values: dict[str, Any] = {}
    for spec in specs:
        value = values_sent.get(spec.name)
        if value is None and spec.required:
            raise InvalidRequestError(f"{tool} needs {spec.name!r}: {description(spec)}")
        values[spec.name] = spec.default if value is None else _checked(spec, value)
    return values


def _object(tool: str, arguments: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError) as error:
            raise InvalidRequestError(f"arguments of {tool} must be JSON: {error}") from None
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise refusal(f"arguments of {tool}", "an object", arguments)
    return arguments


def _checked(spec: FieldSpec, value: Any) -> Any:
    """Return a JSON value as the field's value; 5.0 is an integer."""
    if spec.type == "texts":
        limit = spec.max_items
        if not isinstance(value, list | tuple) or not value or (limit and len(value) > limit):
            expected = f"a list of 1 to {limit} texts" if limit else "a list of texts"
            raise refusal(spec.name, expected, value)
        texts = spec.read(value)
        if len(set(texts)) < len(texts):
            raise refusal(spec.name, "a list without duplicates", value)
        return texts
    if spec.type == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    return spec.read(value)

"""The descriptions of fields agree with the dataclasses that hold them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from family_recall import Filters, Memory, RecallContext
from family_recall.errors import FamilyRecallError
from family_recall.types.fields import FieldSpec
from family_recall.types.memory import MEMORY_FIELDS
from family_recall.types.request import CONTEXT_FIELDS, FILTER_FIELDS

NO_FIELD_OF_A_FORM = {"filters", "affect"}
"""Fields of a context that have fields of their own."""

TABLES: Mapping[type, tuple[Mapping[str, FieldSpec], Callable[..., Any]]] = {
    Memory: (MEMORY_FIELDS, lambda **given: Memory(**({"text": "x", "space_id": "s"} | given))),
    RecallContext: (CONTEXT_FIELDS, RecallContext),
    Filters: (FILTER_FIELDS, Filters),
}
TYPES = {
    "text": str,
    "texts": tuple,
    "integer": int,
    "number": int | float,
    "flag": bool,
    "moment": str,
}


def _good(spec: FieldSpec) -> Iterator[Any]:
    """Yield values at the edges of what a description allows."""
    texts = spec.choices or ("x" * min(spec.max_chars or 10, 2_000),)
    match spec.type:
        case "text":
            yield from texts
        case "texts":
            yield from ((text,) for text in texts)
        case "moment":
            yield from ("2026-03-01", "2026-03-01T18:30+02:00")
        case "flag":
            yield from (True, False)
        case "integer" | "number":
            yield from (edge for edge in (spec.minimum, spec.maximum) if edge is not None)
            if spec.above is not None:
                yield spec.above + 0.001


def _bad(spec: FieldSpec) -> Iterator[Any]:
    """Yield values just outside what a description allows; a larger top_k counts as the most."""
    if spec.choices:
        yield from ("nosuch",) if spec.type == "text" else (("nosuch",),)
    if spec.type == "moment":
        yield "soon"
    if spec.type == "texts":
        yield "a text alone"
    if spec.type in {"text", "texts"} and spec.max_chars is not None:
        too_long = "x" * (spec.max_chars + 1)
        yield too_long if spec.type == "text" else (too_long,)
    if spec.above is not None:
        yield spec.above
    if spec.minimum is not None:
        yield spec.minimum - 1
    if spec.maximum is not None and spec.name != "top_k":
        yield spec.maximum + 1


@pytest.mark.parametrize("record", TABLES)
def test_every_field_is_described_as_it_is(record: type) -> None:
    """Same names, same defaults; what is described as allowed is taken, what is not is refused."""
    table, make = TABLES[record]
    declared = {
        field.name: field
        for field in dataclasses.fields(record)
        if field.name not in NO_FIELD_OF_A_FORM
    }

    assert set(table) == set(declared)
    for name, spec in table.items():
        assert spec.required == (declared[name].default is dataclasses.MISSING), name
        assert spec.required or spec.default == declared[name].default, name
        assert spec.default is None or isinstance(spec.default, TYPES[spec.type]), name
        assert spec.help, name
        assert spec.help[-1] != ".", name
        for value in _good(spec):
            make(**{name: value})
        for value in _bad(spec):
            with pytest.raises(FamilyRecallError):
                make(**{name: value})


def test_a_sentence_names_choices_and_bounds() -> None:
    """What every front shows is made in one place."""
    assert MEMORY_FIELDS["importance"].sentence() == "how much it matters, 0 to 1"
    assert (
        CONTEXT_FIELDS["service_class"]
        .sentence()
        .endswith(": interactive, conversational or background")
    )
    assert MEMORY_FIELDS["kind"].default_text() == "episode"
    assert MEMORY_FIELDS["doc_id"].default_text() == "made up"

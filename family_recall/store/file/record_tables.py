"""The tables of records: what their columns hold beside what a memory's checksum covers."""

from __future__ import annotations

from typing import get_args

from family_recall.store.file.columns import (
    Column,
    Table,
    among,
    maybe,
    moment,
    number,
    text,
    utf8,
    whole,
)
from family_recall.types import Call


def _json(column: str, kind: str) -> str:
    """Return the condition that a column holds a JSON value of a kind."""
    valid = f"typeof({column}) = 'text' AND json_valid({column})"
    return f"CASE WHEN {valid} THEN json_type({column}) = '{kind}' END"


LOGS: tuple[Table, ...] = (
    Table(
        "receipt",
        "receipts",
        "receipt_id",
        (Column("clean", among("clean", (0, 1)), "0"),),
        f"({text('receipt_id')}) AND ({moment('at_s')})"
        " AND typeof(record) = 'text' AND holds_receipt(CAST(record AS BLOB))",
    ),
    Table(
        "trash",
        "receipts with something in the trash",
        "receipt_id",
        (),
        f"({text('receipt_id')}) AND ({moment('until_s')}) AND typeof(record) = 'text'"
        " AND holds_trash(CAST(record AS BLOB))",
    ),
    Table(
        "audit",
        "entries of the audit log",
        "no",
        (
            Column("person", maybe("person", whole("person")), "NULL"),
            Column("space", maybe("space", whole("space")), "NULL"),
            Column("lost", whole("lost"), "0"),
        ),
        f"({moment('at_s')}) AND {among('call', get_args(Call))}",
    ),
    Table(
        "audit_writer",
        "writers of the audit log",
        "token",
        (),
        f"({text('token')}) AND ({whole('pid', 1, 2**31 - 1)}) AND ({moment('flushed_s')})",
    ),
)
"""Tables of logs, of which unreadable rows are left out."""

RECORDS: tuple[Table, ...] = (
    Table(
        "memory",
        "memory rows",
        "doc_id",
        (
            Column("superseded_s", maybe("superseded_s", moment("superseded_s")), "recorded_s"),
            Column("order_s", moment("order_s"), "coalesce(occurred_s, recorded_s)"),
            Column("header", utf8("header"), "''"),
            Column("context_id", maybe("context_id", whole("context_id", 1, 2**62)), "NULL"),
            Column("n_words", whole("n_words"), "0"),
            Column("words", "typeof(words) = 'blob'", "x''"),
            Column("content_hash", "typeof(content_hash) = 'blob'", "x''"),
            Column("cues", whole("cues"), "0"),
        ),
    ),
    Table(
        "entity",
        "names of people and things",
        "id",
        (
            Column(
                "name",
                utf8("name"),
                "coalesce((SELECT a.alias FROM main.alias a WHERE a.entity = entity.id"
                f" AND ({utf8('a.alias')}) LIMIT 1), 'unreadable')",
            ),
            Column("person", maybe("person", whole("person")), "NULL"),
        ),
    ),
    Table(
        "alias",
        "other names of people and things",
        "alias",
        (),
        f"({whole('partition')}) AND ({utf8('alias')}) AND ({whole('entity', -(2**62), -1)})",
    ),
    Table(
        "relation",
        "relations",
        "no",
        (
            Column("confidence", number("confidence", 0, 1), "1.0"),
            Column("valid_from_s", maybe("valid_from_s", moment("valid_from_s")), "NULL"),
            Column("valid_until_s", maybe("valid_until_s", moment("valid_until_s")), "NULL"),
            Column("recorded_s", moment("recorded_s"), "0.0"),
            Column("evidence", _json("evidence", "array"), "'[]'"),
            Column("stated", maybe("stated", _json("stated", "array")), "NULL"),
        ),
        f"({whole('subject', -(2**62), -1)}) AND ({whole('object', -(2**62), -1)})"
        f" AND ({utf8('relation')})",
    ),
    Table(
        "feedback",
        "entries of feedback",
        "no",
        (
            Column("guard", maybe("guard", _json("guard", "object")), "NULL"),
            Column("asked", maybe("asked", _json("asked", "object")), "NULL"),
        ),
        f"({whole('person')}) AND ({whole('memory', 1, 2**62)}) AND ({moment('at_s')})"
        f" AND typeof(question) = 'blob' AND {among('accepted', (0, 1))}"
        f" AND ({number('weight', 1e-9, 1)}) AND {among('kind', ('full', 'static', 'words'))}"
        f" AND ({text('features')})",
    ),
    Table(
        "shown",
        "results with feedback",
        "feedback",
        (),
        f"({whole('feedback')}) AND ({whole('rank')}) AND ({whole('memory', 1, 2**62)})"
        " AND typeof(feature_values) = 'blob' AND length(feature_values) % 4 = 0",
    ),
    Table(
        "learned",
        "steps of learning",
        "no",
        (),
        f"({whole('person')}) AND ({whole('feedback')}) AND ({moment('at_s')})"
        f" AND {_json('record', 'object')}",
    ),
)
"""Tables that grow with the memories: the doctor alone reads all of them."""

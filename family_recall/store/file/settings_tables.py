"""The tables of settings: what each column holds, and what stands in for anything else.

A replacement, and a row left out, never show more to anybody than the table did before.
"""

from __future__ import annotations

import json

from family_recall.store.file.columns import (
    MAX_COUNT,
    Column,
    Table,
    among,
    maybe,
    moment,
    number,
    text,
    texts,
    whole,
)
from family_recall.store.memories import MAX_MOMENT_S, MIN_MOMENT_S
from family_recall.types import BANDS, CATEGORIES, HIDEABLE, ROLES, SPACE_KINDS
from family_recall.types.erasure import LONGEST_KEPT_DAYS


def _first_memory(column: str, otherwise: str) -> str:
    """Return the expression for what a partition's memories have in a column."""
    return (
        f"coalesce((SELECT m.{column} FROM main.memory m"
        f" WHERE m.id BETWEEN no << 40 AND (no << 40) + {MAX_COUNT - 1} LIMIT 1), {otherwise})"
    )


def _count(column: str, past: bool, summed: str = "1") -> Column:
    """Return a column that counts a partition's memories, or sums over them."""
    superseded = "NOT NULL" if past else "NULL"
    return Column(
        column,
        whole(column),
        f"(SELECT coalesce(sum({summed}), 0) FROM main.memory m WHERE m.id BETWEEN no << 40"
        f" AND (no << 40) + {MAX_COUNT - 1} AND m.superseded_s IS {superseded})",
    )


_ROLE = among("role", ROLES)


def _space_of(view: str) -> str:
    """Return the expression for the space of a redacted view, which is that of its copies too."""
    return (
        f"iif(typeof({view}.space) = 'integer', {view}.space,"
        f" (SELECT p.space FROM main.partition p WHERE p.redacted_view = {view}.no LIMIT 1))"
    )


_OWN_SPACE = _space_of("redacted_view")
# A view without copies, of which the space is unknown too, hides nothing yet.
_HIDES_FROM_UNKNOWN = (
    f"EXISTS (SELECT 1 FROM main.redacted_view v WHERE NOT ({among('v.role', ROLES)})"
    f" AND {_space_of('v')} = {{space}})"
)
_UNNAMED = "'unreadable-' || no"
_MODEL = {
    "dim": (whole("dim", 1, 65_536), "8"),
    "token_dim": (whole("token_dim", 0, 65_536), "0"),
    "storage": (
        among("storage", ("vec0", "plain")),
        (
            "iif(EXISTS (SELECT 1 FROM main.sqlite_master t WHERE t.name = 'vectors_' || no"
            " AND t.sql LIKE 'CREATE VIRTUAL %'), 'vec0', 'plain')"
        ),
    ),
    "role": (among("role", ("embedder", "static", "title", "summary", "passage")), "'embedder'"),
}

SETTINGS: tuple[Table, ...] = (
    Table(
        "info",
        "settings",
        "key",
        (),
        says="typeof(key) = 'text' AND typeof(value) = 'text'"
        " AND holds_setting(CAST(key AS BLOB), CAST(value AS BLOB))",
    ),
    Table(
        "person",
        "people",
        "no",
        (
            Column("person_id", text("person_id"), _UNNAMED),
            Column("name", text("name"), f"iif({text('person_id')}, person_id, {_UNNAMED})"),
            Column("aliases", texts("aliases"), "'[]'"),
        ),
    ),
    Table(
        "guardian",
        "guardians",
        "child || '/' || guardian",
        (),
        "typeof(child) = 'integer' AND typeof(guardian) = 'integer'",
    ),
    # Where it is not known from whom something is hidden, owners alone see what is there.
    Table(
        "access",
        "grants",
        "person || ' in ' || space",
        (
            Column(
                "expires_s",
                maybe("expires_s", moment("expires_s")),
                f"max(min(expires_s, {MAX_MOMENT_S}), {MIN_MOMENT_S})",
            ),
        ),
        f"typeof(person) = 'integer' AND typeof(space) = 'integer' AND {_ROLE}"
        " AND (expires_s IS NULL OR typeof(expires_s) IN ('integer', 'real'))"
        f" AND (role = 'owner' OR NOT {_HIDES_FROM_UNKNOWN.format(space='access.space')})",
    ),
    Table(
        "space",
        "spaces",
        "no",
        (
            Column("space_id", text("space_id"), _UNNAMED),
            Column(
                "kind",
                f"{among('kind', SPACE_KINDS)} AND (kind = 'private'"
                f" OR NOT {_HIDES_FROM_UNKNOWN.format(space='space.no')})",
                "'private'",
            ),
            Column("name", maybe("name", text("name")), "NULL"),
        ),
    ),
    Table(
        "partition",
        "partitions",
        "no",
        (
            Column("space", whole("space"), _first_memory("space", "NULL")),
            Column("band", among("band", BANDS), _first_memory("band", f"'{BANDS[-1]}'")),
            Column(
                "child",
                "typeof(child) = 'integer'"
                " AND (child = 0 OR child IN (SELECT no FROM main.person))",
                "coalesce((SELECT p.no FROM main.memory m JOIN main.person p"
                " ON p.person_id = m.guardians_of WHERE m.id BETWEEN partition.no << 40"
                f" AND (partition.no << 40) + {MAX_COUNT - 1} LIMIT 1),"
                f" iif({_first_memory('guardians_of', 'NULL')} IS NULL, 0, {MAX_COUNT}))",
            ),
            Column("redacted_view", whole("redacted_view"), _first_memory("redacted_view", "0")),
            Column(
                "next_seq",
                whole("next_seq", 1),
                "1 + coalesce((SELECT max(m.id) FROM main.memory m WHERE m.id BETWEEN no << 40"
                f" AND (no << 40) + {MAX_COUNT - 1}) - (no << 40), 0)",
            ),
            Column(
                "next_entity",
                whole("next_entity", 1),
                "1 + coalesce(-(SELECT min(e.id) FROM main.entity e WHERE e.id BETWEEN"
                f" -(no << 40) - {MAX_COUNT - 1} AND -(no << 40)) - (no << 40), 0)",
            ),
            _count("n_current", past=False),
            _count("n_past", past=True),
            _count("words_current", past=False, summed="m.n_words"),
            _count("words_past", past=True, summed="m.n_words"),
            _count(
                "n_bounded",
                past=False,
                summed="m.valid_from_s IS NOT NULL OR m.valid_until_s IS NOT NULL",
            ),
            Column("rewrites", whole("rewrites"), "0"),
        ),
        f"({whole('space')}) OR {_first_memory('space', 'NULL')} IS NOT NULL",
    ),
    Table(
        "retention",
        "retention rules",
        "category",
        (),
        f"{among('category', CATEGORIES)} AND ({number('keep_days', 1e-9, LONGEST_KEPT_DAYS)})",
    ),
    Table(
        "stage_cost",
        "stage costs",
        "stage",
        (),
        f"{text('device')} AND {text('stage')} AND ({number('fixed_ms', 0, 1e9)})"
        f" AND ({number('unit_ms', 0, 1e9)}) AND ({whole('runs')})",
    ),
    # Vectors of which it is not known what made them belong to no model: rebuild deletes them.
    Table(
        "embedding_model",
        "embedding models",
        "no",
        (
            Column(
                "model_id",
                " AND ".join(
                    f"({holds})"
                    for holds in (text("model_id"), *(holds for holds, _ in _MODEL.values()))
                ),
                _UNNAMED,
            ),
            *(Column(name, holds, instead) for name, (holds, instead) in _MODEL.items()),
        ),
        "EXISTS (SELECT 1 FROM main.sqlite_master t WHERE t.name = 'vectors_' || no)",
    ),
    # Last, since spaces and grants depend on it. Its fields, where unknown, are all of them.
    Table(
        "redacted_view",
        "hidden fields",
        "no",
        (
            Column("space", "typeof(space) = 'integer'", _OWN_SPACE),
            Column(
                "fields",
                "typeof(fields) = 'text' AND holds_fields(CAST(fields AS BLOB))",
                f"'{json.dumps(HIDEABLE)}'",
            ),
        ),
        f"{_ROLE} AND {_OWN_SPACE} IS NOT NULL",
    ),
)
"""The tables of settings, in the order in which they are reset."""

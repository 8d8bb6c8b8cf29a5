"""Relations: what was told that two named things are to each other, as far as a scope holds it.

One that rests on evidence stands as long as any of it is kept.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import apsw
import numpy as np

from family_recall.stores import scope_sql
from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import PARTITION_SHIFT
from family_recall.stores.records import Entity, StoredRelation, ToldRelation
from family_recall.types import IdArray, Relation, Scope

_READ = 1024


@dataclass(frozen=True, slots=True)
class Statement:
    """A relation's row, by all that its two ends are called, and who said what it rests on.

    ``stated`` are the names it was told with, ``names`` those its entities have, ``aliases`` the
    normalised ones; ``authors`` of its evidence, None for one that nobody in particular said.
    """

    no: int
    recorded_s: float
    subject: int
    object: int
    stated: tuple[str, str]
    names: tuple[str, str]
    aliases: tuple[frozenset[str], frozenset[str]]
    authors: tuple[str | None, ...]


def statements(
    connection: apsw.Connection,
    relation: Relation,
    valid_from_s: float | None,
    scope: Scope,
    veil: int = 0,
) -> list[Statement]:
    """Find the rows of one kind of relation in its space, whatever its two ends are called.

    ``valid_from_s`` in epoch seconds. Of the scope only what it keeps counts.
    """  # fmt: skip
    stands, kept = _stands(scope)
    found = sql.rows(
        connection,
        "SELECT r.no, r.recorded_s, r.subject, r.object, coalesce(r.stated, json_array(a.name,"
        f" b.name)), a.name, b.name, {_aliases_of('r.subject')}, {_aliases_of('r.object')},"
        " (SELECT json_group_array(m.author) FROM json_each(r.evidence) e"
        "  JOIN memory m ON m.id = e.value)"
        f" {_PLACED} WHERE r.relation = ? AND r.valid_from_s IS ? AND s.space_id = ?"
        f" AND p.band = ? AND w.person_id IS ? AND p.redacted_view = ? AND {stands} ORDER BY r.no",
        (
            relation.relation,
            valid_from_s,
            relation.space_id,
            relation.band,
            relation.guardians_of,
            veil,
            *kept,
        ),
    )
    return [
        Statement(
            no=no,
            recorded_s=recorded_s,
            subject=subject,
            object=object_,
            stated=tuple(json.loads(stated)),
            names=(first, second),
            aliases=(frozenset(json.loads(firsts)), frozenset(json.loads(seconds))),
            authors=tuple(json.loads(authors)),
        )
        for (
            no,
            recorded_s,
            subject,
            object_,
            stated,
            first,
            second,
            firsts,
            seconds,
            authors,
        ) in found
    ]


def of_space(connection: apsw.Connection, space_id: str, zone: dt.tzinfo) -> list[ToldRelation]:
    """List the relations of a space, as they were told, oldest first."""
    found = sql.rows(
        connection,
        f"{_told_as('TRUE')} WHERE s.space_id = ? AND p.redacted_view = 0 ORDER BY r.no",
        (space_id,),
    )
    return [_told(row, zone) for row in found]


def in_scope(
    connection: apsw.Connection,
    scope: Scope,
    limit: int,
    zone: dt.tzinfo,
    about: Sequence[int] | None = None,
) -> list[Relation]:
    """List the relations of a scope that hold at its moment, as they were told, oldest first.

    ``about`` keeps those that have one of these entities at either end.
    """
    kept, bound = scope_sql.retained(scope)
    stands, again = _stands(scope)
    found = sql.rows(
        connection,
        f"{_told_as(kept)} WHERE p.no IN (SELECT value FROM carray(?))"
        " AND (r.valid_from_s IS NULL OR r.valid_from_s <= ?)"
        " AND (r.valid_until_s IS NULL OR r.valid_until_s > ?)"
        " AND r.recorded_s <= ? AND (? IS NULL OR r.subject IN (SELECT value FROM json_each(?))"
        " OR r.object IN (SELECT value FROM json_each(?)))"
        f" AND {stands} ORDER BY r.recorded_s, r.no LIMIT ?",
        (
            *bound,
            sql.id_array(np.array(scope.partitions, np.int64)),
            scope.as_of_s,
            scope.as_of_s,
            np.inf if scope.known_at_s is None else scope.known_at_s,
            *[None if about is None else json.dumps(list(about))] * 3,
            *again,
            limit,
        ),
    )
    return [_told(row, zone).relation for row in found]


def among(connection: apsw.Connection, entities: IdArray, scope: Scope) -> list[StoredRelation]:
    """Find the relations some entities are an end of, either end, that hold in a scope."""
    stands, kept = _stands(scope)
    found = sql.rows(
        connection,
        # A person has as many edges as memories, and few weights: from weight to weight the
        # edges to other entities are reached without reading those to memories.
        "WITH RECURSIVE level(src, weight) AS ("
        "  SELECT n.value, (SELECT weight FROM edge WHERE src = n.value"
        "   ORDER BY weight DESC LIMIT 1) FROM carray(?1) n"
        "  UNION ALL SELECT l.src, (SELECT e.weight FROM edge e WHERE e.src = l.src"
        "   AND e.weight < l.weight ORDER BY e.weight DESC LIMIT 1)"
        "  FROM level l WHERE l.weight IS NOT NULL),"
        " link(a, b, kind) AS ("
        "  SELECT e.src, e.dst, e.kind FROM level l CROSS JOIN edge e"
        "  ON e.src = l.src AND e.weight = l.weight AND e.dst < 0),"
        " told(no) AS ("
        "  SELECT r.no FROM link CROSS JOIN relation r"
        "  ON r.subject = link.a AND r.relation = link.kind AND r.object = link.b"
        "  UNION SELECT r.no FROM link CROSS JOIN relation r"
        "  ON r.subject = link.b AND r.relation = link.kind AND r.object = link.a)"
        " SELECT s.id, s.name, p.person_id, r.relation, o.id, o.name, q.person_id, r.confidence"
        " FROM told JOIN relation r ON r.no = told.no"
        " JOIN entity s ON s.id = r.subject LEFT JOIN person p ON p.no = s.person"
        " JOIN entity o ON o.id = r.object LEFT JOIN person q ON q.no = o.person"
        " WHERE (r.valid_from_s IS NULL OR r.valid_from_s <= ?2)"
        " AND (r.valid_until_s IS NULL OR r.valid_until_s > ?2)"
        f" AND (?3 IS NULL OR r.recorded_s <= ?3) AND {stands} ORDER BY r.no LIMIT {_READ}",
        (sql.id_array(entities), scope.as_of_s, scope.known_at_s, *kept),
    )
    return [StoredRelation(Entity(*row[:3]), row[3], Entity(*row[4:7]), row[7]) for row in found]


def _stands(scope: Scope) -> scope_sql.Condition:
    """Turn what a scope keeps into a condition on ``relation r``: none of its evidence, or any."""
    if not scope.expired:
        return "TRUE", ()
    kept, values = scope_sql.retained(scope)
    return (
        "(r.evidence = '[]' OR EXISTS (SELECT 1 FROM json_each(r.evidence) e"
        f" JOIN memory m ON m.id = e.value AND {kept}))"
    ), values


def _told_as(kept: str) -> str:
    """Select relations as they were told, with the evidence that meets a condition."""
    return (
        "SELECT a.name, r.relation, b.name, s.space_id, p.band, r.confidence, r.valid_from_s,"
        " r.valid_until_s, (SELECT json_group_array(m.doc_id) FROM json_each(r.evidence) e"
        f"  JOIN memory m ON m.id = e.value AND {kept}), w.person_id, r.recorded_s {_PLACED}"
    )


def _aliases_of(entity: str) -> str:
    return (
        "(SELECT json_group_array(n.alias) FROM alias n"
        f" WHERE n.partition = p.no AND n.entity = {entity})"
    )


_PLACED = (
    "FROM relation r JOIN entity a ON a.id = r.subject JOIN entity b ON b.id = r.object"
    f" JOIN partition p ON p.no = -r.subject >> {PARTITION_SHIFT}"
    " JOIN space s ON s.no = p.space LEFT JOIN person w ON w.no = p.child"
)


def _told(row: tuple[Any, ...], zone: dt.tzinfo) -> ToldRelation:
    subject, kind, object_, space_id, band, confidence, start, end, evidence, ward, recorded_s = row
    valid_from, valid_until = (
        None if moment is None else dt.datetime.fromtimestamp(moment, zone)
        for moment in (start, end)
    )
    relation = Relation(
        subject=subject,
        relation=kind,
        object=object_,
        space_id=space_id,
        band=band,
        confidence=confidence,
        valid_from=valid_from,
        valid_until=valid_until,
        evidence=tuple(json.loads(evidence)),
        guardians_of=ward,
    )
    return ToldRelation(relation, recorded_s)

"""Erasing: row ids in; nothing left that says or points at them, and a record of what went.

Text goes with its words, its place as another turn's context, its vectors, edges, mentions,
identifiers, judgements, and the relations that rested on it alone. Names are the caller's: what a
text names is decided above. Bytes are :mod:`family_recall.stores.erase.verification`'s.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import apsw
import numpy as np

from family_recall.stores.erase.session_context import SessionContext
from family_recall.stores.file import checksums, sql
from family_recall.stores.file.row_ids import partition_of
from family_recall.stores.graph import edges
from family_recall.stores.graph.entities import Names
from family_recall.stores.records import StoredMemory
from family_recall.stores.text import memories
from family_recall.stores.vectors import overwriting, tables

POINTING: tuple[tuple[str, str], ...] = (
    ("memory", "id"), ("memory", "context_id"), ("embedding", "memory"), ("mention", "memory"),
    ("identifier", "memory"), ("edge", "src"), ("edge", "dst"), ("feedback", "memory"),
    ("shown", "memory"), ("audit_memory", "memory"),
)  # fmt: skip
"""Columns that hold a memory's row id. A new table with one belongs here, and goes along."""

EMPTIED: tuple[str, ...] = ("sqlite_stat4",)
"""Tables that are emptied whenever something is forgotten: caches, and copies without an id.

SQLite's samples of indexed values are the names and numbers of some memory; ``PRAGMA optimize``
takes new ones. A cache of what questions or texts were read as belongs here too.
"""

_SOURCES = ("title", "text", "summary", "fact_value", "url", "section", "source")


@dataclass(frozen=True, slots=True)
class Gone:
    """What one memory's row said, kept only until its digests are made."""

    id: int
    space_id: str
    doc_id: str
    said: tuple[bytes, ...]
    vectors: tuple[bytes, ...]


@dataclass(slots=True)
class Erased:
    """What a transaction erased.

    ``counts`` are rows by table; ``stems`` are the words it held;
    ``entities`` may have lost their reason; ``judges`` are people whose judgements went along.
    """

    rows: list[Gone] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    stems: set[str] = field(default_factory=set)
    entities: set[int] = field(default_factory=set)
    judges: set[str] = field(default_factory=set)
    relations: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Eraser:
    """The tables of one file, inside one write transaction."""

    connection: apsw.Connection
    vec0: bool
    next_weight: float

    @property
    def _turns(self) -> SessionContext:
        return SessionContext(self.connection, self.next_weight)

    def erase(self, ids: Iterable[int]) -> Erased:
        """Take memories away, by the ids of their rows, with all that was made from them."""
        chosen = sorted(set(ids))
        erased = Erased(rows=self._read(chosen))
        if not chosen:
            return erased
        wanted = json.dumps(chosen)
        erased.entities |= self._entities_of(wanted)
        erased.judges |= self._judges_of(wanted)
        stems = self._turns.stems_of(chosen)
        followers = self._turns.followers(wanted)
        erased.counts.update(self._counted(wanted))
        self._turns.take([*chosen, *followers])
        self._turns.count_down(wanted)
        self._take_relations(wanted, erased)
        for memory in chosen:
            edges.remove_node(self.connection, memory)
        tables.remove(self.connection, chosen, vec0=self.vec0)
        if not self.vec0:
            overwriting.overwrite(self.connection, chosen)
        for table, column in POINTING:
            if table not in {"memory", "edge"} and self._has(table):
                self._delete(table, column, wanted)
        self._delete("memory", "id", wanted)
        self._turns.put(followers, self._turns.contexts(followers))
        for table in EMPTIED:
            if self._has(table):
                self.connection.execute(f"DELETE FROM {table}")
        erased.stems |= stems
        return erased

    def unsaid(self, stems: Iterable[str]) -> set[str]:
        """Give those of some stems that no memory of the file holds any more."""
        return self._turns.unsaid(stems)

    def restore(self, rows: Sequence[dict[str, Any]], zone: dt.tzinfo) -> list[StoredMemory]:
        """Put rows back as they were; words and all that is derived are the caller's.

        Where another version has become the current one meanwhile, what comes back is replaced by
        it; what lay in a partition that is gone stays gone.
        """
        ids = []
        for row in rows:
            held = sql.row(
                self.connection, "SELECT 1 FROM partition WHERE no = ?", (partition_of(row["id"]),)
            )
            if held is None:
                continue
            newer = sql.row(
                self.connection,
                "SELECT recorded_s FROM memory WHERE space = :space AND doc_id = :doc_id"
                " AND redacted_view = :redacted_view AND superseded_s IS NULL",
                {name: row[name] for name in ("space", "doc_id", "redacted_view")},
            )
            if row["superseded_s"] is None and newer is not None:
                row = {**row, "superseded_s": newer[0]}  # noqa: PLW2901 - the same row, as it is now
            columns = ", ".join(row)
            marks = ", ".join(f":{name}" for name in row)
            self.connection.execute(f"INSERT INTO memory({columns}) VALUES({marks})", row)
            ids.append(row["id"])
        # Put aside before rows were sealed.
        bare = [row["id"] for row in rows if row.get("checksum") is None]
        checksums.fill(self.connection, np.array(bare, np.int64))
        for memory, context in self._turns.contexts(ids).items():
            self.connection.execute(
                "UPDATE memory SET context_id = ? WHERE id = ?", (context, memory)
            )
        return memories.load(
            self.connection,
            "m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id",
            (json.dumps(ids),),
            zone,
        )

    def follow_again(self, ids: Sequence[int]) -> None:
        """Give the turns after some memories, and those themselves, the contexts they now have."""
        followers = [memory for at in ids for memory in self._turns.after(at)]
        moved = sorted({*followers} - {*ids})
        self._turns.take(moved)
        self._turns.put(moved, self._turns.contexts(moved))

    def raw_rows(self, ids: Sequence[int]) -> list[dict[str, Any]]:
        """Give whole rows as they lie in the file, to be put back one day."""
        columns = self._columns("memory")
        found = sql.rows(
            self.connection,
            f"SELECT {', '.join(columns)} FROM memory"
            " WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
            (json.dumps(list(ids)),),
        )
        return [dict(zip(columns, row, strict=True)) for row in found]

    def _read(self, ids: Sequence[int]) -> list[Gone]:
        found = sql.rows(
            self.connection,
            f"SELECT m.id, s.space_id, m.doc_id, {', '.join('m.' + name for name in _SOURCES)}"
            " FROM memory m JOIN space s ON s.no = m.space"
            " WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id",
            (json.dumps(list(ids)),),
        )
        held = overwriting.vector_bytes(self.connection, ids, vec0=self.vec0)
        return [
            Gone(
                memory, space_id, doc_id,
                tuple(part.encode() for part in said if part), tuple(held.get(memory, ())),
            )
            for memory, space_id, doc_id, *said in found
        ]  # fmt: skip

    def _entities_of(self, wanted: str) -> set[int]:
        found = sql.rows(
            self.connection,
            "SELECT DISTINCT entity FROM mention WHERE memory IN (SELECT value FROM json_each(?))",
            (wanted,),
        )
        return {entity for (entity,) in found}

    def _judges_of(self, wanted: str) -> set[str]:
        """Name those whose learning rests on these memories, or on a replaced version of them."""
        found = sql.rows(
            self.connection,
            "WITH gone(id) AS (SELECT value FROM json_each(?1))"
            " SELECT p.person_id FROM person p WHERE p.no IN ("
            "  SELECT j.person FROM feedback j WHERE j.memory IN gone"
            "  UNION SELECT j.person FROM shown s JOIN feedback j ON j.no = s.feedback"
            "   WHERE s.memory IN gone"
            "  UNION SELECT l.person FROM learned l WHERE EXISTS"
            "   (SELECT 1 FROM memory m JOIN gone ON gone.id = m.id"
            "    WHERE m.superseded_s IS NOT NULL)"
            "   AND l.feedback NOT IN (SELECT no FROM feedback))",
            (wanted,),
        )
        return {person_id for (person_id,) in found}

    def _take_relations(self, wanted: str, erased: Erased) -> None:
        """Take relations away that rest on what goes alone; the others lose it as evidence."""
        gone = set(json.loads(wanted))
        names = Names(self.connection)
        found = sql.rows(
            self.connection,
            "SELECT no, subject, object, evidence FROM relation r WHERE EXISTS"
            " (SELECT 1 FROM json_each(r.evidence) e WHERE e.value IN"
            "  (SELECT value FROM json_each(?)))",
            (wanted,),
        )
        for no, subject, object_, evidence in found:
            left = [memory for memory in json.loads(evidence) if memory not in gone]
            if left:
                self.connection.execute(
                    "UPDATE relation SET evidence = ? WHERE no = ?", (json.dumps(left), no)
                )
            else:
                erased.relations.append(self._told(no))
                self.connection.execute("DELETE FROM relation WHERE no = ?", (no,))
                erased.counts["relation"] += 1
                erased.entities |= {subject, object_}
            names.relink(subject, object_)

    def _told(self, no: int) -> dict[str, Any]:
        """Give a relation as it can be told again."""
        columns = self._columns("relation")
        row = sql.row(
            self.connection,
            f"SELECT {', '.join('r.' + name for name in columns)}, a.name, b.name FROM relation r"
            " JOIN entity a ON a.id = r.subject JOIN entity b ON b.id = r.object WHERE r.no = ?",
            (no,),
        )
        return dict(zip((*columns, "subject_name", "object_name"), row, strict=True))

    def _columns(self, table: str) -> list[str]:
        found = sql.rows(self.connection, "SELECT name FROM pragma_table_info(?)", (table,))
        return [name for (name,) in found]

    def _counted(self, wanted: str) -> dict[str, int]:
        """Count the rows of each table that go along, an edge in one of its directions."""
        counts = {
            table: sql.row(
                self.connection,
                f"SELECT count(*) FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))",
                (wanted,),
            )[0]
            for table, column in POINTING
            if column not in {"context_id", "dst"} and self._has(table)
        }
        return {table: n for table, n in counts.items() if n}

    def _delete(self, table: str, column: str, wanted: str) -> None:
        self.connection.execute(
            f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))", (wanted,)
        )

    def _has(self, table: str) -> bool:
        found = sql.row(
            self.connection, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?",
            (table,),
        )  # fmt: skip
        return found is not None

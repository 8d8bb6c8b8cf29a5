"""Erasing: row ids in; nothing left that says or points at them, and a record of what went.

Text goes with its words, its place as another turn's context, its vectors, edges, mentions,
identifiers, judgements, and the relations that rested on it alone. Names are the caller's: what a
text names is decided above. Bytes are :mod:`family_recall.stores.remains`'s.
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

from family_recall.stores import edges, fts, memories, sql, vectors
from family_recall.stores.base import StoredMemory, stem_number
from family_recall.stores.named import Named
from family_recall.stores.names import Names
from family_recall.stores.schema import partition_of, shelf_of

POINTING: tuple[tuple[str, str], ...] = (
    ("memory", "id"), ("memory", "context_id"), ("embedding", "memory"), ("mention", "memory"),
    ("identifier", "memory"), ("edge", "src"), ("edge", "dst"), ("judgement", "memory"),
    ("shown", "memory"), ("audit_memory", "memory"),
)  # fmt: skip
"""Columns that hold a memory's row id. A new table with one belongs here, and goes along."""

EMPTIED: tuple[str, ...] = ("sqlite_stat4",)
"""Tables that are emptied whenever something is forgotten: caches, and copies without an id.

SQLite's samples of indexed values are the names and numbers of some memory; ``PRAGMA optimize``
takes new ones. A cache of what questions or texts were read as belongs here too.
"""

_BATCH = 500  # memories
_SOURCES = ("title", "text", "summary", "fact_value", "url", "section", "source")


@dataclass(frozen=True, slots=True)
class Gone:
    """What one memory's row said, kept only until its digests are made."""

    id: int
    space_id: str
    doc_id: str
    author: str | None
    text: str
    past: bool
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

    def erase(self, ids: Iterable[int]) -> Erased:
        """Take memories away, by the ids of their rows, with all that was made from them."""
        chosen = sorted(set(ids))
        erased = Erased(rows=self._read(chosen))
        if not chosen:
            return erased
        wanted = json.dumps(chosen)
        erased.entities |= self._entities_of(wanted)
        erased.judges |= self._judges_of(wanted)
        stems = self._stems_of(chosen)
        followers = self._followers(wanted)
        erased.counts.update(self._counted(wanted))
        self._take_words([*chosen, *followers])
        self._count_down(wanted)
        self._take_relations(wanted, erased)
        for memory in chosen:
            edges.remove_node(self.connection, memory)
        vectors.remove(self.connection, chosen, vec0=self.vec0)
        if not self.vec0:
            self._blank_vectors(chosen)
        for table, column in POINTING:
            if table not in {"memory", "edge"} and self._has(table):
                self._delete(table, column, wanted)
        self._delete("memory", "id", wanted)
        self._put_words(followers, self._new_contexts(followers))
        for table in EMPTIED:
            if self._has(table):
                self.connection.execute(f"DELETE FROM {table}")
        erased.stems |= stems
        return erased

    def named(self) -> Named:
        """Entities, and why they are known."""
        return Named(self.connection)

    def unsaid(self, stems: Iterable[str]) -> set[str]:
        """Give those of some stems that no memory of the file holds any more."""
        return {stem for stem in stems if not self._is_said(stem)}

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
                " AND veil = :veil AND superseded_s IS NULL",
                {name: row[name] for name in ("space", "doc_id", "veil")},
            )
            if row["superseded_s"] is None and newer is not None:
                row = {**row, "superseded_s": newer[0]}  # noqa: PLW2901 - the same row, as it is now
            columns = ", ".join(row)
            marks = ", ".join(f":{name}" for name in row)
            self.connection.execute(f"INSERT INTO memory({columns}) VALUES({marks})", row)
            ids.append(row["id"])
        for memory, context in self._new_contexts(ids).items():
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
        followers = [memory for at in ids for memory in self._after(at)]
        moved = sorted({*followers} - {*ids})
        self._take_words(moved)
        self._put_words(moved, self._new_contexts(moved))

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

    # Words

    def _followers(self, wanted: str) -> list[int]:
        """List the memories that stay and hold the words of one that goes as their context."""
        found = sql.rows(
            self.connection,
            "SELECT id FROM memory WHERE context_id IN (SELECT value FROM json_each(?1))"
            " AND id NOT IN (SELECT value FROM json_each(?1)) ORDER BY id",
            (wanted,),
        )
        return [memory for (memory,) in found]

    def _after(self, memory: int) -> list[int]:
        """List the turns that come right after a memory in its talk, past ones among them."""
        found = sql.rows(
            self.connection,
            "SELECT n.id FROM memory m JOIN memory n ON n.space = m.space"
            " AND n.session_id = m.session_id AND n.id >> 40 = m.id >> 40"
            " AND (n.order_s, n.id) > (m.order_s, m.id)"
            " WHERE m.id = ? ORDER BY n.order_s, n.id",
            (memory,),
        )
        after = [row[0] for row in found]
        current = {row[0] for row in self._states(after) if row[1] is None}
        following = next((one for one in after if one in current), None)
        return [*([] if following is None else [following]), *(set(after) - current)]

    def _states(self, ids: Sequence[int]) -> list[tuple[int, float | None]]:
        return sql.rows(
            self.connection,
            "SELECT id, superseded_s FROM memory WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )

    def _new_contexts(self, ids: Sequence[int]) -> dict[int, int | None]:
        """Say which turn now comes before each of some memories.

        What has been replaced keeps what came before it when it was.
        """
        found: dict[int, int | None] = {}
        for memory in ids:
            row = sql.row(
                self.connection,
                "SELECT p.id FROM memory m JOIN memory p ON p.space = m.space"
                " AND p.session_id = m.session_id AND p.id >> 40 = m.id >> 40"
                " AND (p.order_s, p.id) < (m.order_s, m.id)"
                " WHERE m.id = ? AND CASE WHEN m.superseded_s IS NULL THEN p.superseded_s IS NULL"
                "  ELSE p.recorded_s <= m.superseded_s AND p.doc_id <> m.doc_id"
                "   AND (p.superseded_s IS NULL OR p.superseded_s > m.superseded_s) END"
                " ORDER BY p.order_s DESC, p.id DESC LIMIT 1",
                (memory,),
            )
            found[memory] = row[0] if row else None
        return found

    def _take_words(self, ids: Sequence[int]) -> None:
        for start in range(0, len(ids), _BATCH):
            by_shelf = self._prepared(ids[start : start + _BATCH])
            for shelf, rows in by_shelf.items():
                fts.remove(self.connection, shelf, rows)
                self._say(shelf, rows, -1)

    def _put_words(self, ids: Sequence[int], contexts: dict[int, int | None]) -> None:
        current = {memory for memory, superseded_s in self._states(ids) if superseded_s is None}
        for memory, context in contexts.items():
            self.connection.execute(
                "UPDATE memory SET context_id = ? WHERE id = ?", (context, memory)
            )
            if context is not None and memory in current:
                edges.add(self.connection, [(context, memory, self.next_weight, "next")])
        for shelf, rows in self._prepared(ids).items():
            fts.add(self.connection, shelf, rows)
            self._say(shelf, rows, +1)
            self.connection.executemany(
                "UPDATE memory SET words = ?, n_words = ? WHERE id = ?",
                [(row.entries, row.n_words, row.id) for row in rows],
            )

    def _prepared(self, ids: Sequence[int]) -> dict[int, list[fts.Words]]:
        counter = fts.WordCounter(self.connection)
        by_shelf: dict[int, list[fts.Words]] = {}
        for memory, past, body, header, speaker, before in sql.rows(
            self.connection,
            "SELECT m.id, m.superseded_s IS NOT NULL, w.body, w.header, c.author, c.text"
            " FROM memory m JOIN words_content w ON w.id = m.id"
            " LEFT JOIN memory c ON c.id = m.context_id"
            " WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id",
            (json.dumps(list(ids)),),
        ):
            shelf = shelf_of(partition_of(memory), past=bool(past))
            words = counter.prepare(memory, body, header, (speaker, before or ""))
            by_shelf.setdefault(shelf, []).append(words)
        return by_shelf

    def _say(self, shelf: int, rows: Sequence[fts.Words], sign: int) -> None:
        column = "words_past" if shelf % 2 else "words_current"
        self.connection.execute(
            f"UPDATE partition SET {column} = {column} + ?, rewrites = rewrites + 1 WHERE no = ?",
            (sign * sum(row.n_words for row in rows), shelf // 2),
        )

    def _count_down(self, wanted: str) -> None:
        self.connection.execute(
            "UPDATE partition SET n_current = partition.n_current - g.current,"
            " n_past = partition.n_past - g.past, n_bounded = partition.n_bounded - g.bounded"
            " FROM (SELECT id >> 40 AS no, sum(superseded_s IS NULL) AS current,"
            "  sum(superseded_s IS NOT NULL) AS past, sum(superseded_s IS NULL"
            "   AND coalesce(valid_from_s, valid_until_s) IS NOT NULL) AS bounded"
            "  FROM memory WHERE id IN (SELECT value FROM json_each(?)) GROUP BY 1) g"
            " WHERE partition.no = g.no",
            (wanted,),
        )

    def _stems_of(self, ids: Sequence[int]) -> set[str]:
        bodies = sql.rows(
            self.connection,
            "SELECT body, header FROM words_content WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return {
            stem for row in bodies for text in row for _, stem in fts.split(self.connection, text)
        }

    def _is_said(self, stem: str) -> bool:
        number = stem_number(stem)
        # Shelf by shelf: the table is ordered by shelf first, and there are few.
        return bool(
            sql.row(
                self.connection,
                "SELECT EXISTS (SELECT 1 FROM partition p JOIN word_count w"
                " ON w.shelf IN (2 * p.no, 2 * p.no + 1) AND w.stem = ?)",
                (number,),
            )[0]
        )

    # Everything else

    def _read(self, ids: Sequence[int]) -> list[Gone]:
        found = sql.rows(
            self.connection,
            "SELECT m.id, s.space_id, m.doc_id, m.author, m.text, m.superseded_s IS NOT NULL,"
            f" {', '.join('m.' + name for name in _SOURCES)}"
            " FROM memory m JOIN space s ON s.no = m.space"
            " WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id",
            (json.dumps(list(ids)),),
        )
        held = self._vectors_of(ids)
        return [
            Gone(
                memory, space_id, doc_id, author, text, bool(past),
                tuple(part.encode() for part in said if part), tuple(held.get(memory, ())),
            )
            for memory, space_id, doc_id, author, text, past, *said in found
        ]  # fmt: skip

    def _vectors_of(self, ids: Sequence[int]) -> dict[int, list[bytes]]:
        held: dict[int, list[bytes]] = {}
        wanted = (sql.id_array(np.array(ids, np.int64)),)
        found = [
            "SELECT memory, tokens FROM embedding WHERE memory IN (SELECT value FROM carray(?))",
            *(
                f"SELECT id, vector FROM {model.table} WHERE id IN (SELECT value FROM carray(?))"
                for model in vectors.models(self.connection)
                if vectors.writable(model, vec0=self.vec0)
            ),
        ]
        for statement in found:
            for memory, blob in sql.rows(self.connection, statement, wanted):
                held.setdefault(memory, []).append(bytes(blob))
        return held

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
            "  SELECT j.person FROM judgement j WHERE j.memory IN gone"
            "  UNION SELECT j.person FROM shown s JOIN judgement j ON j.no = s.judgement"
            "   WHERE s.memory IN gone"
            "  UNION SELECT l.person FROM learned l WHERE EXISTS"
            "   (SELECT 1 FROM memory m JOIN gone ON gone.id = m.id"
            "    WHERE m.superseded_s IS NOT NULL)"
            "   AND l.judgement NOT IN (SELECT no FROM judgement))",
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

    def _blank_vectors(self, ids: Sequence[int]) -> None:
        """Overwrite vectors in vec0's own tables, where the extension is not here to do it."""
        for model in vectors.models(self.connection):
            if model.storage != "vec0":
                continue
            for memory in ids:
                self._blank(model, memory)

    def _blank(self, model: vectors.Model, memory: int) -> None:
        place = sql.row(
            self.connection,
            f"SELECT chunk_id, chunk_offset FROM {model.table}_rowids WHERE rowid = ?",
            (memory,),
        )
        if place is None:
            return
        chunk, at = place
        validity, rowids = sql.row(
            self.connection,
            f"SELECT validity, rowids FROM {model.table}_chunks WHERE chunk_id = ?",
            (chunk,),
        )
        (held,) = sql.row(
            self.connection,
            f"SELECT vectors FROM {model.table}_vector_chunks00 WHERE rowid = ?",
            (chunk,),
        )
        flags, numbers, parts = bytearray(validity), bytearray(rowids), bytearray(held)
        flags[at // 8] &= ~(1 << at % 8)
        numbers[8 * at : 8 * at + 8] = bytes(8)
        parts[model.dim * at : model.dim * (at + 1)] = bytes(model.dim)
        self.connection.execute(
            f"UPDATE {model.table}_chunks SET validity = ?, rowids = ? WHERE chunk_id = ?",
            (bytes(flags), bytes(numbers), chunk),
        )
        self.connection.execute(
            f"UPDATE {model.table}_vector_chunks00 SET vectors = ? WHERE rowid = ?",
            (bytes(parts), chunk),
        )
        self.connection.execute(f"DELETE FROM {model.table}_rowids WHERE rowid = ?", (memory,))

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

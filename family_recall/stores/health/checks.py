"""Checks: is the file sound, and does everything made from the texts agree with them?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import apsw
import numpy as np

from family_recall.stores.file import checksums, sql
from family_recall.stores.file.integrity import Finding, check_pages
from family_recall.stores.file.row_ids import PARTITION_SHIFT, shard_of, words_table
from family_recall.stores.records import WORD_ENTRY, stem_number
from family_recall.stores.text import full_text
from family_recall.stores.vectors import tables
from family_recall.types import IdArray

CHECKSUMS = "memories"
"""What is found under this name no ``rebuild`` mends: the texts themselves have changed."""

_STEPS = 20_000  # of SQLite's machine, between two questions whether to give up
_SHOWN = 10  # of SQLite's own findings, and of memories


def as_told(connection: apsw.Connection) -> list[Finding]:
    """Check each memory against the seal it was given when it was told; reads every text."""
    wrong = checksums.broken(connection)
    if not wrong:
        return [Finding(CHECKSUMS, None)]
    told = [f"{one.space_id}/{one.doc_id}" for one in checksums.named(connection, wrong[:_SHOWN])]
    more = f" and {len(wrong) - _SHOWN:,} more" if len(wrong) > _SHOWN else ""
    return [Finding(CHECKSUMS, f"{len(wrong):,} not as told: {', '.join(told)}{more}")]


def agree(connection: apsw.Connection) -> list[Finding]:
    """Check what is made from the texts against them: words, counts, vectors, names and edges.

    Needs a transaction that may write, since FTS5 is asked by an INSERT; nothing is changed.
    """
    findings = [
        _finding("words", _full_text(connection)),
        _finding("words of each memory", _texts(connection)),
        _finding("word counts", _word_counts(connection)),
        _finding("partition counts", _partitions(connection)),
    ]
    findings += [_finding(f"vectors of {name}", wrong) for name, wrong in _vectors(connection)]
    for rule in _MUST_BE_EMPTY:
        (n,) = sql.row(connection, f"SELECT count(*) FROM ({rule.query})")
        findings.append(_finding(rule.what, f"{n:,} {rule.problem}" if n else None))
    return findings


def glance(connection: apsw.Connection, give_up: Callable[[], bool]) -> list[Finding] | None:
    """Check pages, indexes and counts, but no text; None where it was told to give up.

    Reads the file once, in statements beside which other threads run: 0.2 s for 50,000 memories.
    """
    connection.set_progress_handler(give_up, _STEPS)
    try:
        findings = check_pages(connection)
        if not any(finding.problem for finding in findings):
            findings.append(_finding("partition counts", _partitions(connection)))
            findings.append(_finding("words", _sums(connection)))
    except apsw.InterruptError:
        return None
    finally:
        connection.set_progress_handler(None)
    return findings


def pending(connection: apsw.Connection, asked: Iterable[str]) -> dict[str, int]:
    """Count the memories that have no vector yet, for each asked embedder and each in the file."""
    (total,) = sql.row(connection, "SELECT count(*) FROM memory")
    counts: dict[str, int] = dict.fromkeys(asked, total)
    for model in tables.models(connection):
        if model.role not in tables.VIEWS:
            (done,) = sql.row(
                connection, "SELECT count(*) FROM embedding WHERE model = ?", (model.no,)
            )
            counts[model.model_id] = total - done
    return counts


def _finding(what: str, problem: str | None) -> Finding:
    return Finding(what, problem, derived=True)


def _shards(connection: apsw.Connection) -> list[int]:
    numbers = sql.rows(connection, "SELECT no FROM partition ORDER BY no")
    return [shard_of(no, past=past) for (no,) in numbers for past in (False, True)]


_ON_SHELF = f"(m.id >> {PARTITION_SHIFT}) * 2 + (m.superseded_s IS NOT NULL)"


def _full_text(connection: apsw.Connection) -> str | None:
    """Ask each FTS5 index whether it is whole, and which memories and stems it holds."""
    wrong = []
    for shelf in _shards(connection):
        name = words_table(shelf)
        try:
            # Not against the content by itself: the view has the memories of every shelf.
            connection.execute(f"INSERT INTO {name}({name}) VALUES('integrity-check')")
            held = dict(_vocabulary(connection, name, "instance", "doc, count(*)", "GROUP BY doc"))
            stems = _vocabulary(connection, name, "row", "term, doc", "")
        except (apsw.CorruptError, apsw.SQLError) as error:
            wrong.append(f"shelf {shelf}: {error}")
            continue
        told = dict(
            sql.rows(
                connection,
                f"SELECT m.id, m.n_words FROM memory m WHERE {_ON_SHELF} = ? AND m.n_words > 0",
                (shelf,),
            )
        )
        n_memories = len(held.items() ^ told.items())
        counted = Counter[int]()
        for stem, n in stems:
            counted[stem_number(stem)] += n
        kept = dict(
            sql.rows(connection, "SELECT stem, n FROM word_count WHERE shelf = ?", (shelf,))
        )
        n_stems = len(counted.items() ^ kept.items())
        if n_memories or n_stems:
            wrong.append(f"shelf {shelf}: {n_memories:,} memories and {n_stems:,} stems differ")
    return "; ".join(wrong) or None


def _sums(connection: apsw.Connection) -> str | None:
    """Hold what each FTS5 index counts against the counts kept beside it: memories, and stems."""
    wrong = 0
    for shelf in _shards(connection):
        name = words_table(shelf)
        held = _vocabulary(connection, name, "row", "coalesce(sum(doc), 0)", "")
        held += sql.rows(connection, f"SELECT count(*) FROM {name}_docsize")
        kept = sql.rows(
            connection, "SELECT coalesce(sum(n), 0) FROM word_count WHERE shelf = ?", (shelf,)
        )
        column = "n_past" if shelf % 2 else "n_current"
        kept += sql.rows(connection, f"SELECT {column} FROM partition WHERE no = ?", (shelf // 2,))
        wrong += held != kept
    return f"{wrong:,} shelves hold other words than are counted" if wrong else None


def _vocabulary(
    connection: apsw.Connection, name: str, kind: str, columns: str, grouped: str
) -> list[tuple[Any, ...]]:
    """Read an index through its vocabulary (sqlite.org/fts5.html, "fts5vocab")."""
    connection.execute(
        f"CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, {name}, {kind})"
    )
    try:
        return sql.rows(connection, f"SELECT {columns} FROM temp.vocabulary {grouped}")
    finally:
        connection.execute("DROP TABLE temp.vocabulary")


def _texts(connection: apsw.Connection) -> str | None:
    """Count each memory's words again, the plain way."""
    wrong = 0
    for words, n_words, *texts in connection.execute(
        "SELECT m.words, m.n_words, c.body, c.header, c.context"
        " FROM memory m JOIN words_content c ON c.id = m.id"
    ):
        counts: dict[int, list[int]] = {}
        total = 0
        for column, text in enumerate(texts):
            for _, stem in full_text.split(connection, text):
                counts.setdefault(stem_number(stem), [0, 0, 0])[column] += 1
                total += 1
        told = [(stem, *(min(n, 255) for n in counts[stem])) for stem in sorted(counts)]
        kept = [] if len(words) % WORD_ENTRY.itemsize else np.frombuffer(words, WORD_ENTRY).tolist()
        wrong += total != n_words or told != [entry[:4] for entry in kept]
    return f"{wrong:,} memories with other words than their text" if wrong else None


def _word_counts(connection: apsw.Connection) -> str | None:
    """Add up how many memories hold each stem, shelf by shelf."""
    counts: dict[int, Counter[int]] = {}
    for shelf, words in connection.execute(f"SELECT {_ON_SHELF}, m.words FROM memory m"):
        stems = np.frombuffer(words[: len(words) // WORD_ENTRY.itemsize * WORD_ENTRY.itemsize],
                              WORD_ENTRY)["stem"]  # fmt: skip
        counts.setdefault(shelf, Counter()).update(stems.tolist())
    kept: dict[int, dict[int, int]] = {}
    for shelf, stem, n in connection.execute("SELECT shelf, stem, n FROM word_count"):
        kept.setdefault(shelf, {})[stem] = n
    wrong = sum(
        kept.get(shelf, {}).get(stem, 0) != counts.get(shelf, Counter())[stem]
        for shelf in {*kept, *counts}
        for stem in {*kept.get(shelf, {}), *counts.get(shelf, {})}
    )
    return f"{wrong:,} stems counted wrong" if wrong else None


def _partitions(connection: apsw.Connection) -> str | None:
    rows = sql.rows(
        connection,
        "SELECT p.no FROM partition p LEFT JOIN ("
        f"  SELECT id >> {PARTITION_SHIFT} AS no, count(*) AS n,"
        "   sum(superseded_s IS NULL) AS n_current,"
        "   sum(iif(superseded_s IS NULL, n_words, 0)) AS words_current, sum(n_words) AS words,"
        "   sum(superseded_s IS NULL AND (valid_from_s IS NOT NULL OR valid_until_s IS NOT NULL))"
        "    AS n_bounded, max(id) AS last"
        "  FROM memory GROUP BY 1) m ON m.no = p.no"
        " WHERE p.n_current <> coalesce(m.n_current, 0)"
        " OR p.n_past <> coalesce(m.n - m.n_current, 0)"
        " OR p.words_current <> coalesce(m.words_current, 0)"
        " OR p.words_past <> coalesce(m.words - m.words_current, 0)"
        " OR p.n_bounded <> coalesce(m.n_bounded, 0)"
        f" OR p.next_seq <= coalesce(m.last - (p.no << {PARTITION_SHIFT}), 0)",
    )
    return f"wrong in partition {', '.join(str(no) for (no,) in rows)}" if rows else None


def _vectors(connection: apsw.Connection) -> Iterator[tuple[str, str | None]]:
    """Compare each model's vectors with what `embedding` says there is, and on which shelf."""
    shelves = dict(sql.rows(connection, f"SELECT m.id, {_ON_SHELF} FROM memory m"))
    for model in tables.models(connection):
        noted = {
            memory
            for (memory,) in sql.rows(
                connection, "SELECT memory FROM embedding WHERE model = ?", (model.no,)
            )
        }
        try:
            stored = list(_stored(connection, model))
        except (apsw.Error, ValueError) as error:
            yield model.model_id, str(error)
            continue
        here = {memory for memory, _, _ in stored}
        problems = {
            "without a memory": len((here | noted) - shelves.keys()),
            "missing": len(noted - here),
            "not noted": len(here - noted),
            "twice": len(stored) - len(here),
            "on another shelf": sum(shelves.get(memory, at) != at for memory, at, _ in stored),
            "of zeros": sum(not any_ for _, _, any_ in stored),
        }
        said = ", ".join(f"{n:,} {name}" for name, n in problems.items() if n)
        yield model.model_id, said or None


def _stored(connection: apsw.Connection, model: tables.Model) -> Iterator[tuple[int, int, bool]]:
    """Go through a model's vectors as they are searched: (memory, shelf, whether it is one)."""
    if model.storage != "vec0":
        for memory, shelf, vector in connection.execute(
            f"SELECT id, shelf, vector FROM {model.table}"
        ):
            yield memory, shelf, len(vector) == model.dim and any(vector)
        return
    for shelf, validity, chunk_ids, chunk in connection.execute(
        f"SELECT c.partition00, c.validity, c.rowids, v.vectors FROM {model.table}_chunks c"
        f" JOIN {model.table}_vector_chunks00 v ON v.rowid = c.chunk_id"
    ):
        used = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little") == 1
        ids: IdArray = np.frombuffer(chunk_ids, np.int64)[used]
        rows = np.frombuffer(chunk, np.int8).reshape(-1, model.dim)[used]
        for memory, some in zip(ids.tolist(), rows.any(axis=1).tolist(), strict=True):
            yield memory, shelf, some


@dataclass(frozen=True, slots=True)
class _Rule:
    """Rows that must not be: ``query`` finds them, ``problem`` says of a number what they are."""

    what: str
    problem: str
    query: str


_MUST_BE_EMPTY = (
    _Rule(
        "edges",
        "without the way back",
        "SELECT 1 FROM edge e WHERE NOT EXISTS (SELECT 1 FROM edge b WHERE b.src = e.dst"
        " AND b.weight = e.weight AND b.dst = e.src AND b.kind = e.kind"
        " AND b.valid_from_s = e.valid_from_s)",
    ),
    _Rule(
        "edge ends",
        "out of nothing that is current",
        "SELECT 1 FROM edge e WHERE e.src > 0 AND NOT EXISTS (SELECT 1 FROM memory m"
        " WHERE m.id = e.src AND m.superseded_s IS NULL) UNION ALL"
        " SELECT 1 FROM edge e WHERE e.src < 0 AND NOT EXISTS"
        " (SELECT 1 FROM entity n WHERE n.id = e.src)",
    ),
    _Rule(
        "edge partitions",
        "from one partition to another",
        f"SELECT 1 FROM edge WHERE abs(src) >> {PARTITION_SHIFT} <> abs(dst) >> {PARTITION_SHIFT}",
    ),
    _Rule(
        "mentions",
        "of or by nothing that is there, or without an edge",
        "SELECT 1 FROM mention t WHERE NOT EXISTS (SELECT 1 FROM memory m WHERE m.id = t.memory"
        " AND m.superseded_s IS NULL) OR NOT EXISTS (SELECT 1 FROM entity n WHERE n.id = t.entity)"
        " OR NOT EXISTS (SELECT 1 FROM edge e WHERE e.src = t.memory AND e.dst = t.entity"
        "  AND e.kind = t.role)",
    ),
    _Rule(
        "mention edges",
        "without a mention",
        "SELECT 1 FROM edge e WHERE e.src > 0 AND e.kind IN ('mention', 'author') AND NOT EXISTS"
        " (SELECT 1 FROM mention t WHERE t.memory = e.src AND t.entity = e.dst"
        "  AND t.role = e.kind)",
    ),
    _Rule(
        "identifiers",
        "without a memory",
        "SELECT 1 FROM identifier i WHERE NOT EXISTS (SELECT 1 FROM memory m WHERE m.id = i.memory)"
        f" OR i.partition <> i.memory >> {PARTITION_SHIFT}",
    ),
    _Rule(
        "relations",
        "between names that are not there",
        "SELECT 1 FROM relation r WHERE NOT EXISTS (SELECT 1 FROM entity n WHERE n.id = r.subject)"
        " OR NOT EXISTS (SELECT 1 FROM entity n WHERE n.id = r.object)",
    ),
    _Rule(
        "places",
        "memories without a partition",
        f"SELECT 1 FROM memory m LEFT JOIN partition p ON p.no = m.id >> {PARTITION_SHIFT}"
        " WHERE p.no IS NULL OR p.space <> m.space OR p.band <> m.band",
    ),
    _Rule(
        "judgements",
        "of memories that are not there or are replaced",
        "SELECT 1 FROM judgement j WHERE NOT EXISTS"
        " (SELECT 1 FROM memory m WHERE m.id = j.memory AND m.superseded_s IS NULL)",
    ),
)

"""Checks of the file, its texts, and everything derived from them."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import apsw
import numpy as np

from family_recall.store import vectors
from family_recall.store.file import checksums, damage, sql
from family_recall.store.file.damage import RECORDS, SETTINGS
from family_recall.store.file.schema import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    SHARD_OF_MEMORY,
    id_range,
    partition_of_shard,
    shards_in,
    words_table,
)
from family_recall.store.passages import passages
from family_recall.store.vectors import PASSAGE, Model
from family_recall.store.word_index import TERM, vocabulary
from family_recall.store.words import ENTRY_BYTES, row_words, split, stem_number
from family_recall.types import IdArray

CHECKSUMS = "memories"
"""The check of texts; ``rebuild`` cannot repair what it finds."""

_LISTED = 10  # findings of SQLite and damaged memories in a message
_STEPS = 20_000  # of SQLite's virtual machine between two calls of ``give_up``
_ABOUT_VALUES = re.compile(
    rf"(?: value in |constraint failed in )(?:{'|'.join((*SETTINGS, *RECORDS))})(?:\.|$)"
)
_ABOUT_DERIVED = re.compile(
    rf"fts5|FTS5|(?: value in |constraint failed in )(?:{'|'.join(damage.DERIVED)})(?:\.|$)"
)
_UNREADABLE = (apsw.Error, LookupError, OverflowError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; ``problem`` is None if nothing is wrong.

    ``rebuild`` repairs problems of ``derived`` data, ``reset_unreadable`` unreadable ``values``.
    """

    what: str
    problem: str | None
    derived: bool = False
    values: bool = False


def check_pages(connection: apsw.Connection, *, derived: bool = True) -> list[Finding]:
    """Check pages, indexes, constraints and schema; reads the whole file.

    Without ``derived`` what rebuild repairs, word indexes and values in tables, does not count.
    """
    if (application := connection.pragma("application_id")) != APPLICATION_ID:
        return [Finding("identity", f"is no family_recall file (id {application:#x})")]
    try:
        lines = [str(line) for (line,) in sql.rows(connection, "PRAGMA integrity_check(1000000)")]
    except apsw.CorruptError as error:  # too damaged to read
        lines = [str(error)]
    # Constraint violations are found row by row: see damage.py.
    lines = [line for line in lines if line != "ok" and not _ABOUT_VALUES.search(line)]
    if not derived:
        lines = [line for line in lines if not _ABOUT_DERIVED.search(line)]
    schema = connection.pragma("user_version")
    known = f"schema {schema}, known is {SCHEMA_VERSION}"
    return [
        Finding("pages", "; ".join(lines[:_LISTED]) or None),
        Finding("schema", None if schema == SCHEMA_VERSION else known),
    ]


def check_texts(connection: apsw.Connection) -> list[Finding]:
    """Check the pages and, if they are sound, that values are readable and checksums match."""
    findings = check_pages(connection)
    if any(finding.problem for finding in findings):
        return findings
    findings += [
        Finding(damaged.what, damaged.description, values=True)
        for damaged in damage.find(connection)
    ]
    damaged = checksums.damaged(connection)
    if not damaged:
        return [*findings, Finding(CHECKSUMS, None)]
    names = ", ".join(checksums.describe(connection, damaged[:_LISTED]))
    more = f" and {len(damaged) - _LISTED:,} more" if len(damaged) > _LISTED else ""
    problem = f"{len(damaged):,} changed in the file: {names}{more}"
    return [*findings, Finding(CHECKSUMS, problem)]


def check_derived(connection: apsw.Connection) -> list[Finding]:
    """Check words, counts, vectors, names and edges against the texts they derive from.

    Needs a write transaction, since FTS5 is checked by an INSERT; nothing is changed.
    """
    try:
        findings = _word_findings(connection)
    except _UNREADABLE as error:
        findings = [Finding("words", f"cannot be read: {error}", derived=True)]
    for model in vectors.models(connection):
        check = functools.partial(_vector_problem, model)
        findings.append(_derived(f"vectors of {model.model_id}", check, connection))
    for rule in _RULES:
        findings.append(_derived(rule, functools.partial(problem_of, rule=rule), connection))
    return findings


def check_counts(connection: apsw.Connection, give_up: Callable[[], bool]) -> list[Finding] | None:
    """Check pages, indexes and counts, but not texts; None if ``give_up`` returned true.

    Reads the file once, while other threads run: 0.2 s for 50,000 memories.
    """
    connection.set_progress_handler(give_up, _STEPS)
    try:
        findings = check_pages(connection)
        if not any(finding.problem for finding in findings):
            check = functools.partial(problem_of, rule="partition counts")
            findings.append(_derived("partition counts", check, connection))
            findings.append(_derived("words", _count_problem, connection))
    except apsw.InterruptError:
        return None
    finally:
        connection.set_progress_handler(None)
    return findings


def versions() -> dict[str, str | None]:
    """Return the versions of SQLite, its encryption and sqlite-vec; None if not installed."""
    cipher = getattr(apsw, "mc_version", None)
    installed: dict[str, str | None] = {
        "sqlite": apsw.sqlite_lib_version(),
        "apsw": f"{apsw.apsw_version()} ({cipher})" if cipher else apsw.apsw_version(),
        "sqlite-vec": None,
    }
    try:
        import sqlite_vec  # noqa: PLC0415 - absent where it has no wheel (musl, armv7)
    except ImportError:
        return installed
    return installed | {"sqlite-vec": str(sqlite_vec.__version__)}


def _derived(
    what: str, check: Callable[[apsw.Connection], str | None], connection: apsw.Connection
) -> Finding:
    """Run a check; an exception in it means unreadable data."""
    try:
        problem = check(connection)
    except apsw.InterruptError:
        raise
    except _UNREADABLE as error:
        problem = f"cannot be read: {error}"
    return Finding(what, problem, derived=True)


def _count_problem(connection: apsw.Connection) -> str | None:
    """Compare the numbers of memories and stems in each FTS5 index with stored counts.

    Stem by stem only where the sums differ, as they do where stems share a number.
    """
    wrong = 0
    for shard in shards_in(connection):
        name = words_table(shard)
        indexed = vocabulary(connection, name, "row", "coalesce(sum(doc), 0)", "")
        indexed += sql.rows(connection, f"SELECT count(*) FROM {name}_docsize")
        stored = sql.rows(
            connection, "SELECT coalesce(sum(n), 0) FROM word_count WHERE shard = ?", (shard,)
        )
        column = "n_past" if shard % 2 else "n_current"
        stored += sql.rows(
            connection, f"SELECT {column} FROM partition WHERE no = ?", (shard // 2,)
        )
        if indexed[0] != stored[0]:
            query = "SELECT stem, n FROM word_count WHERE shard = ? AND n > 0"
            if _counts_by_stem(connection, name) == dict(sql.rows(connection, query, (shard,))):
                indexed[0] = stored[0]
        wrong += indexed != stored
    return f"{wrong:,} shards hold other words than are counted" if wrong else None


def _word_findings(connection: apsw.Connection) -> list[Finding]:
    """Compare stored words, counts and indexes with the texts, shard by shard."""
    problems = []
    n_memories = n_stems = 0
    for shard in shards_in(connection):
        stems, n_words = Counter[int](), {}
        for memory, words, n, *texts in connection.execute(
            "SELECT m.id, m.words, m.n_words, c.body, c.header, c.context"
            " FROM memory m JOIN words_content c ON c.id = m.id"
            " WHERE m.id BETWEEN ? AND ? AND (m.superseded_s IS NOT NULL) = ?",
            (*id_range(partition_of_shard(shard)), shard % 2),
        ):
            counts = [Counter(stem_number(stem) for _, stem in split(text)) for text in texts]
            own = sorted(set().union(*counts))
            entries = [(stem, *(min(of_text[stem], 255) for of_text in counts)) for stem in own]
            is_same = n == sum(map(Counter.total, counts)) and entries == _entries(words)
            n_memories += not is_same
            stems.update(own)
            if n:
                n_words[memory] = n
        stored = sql.rows(connection, "SELECT stem, n FROM word_count WHERE shard = ?", (shard,))
        n_stems += len(stems.items() ^ dict(stored).items())
        if problem := _index_problem(connection, words_table(shard), n_words, stems):
            problems.append(f"shard {shard}: {problem}")
    (n_elsewhere,) = sql.row(
        connection,
        "SELECT count(*) FROM word_count WHERE shard >> 1 NOT IN (SELECT no FROM partition)",
    )
    n_stems += n_elsewhere
    problem_of_check = {
        "words": "; ".join(problems),
        "words of each memory": n_memories and f"{n_memories:,} with other words than their text",
        "word counts": n_stems and f"{n_stems:,} stems counted wrong",
    }
    return [
        Finding(what, problem or None, derived=True) for what, problem in problem_of_check.items()
    ]


def _entries(words: bytes) -> list[tuple[int, ...]]:
    """Return the stored stems of a memory with their counts by column."""
    stored = row_words([words] if len(words) % ENTRY_BYTES == 0 else [])
    columns = stored.columns[stored.codes].tolist()
    return [(stem, *counts) for stem, counts in zip(stored.stems.tolist(), columns, strict=True)]


def _counts_by_stem(connection: apsw.Connection, name: str) -> dict[int, int]:
    """Count the memories of an FTS5 index by the number of a stem, which stems may share."""
    counts: dict[int, int] = {}
    stems: dict[int, list[bytes]] = {}
    for stem, n in vocabulary(connection, name, "row", f"{TERM}, doc", ""):
        number = stem_number(stem)
        stems.setdefault(number, []).append(stem)
        counts[number] = n
    for number, sharing in stems.items():
        if len(sharing) > 1:
            listed = ", ".join(f"CAST(x'{stem.hex()}' AS TEXT)" for stem in sharing)
            condition = f"WHERE term IN ({listed})"
            (row,) = vocabulary(connection, name, "instance", "count(DISTINCT doc)", condition)
            counts[number] = row[0]
    return counts


def _index_problem(
    connection: apsw.Connection, name: str, n_words: dict[int, int], stems: Counter[int]
) -> str | None:
    """Check that an FTS5 index is intact, and holds these memories and stems."""
    try:
        # Without comparing its content: the content view has the memories of all shards.
        connection.execute(f"INSERT INTO {name}({name}) VALUES('integrity-check')")
        indexed = vocabulary(connection, name, "instance", "doc, count(*)", "GROUP BY doc")
        counted = _counts_by_stem(connection, name)
    except (apsw.CorruptError, apsw.SQLError) as error:
        return str(error)
    n_memories = len(dict(indexed).items() ^ n_words.items())
    n_stems = len(counted.items() ^ stems.items())
    differ = f"{n_memories:,} memories and {n_stems:,} stems differ"
    return differ if n_memories or n_stems else None


def _vector_problem(model: Model, connection: apsw.Connection) -> str | None:
    """Compare a model's vectors with the memories and with the embedding table."""
    shards = dict(sql.rows(connection, f"SELECT m.id, {SHARD_OF_MEMORY} FROM memory m"))
    rows = sql.rows(connection, "SELECT memory FROM embedding WHERE model = ?", (model.no,))
    recorded = {memory for (memory,) in rows}
    stored = list(_stored(connection, model))
    present = {memory for memory, _, _ in stored}
    counts = {
        "without a memory": len((present | recorded) - shards.keys()),
        "missing": len(recorded - present),
        "not recorded": len(present - recorded),
        "twice": len(stored) - len(present),
        "in another shard": sum(shards.get(memory, shard) != shard for memory, shard, _ in stored),
        "of zeros": sum(not is_vector for _, _, is_vector in stored),
        "of other passages": _other_passages(connection, model),
    }
    return ", ".join(f"{n:,} {name}" for name, n in counts.items() if n) or None


def _stored(connection: apsw.Connection, model: Model) -> Iterator[tuple[int, int, bool]]:
    """Yield (memory, shard, whether valid) of a model's vectors."""
    if model.storage != "vec0":
        for memory, shard, vector in connection.execute(
            f"SELECT id, shard, vector FROM {model.table}"
        ):
            yield memory, shard, _are_vectors(vector, model)
        return
    for shard, validity, chunk_ids, chunk in connection.execute(
        f"SELECT c.partition00, c.validity, c.rowids, v.vectors FROM {model.table}_chunks c"
        f" JOIN {model.table}_vector_chunks00 v ON v.rowid = c.chunk_id"
    ):
        used = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little") == 1
        ids: IdArray = np.frombuffer(chunk_ids, np.int64)[used]
        rows = np.frombuffer(chunk, np.int8).reshape(-1, model.dim)[used]
        for memory, is_vector in zip(ids.tolist(), rows.any(axis=1).tolist(), strict=True):
            yield memory, shard, is_vector


def _are_vectors(stored: bytes, model: Model) -> bool:
    """Return whether a row holds whole vectors, none of them zero."""
    if model.role != PASSAGE:
        return len(stored) == model.dim and any(stored)
    if not stored or len(stored) % model.dim:
        return False
    return bool(np.frombuffer(stored, np.int8).reshape(-1, model.dim).any(axis=1).all())


def _other_passages(connection: apsw.Connection, model: Model) -> int:
    """Count the memories whose number of vectors differs from their number of passages."""
    if model.role != PASSAGE:
        return 0
    rows = connection.execute(
        f"SELECT m.text, length(v.vector) FROM {model.table} v JOIN memory m ON m.id = v.id"
    )
    return sum(len(passages(text)) * model.dim != n_bytes for text, n_bytes in rows)


def problem_of(connection: apsw.Connection, rule: str) -> str | None:
    """Return in words how many rows break a rule; None if none does."""
    problem, query = _RULES[rule]
    (n,) = sql.row(connection, f"SELECT count(*) FROM ({query})")
    return f"{n:,} {problem}" if n else None


_RULES: Mapping[str, tuple[str, str]] = {
    name: (problem, query)
    for name, problem, query in re.findall(
        r"^-- ([a-z ]+): (.+)\n(SELECT [^;]+);",
        (Path(__file__).parent / "health.sql").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}
"""The problem in words and the query that finds it, by rule."""

RULES_OF_RECORDS = tuple(_RULES)[:4]
"""Rules about exported records."""

"""Checks: the file, the texts in it, and everything derived from the texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import apsw

from family_recall.store.file import checksums, damage, sql
from family_recall.store.file.damage import RECORDS, SETTINGS
from family_recall.store.file.schema import APPLICATION_ID, SCHEMA_VERSION
from family_recall.store.health import derived

_SHOWN = 10  # findings of SQLite's own, and damaged memories that are named
_ABOUT_VALUES = re.compile(
    rf"(?: value in |constraint failed in )(?:{'|'.join((*SETTINGS, *RECORDS))})(?:\.|$)"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; ``problem`` is None where nothing is wrong.

    Where it is ``derived`` from the texts, ``rebuild`` repairs it; where single ``values`` cannot
    be read, ``reset_unreadable`` does.
    """

    what: str
    problem: str | None
    derived: bool = False
    values: bool = False


def check_pages(connection: apsw.Connection) -> list[Finding]:
    """Check pages, indexes, constraints and schema; reads the whole file."""
    if (application := connection.pragma("application_id")) != APPLICATION_ID:
        return [Finding("identity", f"is no family_recall file (id {application:#x})")]
    try:
        lines = [str(line) for (line,) in sql.rows(connection, "PRAGMA integrity_check(1000000)")]
    except apsw.CorruptError as error:  # too damaged to be read through
        lines = [str(error)]
    # Rows that a constraint refuses are found one by one: see damage.py.
    lines = [line for line in lines if line != "ok" and not _ABOUT_VALUES.search(line)]
    page_problem = "; ".join(lines[:_SHOWN]) or None
    schema = connection.pragma("user_version")
    schema_problem = (
        None if schema == SCHEMA_VERSION else f"schema {schema}, known is {SCHEMA_VERSION}"
    )
    return [Finding("pages", page_problem), Finding("schema", schema_problem)]


def versions() -> dict[str, str | None]:
    """Return the versions of SQLite, its encryption and sqlite-vec; None where not installed."""
    cipher = getattr(apsw, "mc_version", None)
    installed: dict[str, str | None] = {
        "sqlite": apsw.sqlite_lib_version(),
        "apsw": f"{apsw.apsw_version()} ({cipher})" if cipher else apsw.apsw_version(),
    }
    try:
        import sqlite_vec  # noqa: PLC0415 - absent where it has no wheel (musl, armv7)
    except ImportError:
        installed["sqlite-vec"] = None
    else:
        installed["sqlite-vec"] = str(sqlite_vec.__version__)
    return installed


CHECKSUMS = "memories"
"""No ``rebuild`` repairs what is found under this name: the texts themselves have changed."""

_STEPS = 20_000  # of SQLite's virtual machine, between two calls of ``give_up``


def check_texts(connection: apsw.Connection) -> list[Finding]:
    """Check the pages of the file and, if they are whole, each value and memory by itself.

    Values must be readable, and memories match their checksums.
    """
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
    names = ", ".join(checksums.describe(connection, damaged[:_SHOWN]))
    more = f" and {len(damaged) - _SHOWN:,} more" if len(damaged) > _SHOWN else ""
    problem = f"{len(damaged):,} changed in the file: {names}{more}"
    return [*findings, Finding(CHECKSUMS, problem)]


def check_derived(connection: apsw.Connection) -> list[Finding]:
    """Check what is made from the texts against them: words, counts, vectors, names and edges.

    Needs a transaction that may write, since FTS5 is asked by an INSERT; nothing is changed.
    """
    checks: tuple[tuple[str, Callable[[apsw.Connection], str | None]], ...] = (
        ("words", derived.full_text_problem),
        ("words of each memory", derived.memory_problem),
        ("word counts", derived.count_problem),
        ("partition counts", derived.partition_problem),
    )
    findings = [_derived(what, _outcome(check, connection)) for what, check in checks]
    findings += [
        _derived(f"vectors of {model_id}", problem)
        for model_id, problem in derived.vector_problems(connection)
    ]
    return findings + [
        _derived(rule.what, _outcome(rule.problem_in, connection))
        for rule in (*derived.OF_RECORDS, *derived.OF_DERIVED)
    ]


def check_counts(connection: apsw.Connection, give_up: Callable[[], bool]) -> list[Finding] | None:
    """Check pages, indexes and counts, but no text; None where ``give_up`` became true.

    Reads the file once, in statements beside which other threads run: 0.2 s for 50,000 memories.
    """
    connection.set_progress_handler(give_up, _STEPS)
    try:
        findings = check_pages(connection)
        if not any(finding.problem for finding in findings):
            findings.append(_derived("partition counts", derived.partition_problem(connection)))
            findings.append(_derived("words", derived.word_problem(connection)))
    except apsw.InterruptError:
        return None
    finally:
        connection.set_progress_handler(None)
    return findings


def _outcome(
    check: Callable[[apsw.Connection], str | None], connection: apsw.Connection
) -> str | None:
    """Return what a check found; where it fails, something it reads has another type."""
    try:
        return check(connection)
    except (apsw.Error, LookupError, OverflowError, TypeError, ValueError) as error:
        return f"cannot be read: {error}"


def _derived(what: str, problem: str | None) -> Finding:
    return Finding(what, problem, derived=True)

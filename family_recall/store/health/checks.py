"""Checks: the file, the texts in it, and everything derived from the texts."""

from __future__ import annotations

from collections.abc import Callable

import apsw

from family_recall.store.file import checksums, damage
from family_recall.store.file.integrity import Finding, check_pages
from family_recall.store.health import counts, rules, vector_checks, word_checks

CHECKSUMS = "memories"
"""No ``rebuild`` repairs what is found under this name: the texts themselves have changed."""

_STEPS = 20_000  # of SQLite's virtual machine, between two calls of ``give_up``
_SHOWN = 10  # damaged memories that are named


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
        ("words", word_checks.full_text_problem),
        ("words of each memory", word_checks.memory_problem),
        ("word counts", word_checks.count_problem),
        ("partition counts", counts.partition_problem),
    )
    findings = [_derived(what, _outcome(check, connection)) for what, check in checks]
    findings += [
        _derived(f"vectors of {model_id}", problem)
        for model_id, problem in vector_checks.problems(connection)
    ]
    return findings + [
        _derived(rule.what, _outcome(rule.problem_in, connection))
        for rule in (*rules.OF_RECORDS, *rules.OF_DERIVED)
    ]


def check_counts(connection: apsw.Connection, give_up: Callable[[], bool]) -> list[Finding] | None:
    """Check pages, indexes and counts, but no text; None where ``give_up`` became true.

    Reads the file once, in statements beside which other threads run: 0.2 s for 50,000 memories.
    """
    connection.set_progress_handler(give_up, _STEPS)
    try:
        findings = check_pages(connection)
        if not any(finding.problem for finding in findings):
            findings.append(_derived("partition counts", counts.partition_problem(connection)))
            findings.append(_derived("words", counts.word_problem(connection)))
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

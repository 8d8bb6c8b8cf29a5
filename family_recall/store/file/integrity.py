"""Is the file one of ours, and are its pages, indexes and constraints whole?"""

from __future__ import annotations

import re
from dataclasses import dataclass

import apsw

from family_recall.store.file import sql
from family_recall.store.file.damage import RECORDS, SETTINGS
from family_recall.store.file.schema import APPLICATION_ID, SCHEMA_VERSION

_SHOWN = 10  # findings of SQLite's own
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

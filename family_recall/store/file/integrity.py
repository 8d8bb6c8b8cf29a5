"""Is the file one of ours, and are its pages, indexes and constraints whole?"""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from family_recall.store.file import sql
from family_recall.store.file.schema import APPLICATION_ID, SCHEMA_VERSION

_SHOWN = 10  # findings of SQLite's own


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
        lines = [str(row[0]) for row in sql.rows(connection, f"PRAGMA integrity_check({_SHOWN})")]
    except apsw.CorruptError as error:  # too damaged to be read through
        lines = [str(error)]
    page_problem = "; ".join(line for line in lines if line != "ok") or None
    schema = connection.pragma("user_version")
    is_known = 0 < schema <= SCHEMA_VERSION
    schema_problem = None if is_known else f"schema {schema}, known is {SCHEMA_VERSION}"
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

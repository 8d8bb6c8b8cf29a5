"""Is the file one of ours, and are its pages, indexes and constraints whole?"""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from family_recall.stores.file import sql
from family_recall.stores.file.schema import APPLICATION_ID, SCHEMA_VERSION

_SHOWN = 10  # findings of SQLite's own


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; ``problem`` is None where all is well, else says how much is wrong.

    ``derived`` tells that ``rebuild`` mends it: only what is made from the texts is concerned.
    """

    what: str
    problem: str | None
    derived: bool = False


def check_pages(connection: apsw.Connection) -> list[Finding]:
    """Check pages, indexes and constraints, and what no program but this one can know.

    Reads the whole file.
    """
    if (application := connection.pragma("application_id")) != APPLICATION_ID:
        return [Finding("identity", f"is no family_recall file (id {application:#x})")]
    try:
        said = [str(row[0]) for row in sql.rows(connection, f"PRAGMA integrity_check({_SHOWN})")]
    except apsw.CorruptError as error:  # too damaged to be looked through
        said = [str(error)]
    pages = [line for line in said if line != "ok"]
    schema = connection.pragma("user_version")
    wrong = None if 0 < schema <= SCHEMA_VERSION else f"schema {schema}, known is {SCHEMA_VERSION}"
    return [Finding("pages", "; ".join(pages) or None), Finding("schema", wrong)]


def versions() -> dict[str, str | None]:
    """Name the versions of SQLite, what encrypts it, and what gives it vectors; None: not here."""
    cipher = getattr(apsw, "mc_version", None)
    found: dict[str, str | None] = {
        "sqlite": apsw.sqlite_lib_version(),
        "apsw": f"{apsw.apsw_version()} ({cipher})" if cipher else apsw.apsw_version(),
    }
    try:
        import sqlite_vec  # noqa: PLC0415 - absent where it has no wheel (musl, armv7)
    except ImportError:
        found["sqlite-vec"] = None
    else:
        found["sqlite-vec"] = str(sqlite_vec.__version__)
    return found

"""Who recalled what: ``audit``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from family_recall.cli.base import (
    WithExamples,
    console,
    existing,
    json_option,
    one_line,
    print_json,
)
from family_recall.cli.settings import db_option, person_option

if TYPE_CHECKING:
    from pathlib import Path

    from family_recall.types import AuditEntry


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall audit --person alice --db family.db",
        "family-recall audit --person alice --of sitter --limit 20",
    ),
)
@db_option
@person_option("whose spaces it tells of (default: as configured)", needed=True)
@click.option("--of", metavar="ID", help="only what this person asked (default: everybody)")
@click.option("--limit", type=int, default=50, metavar="N", help="newest entries (default: 50)")
@click.option(
    "--keep-days",
    type=int,
    metavar="DAYS",
    help="set how long the log goes back; 0 deletes it and keeps none "
    "(default: as it is, 30 at first)",
)
@json_option
def audit(
    db: Path, person_id: str, of: str | None, limit: int, keep_days: int | None, as_json: bool
) -> None:
    """Show who recalled what of the spaces that a person owns, and when.

    The log holds ids and moments, and no words of a question or a memory.
    """
    with existing(db) as home:
        entries = home.audit.entries(person_id, of=of, limit=limit)
        if keep_days is not None:
            home.audit.keep_days(keep_days)
            entries = home.audit.entries(person_id, of=of, limit=limit)
    if as_json:
        print_json([entry.to_json() for entry in entries])
        return
    out = console()
    for entry in entries:
        out.print(one_line(_line(entry)), soft_wrap=True)
    if not entries:
        out.print("nothing was recalled")


def _line(entry: AuditEntry) -> str:
    at = entry.at.isoformat(sep=" ", timespec="seconds")
    if entry.call == "gap":
        missing = f"{entry.lost} calls are" if entry.lost else "calls may be"
        return f"{at} {missing} missing from here on"
    who = entry.person_id or "somebody unknown"
    given = ", ".join(doc_id for _, doc_id in entry.memories) or "nothing"
    where = f" in {entry.asked_in}" if entry.asked_in else ""
    return f"{at} {who}{where}: {entry.call} gave {given}"

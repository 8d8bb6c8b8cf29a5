"""Show who recalled what: ``audit``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import family_recall as fr
from family_recall.apps.cli.command import household_command
from family_recall.apps.cli.options import option
from family_recall.apps.cli.output import Output
from family_recall.apps.cli.settings import person_option

if TYPE_CHECKING:
    from family_recall.types import AuditEntry, ShortIds


@household_command()
@person_option("whose spaces are shown", needed=True)
@option("--of", "ID", "only what this person recalled", absent="everybody")
@option("--limit", "N", "newest entries", default=50)
@option(
    "--keep-days",
    "DAYS",
    "set how long entries are kept; 0 deletes the log and stops it",
    type=int,
    absent="unchanged, 30 at first",
)
def audit(
    home: fr.FamilyRecall, person_id: str, of: str | None, limit: int, keep_days: int | None
) -> Output:
    """Show who recalled what from the spaces that a person owns, and when.

    The log holds ids and moments, and no words of a question or a memory.

    Examples:
      family-recall audit --person alice --db family.db
      family-recall audit --person alice --of sitter --limit 20
    """
    entries = home.audit.entries(person_id, of=of, limit=limit)
    if keep_days is not None:
        home.audit.keep_days(keep_days)
        entries = home.audit.entries(person_id, of=of, limit=limit)
    known = home.memories.ids(person_id)
    lines = [_line(entry, known) for entry in entries]
    return Output([entry.to_json() for entry in entries], lines or ["nothing was recalled"])


def _line(entry: AuditEntry, known: ShortIds) -> str:
    at = entry.at.isoformat(sep=" ", timespec="seconds")
    if entry.call == "gap":
        missing = f"{entry.lost} calls are" if entry.lost else "calls may be"
        return f"{at} {missing} missing from here on"
    person = entry.person_id or "somebody unknown"
    memories = ", ".join(known.short(doc_id) for _, doc_id in entry.memories) or "nothing"
    space = f" in {entry.asked_in}" if entry.asked_in else ""
    return f"{at} {person}{space}: {entry.call} returned {memories}"

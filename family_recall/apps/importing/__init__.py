"""Files that a family has, read as drafts of memories: chats, calendars, contacts, notes, mail."""

from family_recall.apps.importing.drafts import Draft, LeftOut, Reading, ReadSettings
from family_recall.apps.importing.formats import format_of, read, source_name

__all__ = [
    "Draft",
    "LeftOut",
    "ReadSettings",
    "Reading",
    "format_of",
    "read",
    "source_name",
]

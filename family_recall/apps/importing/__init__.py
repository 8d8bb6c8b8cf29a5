"""Read files as drafts of memories: chats, calendars, contacts, notes, tables and mail."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from family_recall.apps.importing.calendars import read_calendar
from family_recall.apps.importing.contacts import read_contacts
from family_recall.apps.importing.drafts import (
    Draft,
    LeftOut,
    Reading,
    ReadSettings,
    digest,
    library,
    problem_of,
    readable,
    text_of,
    zipped_text,
)
from family_recall.apps.importing.limits import Budget, Limits, OutOfTime, too_slow
from family_recall.apps.importing.mail import read_mailbox
from family_recall.apps.importing.notes import SUFFIXES, read_notes
from family_recall.apps.importing.tables import read_table
from family_recall.apps.importing.whatsapp import is_whatsapp_chat, read_chat
from family_recall.types.browsing import Format
from family_recall.types.fields import MAX_TEXT_CHARS
from family_recall.types.json_lines import open_regular

__all__ = [
    "Draft",
    "LeftOut",
    "Limits",
    "ReadSettings",
    "Reading",
    "format_of",
    "read",
    "source_name",
]

MAX_KEY_CHARS = 500
"""Longer keys are replaced by a digest: source and key form an id of at most 1,000."""

TOO_LONG, REPEATED = "texts of more than 1,000,000 characters", "what is there twice"
NOT_DECODED = "memories with bytes that are no text"

_BY_SUFFIX: dict[str, Format] = {
    ".zip": "whatsapp",
    **dict.fromkeys((".ics", ".ical", ".ifb", ".icalendar"), "icalendar"),
    **dict.fromkeys((".vcf", ".vcard"), "vcard"),
    **dict.fromkeys(SUFFIXES, "markdown"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".mbox", ".mbx"), "mbox"),
}
_READERS = {
    "whatsapp": read_chat,
    "icalendar": read_calendar,
    "vcard": read_contacts,
    "csv": read_table,
}
_LIBRARIES = {"icalendar": ("icalendar", "recurring_ical_events")}
_COPY = re.compile(r"\s*\(\d+\)$")
_EXPORTED_CHAT = re.compile(r"WhatsApp Chat (?:with|-) (?=\S)")


def format_of(path: Path) -> Format | None:
    """Return a file's format, by its suffix or its beginning; None for an unknown one."""
    if path.is_dir():
        return "mbox" if (path / "mbox").is_file() else "markdown"
    if by_suffix := _BY_SUFFIX.get(path.suffix.lower()):
        return by_suffix
    try:
        with open_regular(path) as file:
            head = file.read(4096)
    except (OSError, ValueError):
        return None
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    text = head.decode(encoding, "ignore").lstrip("\ufeff \r\n")
    if text.startswith("From "):
        return "mbox"
    if text.upper().startswith("BEGIN:VCALENDAR"):
        return "icalendar"
    if text.upper().startswith("BEGIN:VCARD"):
        return "vcard"
    return "whatsapp" if is_whatsapp_chat(text.replace("\r\n", "\n").replace("\r", "\n")) else None


def read(path: Path, file_format: Format, settings: ReadSettings) -> Reading:
    """Read a file, or a folder of notes.

    Raises:
        DatasetError: If it has another format, a part of it cannot be read, or it is beyond a
            limit.
    """
    limits = settings.limits
    if file_format == "mbox" and path.is_dir():
        path = path / "mbox"
    if file_format in {"markdown", "mbox"}:
        n_bytes = sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())
        reader = read_notes if file_format == "markdown" else read_mailbox
        reads = functools.partial(reader, path, settings)
    else:
        is_zip = file_format == "whatsapp" and path.suffix.lower() == ".zip"
        text, name = zipped_text(path, limits) if is_zip else (text_of(path, limits), str(path))
        n_bytes = len(text)
        reads = functools.partial(_READERS[file_format], text, name, settings)
    for module in _LIBRARIES.get(file_format, ()):
        library(module)  # before the file's time begins
    with readable(str(path), file_format):
        try:
            reading = Budget(limits.seconds_for(n_bytes)).run(reads)
        except OutOfTime:
            raise too_slow(str(path)) from None
        items = (*reading.left_out, *_storable(reading))
    return Reading.of(items, settings, reading.keeps)


def source_name(path: Path, file_format: Format) -> str:
    """Return the default name of a file's source: its format and name.

    The number of a second download, ``chat (1).txt``, is left out. A WhatsApp chat is named after
    its members. iOS names every chat ``_chat.txt``; it gets the name of its folder.

    >>> source_name(Path("Downloads/WhatsApp Chat with Tom (1).txt"), "whatsapp")
    'whatsapp:Tom'
    """
    path = path.resolve()
    stem = path.name if path.is_dir() else path.stem
    if stem == "_chat" and path.parent.name:
        stem = path.parent.name
    name = _EXPORTED_CHAT.sub("", _COPY.sub("", stem), count=1)
    return f"{file_format}:{name or stem}"


def _storable(reading: Reading) -> Iterator[Draft | LeftOut]:
    """Yield drafts of text with unique keys of bounded length; leave out others."""
    seen: set[str] = set()
    for draft in reading.drafts:
        key = draft.key if len(draft.key) <= MAX_KEY_CHARS else digest(draft.key)
        if key in seen:
            yield LeftOut(draft.where, REPEATED)
        elif len(draft.text) > MAX_TEXT_CHARS:
            yield LeftOut(draft.where, TOO_LONG)
        elif problem := problem_of(" ".join(_strings(draft))):
            yield LeftOut(draft.where, NOT_DECODED, problem, key)
        else:
            seen.add(key)
            yield dataclasses.replace(draft, key=key)


def _strings(draft: Draft) -> Iterator[str]:
    """Yield every text of a draft."""
    yield from (draft.key, draft.text, *draft.author_names, *(draft.relation or ()))
    for value in draft.fields.values():
        yield from map(str, value if isinstance(value, tuple | list) else (value,))

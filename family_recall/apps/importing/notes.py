"""Markdown notes with front matter: each note, or each section of a long note, is a draft."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from family_recall.apps.importing.dates import is_plausible, moments_of
from family_recall.apps.importing.drafts import (
    Draft,
    LeftOut,
    Reading,
    ReadSettings,
    digest,
    library,
    readable,
    text_of,
    visible,
)
from family_recall.apps.importing.limits import RAISE, Limits
from family_recall.errors import DatasetError

LONG_NOTE_CHARS = 4000
"""Longer notes with headings are stored by section."""

NO_WORDS, NO_DATE, LINK = "notes without a text", "impossible dates of notes", "links to files"
NO_NOTE = "files that are no notes"
NO_FILE, UNREADABLE = "pipes and devices", "notes that cannot be read"
NOT_KEPT = "values of front matter that are not kept"
NO_FRONT_MATTER = "front matter that is not understood, or a line of it"
SUFFIXES = (".md", ".markdown")

_MAX_SECTION_CHARS = 1_000
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?!\d)")


def read_notes(path: Path, settings: ReadSettings) -> Reading:
    """Read a Markdown file, or all Markdown files of a folder except hidden ones.

    A note's key is its path in the folder; a section's has its headings, too. Title, date, tags and
    author come from the front matter. The title may also be the first heading or the file name, and
    the date may begin the file name.
    """

    def items() -> Iterator[Draft | LeftOut]:
        for file, key in _files(path):
            if file != path and not file.name.lower().endswith(SUFFIXES):
                yield LeftOut(str(file), NO_NOTE)
            elif file.is_symlink():
                yield LeftOut(str(file), LINK)
            elif file.exists() and not file.is_file():
                yield LeftOut(str(file), NO_FILE)
            else:
                try:
                    with readable(str(file), "a note"):
                        text = text_of(file, settings.limits)
                        drafts = list(read_note(text, key, str(file), settings))
                except DatasetError as error:
                    if file == path:
                        raise
                    drafts = [LeftOut.because(error, str(file), UNREADABLE, key)]
                yield from drafts

    return Reading.of(items(), settings)


def read_note(text: str, key: str, name: str, settings: ReadSettings) -> Iterator[Draft | LeftOut]:
    """Yield the drafts of one note; ``key`` is its path in the folder."""
    settings.limits.check_lines(text, name)
    match = _FRONT_MATTER.match(text)
    front_matter: Mapping[str, Any] | None = None
    yaml = library("yaml") if match else None
    try:
        front_matter = _front_matter(yaml, match[1], name, settings.limits) if match else None
    except DatasetError as error:
        # With an empty line in it, it is more likely a text, or one that is not closed.
        front_matter = None if match and "\n\n" in match[1] else {}
        yield LeftOut.because(error, name, NO_FRONT_MATTER, key)
    if match is None or front_matter is None:
        front_matter, body, at_line = {}, visible(text), 0
    else:
        body, at_line = visible(text[match.end() :]), match[0].count("\n")
    heading = next((headings[-1] for _, headings, _ in _sections(body) if headings), "")[:1000]
    title = _word(front_matter.get("title")) or heading or Path(key).stem
    fields: dict[str, object] = {"title": title, "labels": _labels(front_matter)}
    day = _date(front_matter, text, key, name, settings)
    if isinstance(day, LeftOut):
        yield day
    elif day is not None and not is_plausible(day):
        yield LeftOut(f"{name}:1", NO_DATE)
    elif day is not None:
        fields["occurred_at"] = day
    yield from _not_kept(front_matter, text, name)
    author = _word(front_matter.get("author"))
    authors = (author,) if author else ()
    if not body.strip():
        yield LeftOut(f"{name}:1", NO_WORDS)
        return
    sections = list(_sections(body)) if len(body) > LONG_NOTE_CHARS else []
    if len(sections) < 2:
        yield Draft(key, f"{name}:1", body.strip(), authors, fields)
        return
    fields["session_id"] = key
    seen: dict[str, int] = {}
    for line_no, headings, words in sections:
        section = " > ".join(headings)
        if len(section) > _MAX_SECTION_CHARS:  # it is part of the key of each section below
            section = f"{section[:_MAX_SECTION_CHARS]} {digest(section)}"
        seen[section] = seen.get(section, 0) + 1
        number = f" {seen[section]}" if seen[section] > 1 else ""
        where = f"{name}:{line_no + at_line}"
        section_fields = {**fields, "section": section[:1000]} if section else fields
        yield Draft(f"{key}#{section}{number}", where, words, authors, section_fields)


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield every file that is not hidden with its path in the folder, in order."""
    if not path.is_dir():
        yield path, path.name
        return
    for folder, names, files in os.walk(path):
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith("."):
                file = Path(folder) / name
                yield file, file.relative_to(path).as_posix()


def _front_matter(yaml: Any, text: str, name: str, limits: Limits) -> Mapping[str, Any] | None:
    """Return what stands between the lines ``---``; None for other YAML than a mapping."""
    if len(text) > limits.front_matter_chars:
        raise DatasetError(
            f"{name}:1: expected at most {limits.front_matter_chars:,.0f} characters between the "
            f"lines ---, got {len(text):,}; shorten them, or {RAISE}"
        )
    refused, front_matter, line_no = "", None, 2
    try:
        refused, line_no = _refused(yaml, text, limits)
        if not refused:
            front_matter = yaml.safe_load(text)
    except Exception as error:  # noqa: BLE001 -- it lets through what its parts raise
        mark = getattr(error, "problem_mark", None)
        line_no = 2 if mark is None else mark.line + 2
        why = str(getattr(error, "problem", None) or error)[:120] or type(error).__name__
        raise DatasetError(
            f"{name}:{line_no}: expected YAML between the lines ---, got: {why}; correct the line"
        ) from None
    if refused:
        raise DatasetError(
            f"{name}:{line_no}: expected values between the lines ---, got {refused}; write plain "
            "values there"
        )
    if front_matter is not None and not isinstance(front_matter, dict):
        return None
    return {str(key).casefold(): value for key, value in (front_matter or {}).items()}


def _refused(yaml: Any, text: str, limits: Limits) -> tuple[str, int]:
    """Return the alias or the nesting that is not read, and its line; empty without one.

    A few hundred aliases of aliases stand for more values than fit in memory.
    """
    depth = 0
    for event in yaml.parse(text):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > limits.depth:
            is_alias = isinstance(event, yaml.AliasEvent)
            found = f"the alias *{event.anchor[:60]}" if is_alias else f"lists {depth} deep"
            return found, event.start_mark.line + 2
    return "", 2


def _date(
    front_matter: Mapping[str, Any], text: str, key: str, name: str, settings: ReadSettings
) -> dt.datetime | LeftOut | None:
    field = _date_field(front_matter)
    value = front_matter.get(field)
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, dt.date):
        return dt.datetime.combine(value, dt.time())
    if value is not None:
        where = f"{name}:{_line_of(field, text)}"
        try:
            (moment,) = moments_of([(str(value), where)], settings)
        except DatasetError as error:  # day/month or month/day
            moment = LeftOut.because(error, name, NO_FRONT_MATTER)
        return dataclasses.replace(moment, key=key) if isinstance(moment, LeftOut) else moment
    match = _DAY.match(key.rpartition("/")[2])
    try:
        return dt.datetime.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


def _date_field(front_matter: Mapping[str, Any]) -> str:
    return next((field for field in ("date", "created", "day") if front_matter.get(field)), "")


def _line_of(field: str, text: str) -> int:
    line = re.search(rf"^[ \t]*['\"]?{re.escape(field)}", text, re.MULTILINE | re.IGNORECASE)
    return text.count("\n", 0, line.end()) + 1 if line else 2


def _not_kept(front_matter: Mapping[str, Any], text: str, name: str) -> Iterator[LeftOut]:
    """Yield the values that become no field of the note."""
    kept = {
        _date_field(front_matter),
        *(f for f in ("title", "author") if _word(front_matter.get(f))),
    }
    kept |= {f for f in _LABELS if isinstance(front_matter.get(f), str | list)}
    for field, value in front_matter.items():
        if field not in kept and value not in (None, "", []):
            yield LeftOut(f"{name}:{_line_of(field, text)}", NOT_KEPT)


_LABELS = ("tags", "labels", "categories")


def _labels(front_matter: Mapping[str, Any]) -> tuple[str, ...]:
    labels: list[str] = []
    for field in _LABELS:
        value = front_matter.get(field)
        words = value.split(",") if isinstance(value, str) else value
        if isinstance(words, list):
            labels += [_word(word).lstrip("#") for word in words]
    return tuple(dict.fromkeys(filter(None, labels)))


def _word(value: object) -> str:
    return visible(str(value)).strip()[:1000] if isinstance(value, str | int | float) else ""


def _sections(body: str) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Yield (line number, headings, text) for each section with text."""
    headings: list[tuple[int, str]] = []
    lines: list[tuple[int, str]] = []
    fenced = False
    for line_no, line in enumerate(body.split("\n"), 1):
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.fullmatch(line.rstrip())
        if heading is None:
            lines.append((line_no, line))
            continue
        yield from _section(headings, lines)
        level, title = len(heading[1]), heading[2]
        if (unclosed := title.rstrip("#")).endswith((" ", "\t")):  # ## Water ##, but not # C#
            title = unclosed.rstrip()
        headings, lines = [*(h for h in headings if h[0] < level), (level, title)], []
    yield from _section(headings, lines)


def _section(
    headings: Sequence[tuple[int, str]], lines: Sequence[tuple[int, str]]
) -> Iterator[tuple[int, tuple[str, ...], str]]:
    if words := "\n".join(line for _, line in lines).strip():
        yield lines[0][0], tuple(text for _, text in headings), words

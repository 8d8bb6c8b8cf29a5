"""WhatsApp chats: each message is a draft, each conversation a session."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from family_recall.apps.importing.dates import NumericMoment, is_plausible, resolve
from family_recall.apps.importing.drafts import (
    INVISIBLE,
    ContentKeys,
    Draft,
    LeftOut,
    Reading,
    ReadSettings,
    visible,
)
from family_recall.errors import DatasetError

CONVERSATION_GAP = dt.timedelta(hours=3)
"""A longer silence begins another session."""

SYSTEM, NO_TEXT, DELETED = "system lines", "media without a text", "deleted or unread messages"
BESIDE = "media beside a text"
FUTURE = "dates in the future, left out of their memories"
UNREAD, BEFORE = "messages whose beginning is not understood", "lines before the first message"

# iOS: [30/10/2026, 18:04:12] Tom: …   Android: 30/10/2026, 18:04 - Tom: …
# An old iPhone: 30/10/2014 18:04:12: Tom: …
_MARKS = f"[{INVISIBLE}]*"
_HEADER = re.compile(
    rf"{_MARKS}(?:\[(?P<ios>[^\[\]]{{3,60}})\]|(?P<android>[^\[\s].{{3,60}}?)"
    rf"(?:\s{_MARKS}[-–—](?=\s)|(?<=\d\d):(?=\s[^:]+:\s)))\s?(?P<rest>.*)"
)
_BARE = re.compile(
    rf"{_MARKS}(?P<ios>)(?P<android>\d++(?:\W{{1,4}}\d++){{4,6}})\W*(?P<rest>(?:[^\W\d_][^:]{{0,60}}:\s.*)?)"
)
"""A moment alone, or before an author without what stands between them."""
_NUMBERS = re.compile(r"\d+")
_WORDS = re.compile(r"[^\W\d_]+")
_CLOCK = re.compile(r"\d[:.h]\s?\d\d")
_FROM = re.compile(r"(?P<author>[^:]+?)\s?:(?:\s(?P<text>.*)|$)")
# System lines of Android with a colon: Tom changed the subject from “A: b” to “C”.
_SYSTEM_LINE = re.compile(
    r"\s(?:changed|created|renamed|updated|pinned|started)\s(?:the|this|group|a|an|your|to)\b"
    r"|^[^“„«「\"]*(?:[“„«「][^”“»」]*|\"[^\"]*)$"
)
_NO_MESSAGE = re.compile(
    r"(?:this message was deleted|you deleted this message|null|missed (?:voice|video) call|"
    r"waiting for this message\. this may take a while|diese nachricht wurde gelöscht|"
    r"du hast diese nachricht gelöscht|ce message a été supprimé|vous avez supprimé ce message|"
    r"se eliminó este mensaje|este mensaje fue eliminado|eliminaste este mensaje|"
    r"questo messaggio è stato eliminato|hai eliminato questo messaggio|"
    r"(?:ess?a )?mensagem (?:foi )?apagada|você apagou esta mensagem|dit bericht is verwijderd|"
    r"(?:je|u) (?:hebt|heeft) dit bericht verwijderd)\.?",
    re.IGNORECASE,
)
_OMITTED = (
    "omitted|ausgeschlossen|weggelassen|omitid[oa]s?|omis(?:es)?|omess[oi]|weggelaten|ocult[ao]s?|"
    "pominięto|utelämnat|utelatt|udeladt"
)
_ATTACHED = (
    "file attached|datei angehängt|fichier joint|archivo adjunto|file allegato|arquivo anexado|"
    "ficheiro anexado|bestand bijgevoegd"
)
_EDITED = "edited|bearbeitet|modifié|editado|modificato|bewerkt"
_MAX_MEDIA_CHARS = 1_000  # the pattern's time grows with the square of a line
_MEDIA = re.compile(
    rf"{_MARKS}(?:<[^<>\n]*(?:{_OMITTED})[^<>\n]*>|<[^<>:\n]+: [^<>\n]+\.\w{{2,5}}>|"
    rf"[^\n]+\.\w{{2,5}} \((?:{_ATTACHED})\)|"
    r"(?:IMG|VID|PTT|AUD|STK|DOC)-\d{8}-WA\d+\.\w+ \([^()\n]+\)|"
    rf"(?:image|video|audio|sticker|GIF|document|Contact card) (?:{_OMITTED}))",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(rf"{_MARKS}<[^<>\n]+>")
_AT_END = re.compile(
    rf"\u200e(?:<[^<>\n]*>|\S{{1,40}} (?:{_OMITTED}))$|<[^<>\n]* (?:{_EDITED})\.?>$",
    re.IGNORECASE,
)
_SYSTEM_TEXT = re.compile("\u200e(?!POLL|<)")


@dataclass(slots=True)
class _Message:
    where: str
    moment: NumericMoment
    rest: str
    lines: list[str] = field(default_factory=list)


def is_whatsapp_chat(text: str) -> bool:
    """Whether the first line with text begins a message."""
    lines = (line for line in text.split("\n", 100)[:100] if visible(line).strip())
    return isinstance(_beginning(next(lines, ""), ""), _Message)


def read_chat(text: str, name: str, settings: ReadSettings) -> Reading:
    """Read an exported chat.

    Moments are naive, in the household's zone. The order of day and month is the one that fits the
    whole chat. A message's key is its moment and a digest of author and text. Memories before the
    first message stay, because the app exports only the newest messages of a long chat.
    """
    settings.limits.check_lines(text, name)
    parts = _parts(text, name)
    messages = [part for part in parts if isinstance(part, _Message)]
    if not messages:
        line_no, line = next(
            ((n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()), (1, "")
        )
        raise DatasetError(
            f"{name}:{line_no}: expected a chat such as '30/10/2026, 18:04 - Tom: Hello' or "
            f"'[30/10/2026, 18:04:12] Tom: Hello', got {line[:60]!r}"
        )
    moments = resolve([message.moment for message in messages], settings, of_chat=True)
    first = min(filter(None, moments)).isoformat()
    items = itertools.chain(
        (part for part in parts if isinstance(part, LeftOut)),
        _drafts(messages, moments, settings),
    )
    return Reading.of(items, settings, keeps=lambda key: key < first)


def _beginning(line: str, where: str) -> _Message | LeftOut | None:
    """Return the message that a line begins, also in a form that is not understood; else None."""
    match = _HEADER.fullmatch(line) or _BARE.fullmatch(line)
    if match is None:
        return None
    header, rest = visible(match["ios"] or match["android"]), match["rest"]
    moment = NumericMoment.read(header, where, needs_time=True)
    if moment and match.re is _HEADER:
        return _Message(where, moment, rest)
    n_numbers, n_words = (len(pattern.findall(header)) for pattern in (_NUMBERS, _WORDS))
    # A day, a month, a year, an hour and a minute; without a year only before an author.
    enough = 5 - min(n_words, 1)
    if _FROM.fullmatch(rest) and _CLOCK.search(header):
        enough = 2 if match["ios"] else enough - 1
    if n_numbers < enough or n_words > 4:
        return None
    problem = f"expected a moment such as 30/10/2026, 18:04, got {header!r}"
    return LeftOut(where, UNREAD, problem)


def _parts(text: str, name: str) -> list[_Message | LeftOut]:
    """Return the messages, and what is not understood in their place."""
    parts: list[_Message | LeftOut] = []
    for line_no, line in enumerate(text.split("\n"), 1):
        where = f"{name}:{line_no}"
        if begins := _beginning(line, where):
            parts.append(begins)
        elif parts and isinstance(parts[-1], _Message):
            parts[-1].lines.append(line)
        elif not parts and line.strip():
            problem = f"expected the beginning of a message, got {line[:60]!r}"
            parts.append(LeftOut(where, BEFORE, problem))
    return parts


def _drafts(
    messages: list[_Message], moments: list[dt.datetime | None], settings: ReadSettings
) -> Iterator[Draft | LeftOut]:
    keys = ContentKeys()
    latest = settings.now.astimezone(settings.zone).replace(tzinfo=None) + dt.timedelta(days=1)
    session, before = "", None
    for message, moment in zip(messages, moments, strict=True):
        where = message.where
        if moment is None or not is_plausible(moment):
            problem = f"expected a date as the others of the file, got {message.moment.shown!r}"
            yield LeftOut(where, UNREAD, problem)
            continue
        match = _FROM.fullmatch(message.rest)
        author = visible(match["author"]).removeprefix("~").strip() if match else ""
        if match is None or not author or _SYSTEM_LINE.search(author):
            yield LeftOut(where, SYSTEM)
            continue
        text, reason = _text([match["text"] or "", *message.lines])
        if reason:
            yield LeftOut(where, reason)
        if not text:
            continue
        if before is None or abs(moment - before) > CONVERSATION_GAP:
            session = moment.isoformat()
        before = moment
        fields: dict[str, object] = {"session_id": session}
        if moment > latest:
            yield LeftOut(where, FUTURE)
        else:
            fields["occurred_at"] = moment
        key = keys.key(author, text, prefix=f"{moment.isoformat()}-")
        yield Draft(key, where, text, (author,), fields)


def _text(lines: list[str]) -> tuple[str, str]:
    """Return the text of a message, and why it has none, or lacks a part."""
    words = [visible(_AT_END.sub("", line)) for line in lines if not _is_media(line)]
    text = "\n".join(words).strip()
    if _PLACEHOLDER.fullmatch(text):  # in whatever language
        return "", NO_TEXT
    if _NO_MESSAGE.fullmatch(text):
        return "", DELETED
    # On iOS system texts begin with a mark of direction, in every language.
    if _SYSTEM_TEXT.match(lines[0]) and not _is_media(lines[0]):
        return "", SYSTEM
    if not text:
        return "", NO_TEXT
    return text, BESIDE if len(words) < len(lines) else ""


def _is_media(line: str) -> bool:
    return len(line) <= _MAX_MEDIA_CHARS and _MEDIA.fullmatch(line) is not None

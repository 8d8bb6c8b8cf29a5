"""WhatsApp chats: each message is a draft, each conversation a session."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from family_recall.apps.importing.dates import NUMERIC, NumericMoment, resolve
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
FUTURE = "dates in the future, left out of their memories"

# iOS: [30/10/2026, 18:04:12] Tom: …   Android: 30/10/2026, 18:04 - Tom: …
_HEADERS = {
    mark: re.compile(rf"[{INVISIBLE}]*{opening}{NUMERIC}{closing}(?P<rest>.*)", re.IGNORECASE)
    for mark, opening, closing in (("ios", r"\[", r"\]\s?"), ("android", "", r"\s[-–]\s"))
}
_FROM = re.compile(r"(?P<author>[^:]+?)\s?:(?:\s(?P<text>.*)|$)")
# System lines of Android with a colon: Tom changed the subject from “A: b” to “C”.
_SYSTEM_LINE = re.compile(
    r"\s(?:changed|created|renamed|updated|pinned|started)\s(?:the|this|group|a|an|your|to)\b"
)
_NO_MESSAGE = re.compile(
    r"(?:this message was deleted|you deleted this message|null|missed (?:voice|video) call|"
    r"waiting for this message\. this may take a while)\.?",
    re.IGNORECASE,
)
_OMITTED = (
    "omitted|ausgeschlossen|weggelassen|omitid[oa]s?|omis(?:es)?|omess[oi]|weggelaten|ocult[ao]s?|"
    "pominięto|utelämnat|utelatt|udeladt"
)
_MAX_MEDIA_CHARS = 1_000  # the pattern's time grows with the square of a line
_MEDIA = re.compile(
    rf"[{INVISIBLE}]*(?:<[^<>\n]*(?:{_OMITTED})[^<>\n]*>|<[^<>:\n]+: [^<>\n]+\.\w{{2,5}}>|"
    r"[^\n]+\.\w{2,5} \(file attached\)|(?:IMG|VID|PTT|AUD|STK|DOC)-\d{8}-WA\d+\.\w+ \([^()\n]+\)|"
    rf"(?:image|video|audio|sticker|GIF|document|Contact card) (?:{_OMITTED}))",
    re.IGNORECASE,
)
_AT_END = re.compile(
    rf"\u200e(?:<[^<>\n]*>|\S{{1,40}} (?:{_OMITTED}))$|<[^<>\n]* edited>$", re.IGNORECASE
)
_SYSTEM_TEXT = re.compile("\u200e(?!POLL|<)")


@dataclass(slots=True)
class _Message:
    line_no: int
    moment: NumericMoment
    rest: str
    lines: list[str] = field(default_factory=list)


def is_whatsapp_chat(text: str) -> bool:
    """Whether the first line with text begins a message."""
    return _form_of(_first_line(text)) is not None


def read_chat(text: str, name: str, settings: ReadSettings) -> Reading:
    """Read an exported chat.

    Moments are naive, in the household's zone. The order of day and month is the one that fits the
    whole chat. A message's key is its moment and a digest of author and text. Memories before the
    first message stay, because the app exports only the newest messages of a long chat.
    """
    settings.limits.check_lines(text, name)
    messages = _messages(text, name)
    moments = resolve([m.moment for m in messages], settings, in_the_past=True, in_order=True)
    first = min(moments).isoformat() if moments else ""
    items = _drafts(messages, moments, name, settings)
    return Reading.of(items, settings, keeps=lambda key: key < first)


def _messages(text: str, name: str) -> list[_Message]:
    form = _form_of(_first_line(text))
    if form is None:
        raise DatasetError(
            f"{name}:1: expected a chat such as '30/10/2026, 18:04 - Tom: Hello' or "
            f"'[30/10/2026, 18:04:12] Tom: Hello', got {_first_line(text)[:60]!r}"
        )
    messages: list[_Message] = []
    for line_no, line in enumerate(text.split("\n"), 1):
        match = _HEADERS[form].fullmatch(line)
        moment = match and NumericMoment.of(match, f"{name}:{line_no}")
        if match and moment:
            messages.append(_Message(line_no, moment, match["rest"]))
        elif messages:
            messages[-1].lines.append(line)
    return messages


def _drafts(
    messages: list[_Message], moments: list[dt.datetime], name: str, settings: ReadSettings
) -> Iterator[Draft | LeftOut]:
    keys = ContentKeys()
    latest = settings.now.astimezone(settings.zone).replace(tzinfo=None) + dt.timedelta(days=1)
    session, before = "", None
    for message, moment in zip(messages, moments, strict=True):
        where = f"{name}:{message.line_no}"
        match = _FROM.fullmatch(message.rest)
        author = visible(match["author"]).removeprefix("~").strip() if match else ""
        if match is None or not author or _SYSTEM_LINE.search(author):
            yield LeftOut(where, SYSTEM)
            continue
        text, reason = _text([match["text"] or "", *message.lines])
        if not text:
            yield LeftOut(where, reason)
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
    """Return the text of a message; where it has none, also the reason."""
    words = [visible(_AT_END.sub("", line)) for line in lines if not _is_media(line)]
    text = "\n".join(words).strip()
    if _NO_MESSAGE.fullmatch(text):
        return "", DELETED
    # On iOS system texts begin with a mark of direction, in every language.
    if _SYSTEM_TEXT.match(lines[0]) and not _is_media(lines[0]):
        return "", SYSTEM
    return text, NO_TEXT


def _is_media(line: str) -> bool:
    return len(line) <= _MAX_MEDIA_CHARS and _MEDIA.fullmatch(line) is not None


def _form_of(line: str) -> str | None:
    for form, header in _HEADERS.items():
        match = header.fullmatch(line)
        if match and NumericMoment.of(match, ""):
            return form
    return None


def _first_line(text: str) -> str:
    lines = (line for line in text.split("\n", 100)[:100] if visible(line).strip())
    return next(lines, "")

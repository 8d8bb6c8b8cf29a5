"""Mailboxes (mbox): each message is a draft, without quotations and signature."""

from __future__ import annotations

import contextlib
import datetime as dt
import email
import email.errors
import email.header
import email.utils
import html.parser
import mailbox
import re
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import cast

from family_recall.apps.importing.dates import is_plausible
from family_recall.apps.importing.drafts import (
    ContentKeys,
    Draft,
    LeftOut,
    Reading,
    ReadSettings,
    visible,
)
from family_recall.errors import DatasetError

NO_TEXT, UNWANTED = "messages without a text", "messages in spam or trash"
REPEATED, NO_DATE = "messages that are there twice", "impossible dates of messages"

_WROTE = re.compile(
    r".*\b(?:wrote|writes|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|skrev)\b.*:\s*",
    re.IGNORECASE | re.DOTALL,
)
_BEGINS_ATTRIBUTION = re.compile(r"\s*(?:on|am|le|el|il|op|em|den)\s.*[^.!?]", re.IGNORECASE)
_ORIGINAL = re.compile(
    r"\s*-{3,}\s*(?:original|ursprüngliche|mensaje original|message d'origine|messaggio originale)"
    r"[^\n-]*-{3,}\s*",
    re.IGNORECASE,
)
_FORWARDS = re.compile(r"(?:fwd?|wg|tr|rv|i|enc):", re.IGNORECASE)
_FORWARDED = re.compile(
    r"^\s*(?:-{3,}\s*(?:forwarded|weitergeleitete)\b|begin forwarded message)",
    re.IGNORECASE | re.MULTILINE,
)
_OUTLOOK = re.compile(r"\s*\*?(?:from|von|de|da|van):\*?\s.*", re.IGNORECASE)
_SENT = re.compile(
    r"\s*\*?(?:sent|date|gesendet|datum|enviado|envoyé|inviato|verzonden):\*?\s.*", re.IGNORECASE
)
_DEVICE = re.compile(
    r"(?:sent from (?:my|outlook|mail)|get outlook for|von meinem .* gesendet|gesendet von|"
    r"envoyé de mon|enviado desde)\b.*",
    re.IGNORECASE,
)


def read_mailbox(path: Path, settings: ReadSettings) -> Reading:
    """Read an mbox file.

    A message's key is its Message-ID; its session is the first of its references. Quoted lines are
    left out, except of a forwarded message. Without a plain text, the text of the HTML is read.
    Messages labelled Spam or Trash are left out.
    """
    try:
        with path.open("rb") as file:
            first = file.readline(200)
        if not first.startswith(b"From "):
            raise DatasetError(
                f"{path}:1: expected a line 'From …', as a mailbox begins, got {first[:60]!r}"
            )
        box = mailbox.mbox(path, factory=None, create=False)
    except (OSError, mailbox.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise DatasetError(f"{path}: cannot be read ({why}); check the path") from None
    try:
        return Reading.of(_drafts(box, str(path), settings))
    finally:
        box.close()


def _drafts(box: mailbox.mbox, name: str, settings: ReadSettings) -> Iterator[Draft | LeftOut]:
    seen: set[str] = set()
    keys = ContentKeys()
    latest = settings.now + dt.timedelta(days=1)
    for number, box_key in enumerate(box.iterkeys(), 1):
        # mailbox.mbox rejects a "From" line that is not ASCII.
        message = email.message_from_bytes(box.get_bytes(box_key))
        where = f"{name}, message {number}"
        labels = {
            label.strip().casefold() for label in _header(message, "X-Gmail-Labels").split(",")
        }
        if labels & {"spam", "trash"}:
            yield LeftOut(where, UNWANTED)
            continue
        title = _header(message, "Subject")
        body = body_of(message)
        forwards = _FORWARDS.match(title) or _FORWARDED.search(body)
        text = body.strip() if forwards else own_words(body)
        if not text:
            yield LeftOut(where, NO_TEXT)
            continue
        own_id = _header(message, "Message-ID")
        if own_id and own_id in seen:
            yield LeftOut(where, REPEATED)
            continue
        seen.add(own_id)
        references = (
            _header(message, "References").split()
            or _header(message, "In-Reply-To").split()
            or [own_id]
        )
        fields: dict[str, object] = {"session_id": references[0][:500] or None}
        if title:
            fields["title"] = title
        sent = _sent_at(message)
        if (
            sent is None
            or not is_plausible(sent)
            or sent.replace(tzinfo=sent.tzinfo or settings.zone) > latest
        ):
            yield LeftOut(where, NO_DATE)
        else:
            fields["occurred_at"] = sent
        display, address = email.utils.parseaddr(_header(message, "From"))
        names = tuple(filter(None, (display.strip(" '\""), address)))
        yield Draft(own_id or keys.key(title, text, *names), where, text, names, fields)


def body_of(message: Message) -> str:
    """Return the plain text of a message, or the text of its HTML; empty without either."""
    texts: dict[str, str] = {}
    for part in message.walk():
        kind = part.get_content_type()
        if kind in {"text/plain", "text/html"} and "attachment" not in str(
            part.get("Content-Disposition", "")
        ):
            words = _decoded(part)
            if words.strip():
                texts.setdefault(kind, words)
    if "text/plain" in texts:
        return visible(texts["text/plain"])
    return visible(_words_of_html(texts.get("text/html", "")))


def own_words(body: str) -> str:
    r"""Return a body without quoted lines, their attribution, and the signature.

    A signature follows a line ``-- `` (RFC 3676). A closing greeting stays, and so does text
    between or below quoted lines.

    >>> own_words("At seven.\n\nOn Friday, Tom wrote:\n> When?\n-- \nAnna")
    'At seven.'
    """
    kept_lines: list[str] = []
    lines = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for at, line in enumerate(lines):
        if line.startswith(">From "):  # a mailbox's escape of a line that begins with From
            line = line[1:]  # noqa: PLW2901
        if line == "-- " or line.rstrip() == "--":
            break
        begins_header = _OUTLOOK.fullmatch(line) and any(
            _SENT.fullmatch(later) for later in lines[at + 1 : at + 4]
        )
        if _ORIGINAL.fullmatch(line) or begins_header:
            break
        if line.startswith(">"):
            if at == 0 or not lines[at - 1].startswith(">"):
                _drop_attribution(kept_lines)
            continue
        kept_lines.append(line.rstrip())
    while kept_lines and (
        not kept_lines[-1].strip(" _") or _DEVICE.fullmatch(kept_lines[-1].strip())
    ):
        kept_lines.pop()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept_lines)).strip()


def _drop_attribution(lines: list[str]) -> None:
    """Remove the one or two lines that attribute a quotation."""
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) > 1 and _BEGINS_ATTRIBUTION.fullmatch(lines[-2]):
        if _WROTE.fullmatch("\n".join(lines[-2:])):
            del lines[-2:]
    elif lines and _WROTE.fullmatch(lines[-1]):
        lines.pop()


def _sent_at(message: Message) -> dt.datetime | None:
    try:
        return email.utils.parsedate_to_datetime(_header(message, "Date"))
    except (ValueError, OverflowError):
        return None


def _header(message: Message, name: str) -> str:
    """Return a header, with its encoded words decoded where possible."""
    raw = str(message.get(name, ""))
    with contextlib.suppress(LookupError, ValueError, email.errors.MessageError):
        raw = str(email.header.make_header(email.header.decode_header(raw)))
    return " ".join(visible(raw).split())[:1000]


def _decoded(part: Message) -> str:
    payload = cast("bytes | None", part.get_payload(decode=True)) or b""
    try:
        return payload.decode(part.get_content_charset("utf-8"), "replace")
    except (LookupError, ValueError):
        return payload.decode("utf-8", "replace")


class _Words(html.parser.HTMLParser):
    """Collects the visible text of a page, a line for each block."""

    _BLOCKS = frozenset("p div br tr li h1 h2 h3 h4 h5 h6 table ul ol hr blockquote".split())
    _SILENT = frozenset(("style", "script", "title", "blockquote"))

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a line, or an invisible part."""
        del attrs
        self._silent += tag in self._SILENT
        if tag in self._BLOCKS:
            self.words.append("\n")
        elif tag in {"td", "th"}:
            self.words.append(" ")

    def handle_endtag(self, tag: str) -> None:
        """End a line, or an invisible part."""
        if tag in self._SILENT and self._silent:
            self._silent -= 1
        if tag in self._BLOCKS:
            self.words.append("\n")

    def handle_data(self, data: str) -> None:
        """Collect visible text, with single spaces."""
        if not self._silent:
            self.words.append(re.sub(r"\s+", " ", data))


def _words_of_html(page: str) -> str:
    parser = _Words()
    parser.feed(page)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.words).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

"""Mailboxes (mbox): each message is a draft, without quotations and signature."""

from __future__ import annotations

import codecs
import contextlib
import datetime as dt
import email
import email.errors
import email.header
import email.utils
import html
import re
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import BinaryIO, cast

from family_recall.apps.importing.dates import is_plausible
from family_recall.apps.importing.drafts import (
    ContentKeys,
    Draft,
    LeftOut,
    Reading,
    ReadSettings,
    readable,
    unreadable,
    visible,
)
from family_recall.apps.importing.limits import Limits
from family_recall.errors import DatasetError
from family_recall.types.json_lines import open_regular

NO_TEXT, UNWANTED = "messages without a text", "messages in spam or trash"
CUT, UNREADABLE = "ends of long messages", "messages that cannot be read"
REPEATED, NO_DATE = "messages that are there twice", "impossible dates of messages"

_CHUNK = 64 * 1024
_MAX_LINE_CHARS, _MAX_HEADER_CHARS = 1_000, 10_000
_LONG_TYPE = re.compile(
    rb"^content-(?:type|disposition):(?:[^\n]|\n[ \t]){4000}", re.IGNORECASE | re.MULTILINE
)
_OWN_CODE = {"idna", "punycode"}
"""Text encodings of names, whose decoders take time that grows with the square of a text."""

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
    r"^[^\S\n]*+(?:-{3,}+\s*+(?:forwarded|weitergeleitete)\b|begin forwarded message)",
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
        with open_regular(path) as file:
            first = file.readline(200)
            if not first.startswith(b"From "):
                raise DatasetError(
                    f"{path}:1: expected a line 'From …', as a mailbox begins, got {first[:60]!r}"
                )
            return Reading.of(
                _drafts(_contents(file, settings.limits), str(path), settings), settings
            )
    except OSError as error:
        raise unreadable(path, error) from None


def _contents(file: BinaryIO, limits: Limits) -> Iterator[tuple[bytes, bool]]:
    """Yield the beginning of each message of an open mailbox, and whether it has an end, too."""
    file.seek(0)
    content, is_new_line = bytearray(), True
    n_lines, is_cut = 0, False
    while line := file.readline(_CHUNK):
        if is_new_line and line.startswith(b"From "):
            if file.tell() > len(line):
                yield bytes(content), is_cut
            content.clear()
            n_lines, is_cut = 0, False
        elif len(content) < limits.message_megabytes * 2**20 and n_lines < limits.lines:
            content += line
            n_lines += 1
        else:
            is_cut = True
        is_new_line = line.endswith(b"\n")
    yield bytes(content), is_cut


def _drafts(
    contents: Iterator[tuple[bytes, bool]], name: str, settings: ReadSettings
) -> Iterator[Draft | LeftOut]:
    seen: set[str] = set()
    keys = ContentKeys()
    for number, (content, is_cut) in enumerate(contents, 1):
        where = f"{name}, message {number}"
        if is_cut:
            yield LeftOut(where, CUT)
        try:
            with readable(where, "mail"):
                items = list(_of_message(content, where, seen, keys, settings))
        except DatasetError:
            items = [LeftOut(where, UNREADABLE)]
        yield from items


def _of_message(
    content: bytes, where: str, seen: set[str], keys: ContentKeys, settings: ReadSettings
) -> Iterator[Draft | LeftOut]:
    """Yield what becomes of a message."""
    # email takes time that grows with the square of these headers.
    if _LONG_TYPE.search(content):
        raise DatasetError(f"{where}: the type of a part is too long")
    message = email.message_from_bytes(content)
    labels = {label.strip().casefold() for label in _header(message, "X-Gmail-Labels").split(",")}
    if labels & {"spam", "trash"}:
        yield LeftOut(where, UNWANTED)
        return
    latest = settings.now + dt.timedelta(days=1)
    title = _header(message, "Subject")
    body = body_of(message)
    forwards = _FORWARDS.match(title) or _FORWARDED.search(body)
    text = body.strip() if forwards else own_words(body)
    if not text:
        yield LeftOut(where, NO_TEXT)
        return
    own_id = _header(message, "Message-ID")
    if own_id and own_id in seen:
        yield LeftOut(where, REPEATED)
        return
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
        begins_header = _is(_OUTLOOK, line) and any(
            _is(_SENT, later) for later in lines[at + 1 : at + 4]
        )
        if _is(_ORIGINAL, line) or begins_header:
            break
        if line.startswith(">"):
            if at == 0 or not lines[at - 1].startswith(">"):
                _drop_attribution(kept_lines)
            continue
        kept_lines.append(line.rstrip())
    while kept_lines and (not kept_lines[-1].strip(" _") or _is(_DEVICE, kept_lines[-1].strip())):
        kept_lines.pop()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept_lines)).strip()


def _drop_attribution(lines: list[str]) -> None:
    """Remove the one or two lines that attribute a quotation."""
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) > 1 and _is(_BEGINS_ATTRIBUTION, lines[-2]):
        if _is(_WROTE, "\n".join(lines[-2:])):
            del lines[-2:]
    elif lines and _is(_WROTE, lines[-1]):
        lines.pop()


def _is(pattern: re.Pattern[str], line: str) -> bool:
    """Whether a line is of a kind; the patterns' time grows with the square of its length."""
    return len(line) <= _MAX_LINE_CHARS and pattern.fullmatch(line) is not None


def _sent_at(message: Message) -> dt.datetime | None:
    try:
        return email.utils.parsedate_to_datetime(_header(message, "Date"))
    except (ValueError, OverflowError):
        return None


def _header(message: Message, name: str) -> str:
    """Return a header, with its encoded words decoded where possible."""
    raw = str(message.get(name, ""))[:_MAX_HEADER_CHARS]
    with contextlib.suppress(LookupError, ValueError, email.errors.MessageError):
        raw = str(email.header.make_header(email.header.decode_header(raw)))
    return " ".join(visible(raw).split())[:1000]


def _decoded(part: Message) -> str:
    payload = cast("bytes | None", part.get_payload(decode=True)) or b""
    try:
        codec = codecs.lookup(part.get_content_charset("utf-8")).name
        return payload.decode("utf-8" if codec in _OWN_CODE else codec, "replace")
    except (LookupError, ValueError):
        return payload.decode("utf-8", "replace")


# Each alternative reads on to the end of the page where what ends it is missing.
_TAG = re.compile(
    r"<!--(?:.*?--\s*>|.*)|<(?:!|\?)[^>]*(?:>|\Z)"
    r"|<(?P<silent>script|style|title)\b[^>]*+(?:>.*?</(?P=silent)\b[^>]*(?:>|\Z)|.*)"
    r"|</?(?P<tag>[a-z][^\s/>]*+)(?:(?:[^>\"']++|\"[^\"]*+\"|'[^']*+')*+(?:>|\Z)|[^>]*+(?:>|\Z))",
    re.IGNORECASE | re.DOTALL,
)
_BLOCKS = frozenset("p div br tr li h1 h2 h3 h4 h5 h6 table ul ol hr blockquote".split())


def _words_of_html(page: str) -> str:
    """Return the visible text of a page, a line for each block, without quotations."""
    words: list[str] = []
    at = n_quotations = 0
    for match in _TAG.finditer(page):
        if not n_quotations:
            words.append(re.sub(r"\s+", " ", html.unescape(page[at : match.start()])))
        at = match.end()
        tag = (match["tag"] or "").casefold()
        if tag == "blockquote":
            is_end = match[0].startswith("</")
            n_quotations = max(n_quotations - 1, 0) if is_end else n_quotations + 1
        words.append("\n" if tag in _BLOCKS else " " if tag in {"td", "th"} else "")
    if not n_quotations:
        words.append(re.sub(r"\s+", " ", html.unescape(page[at:])))
    lines = (" ".join(line.split()) for line in "".join(words).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

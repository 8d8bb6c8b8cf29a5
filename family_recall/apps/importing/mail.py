"""Mailboxes (mbox): each message is a draft, without quotations and signature."""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import datetime as dt
import email
import email.errors
import email.header
import email.utils
import html
import itertools
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
    digest,
    readable,
    unreadable,
    visible,
)
from family_recall.apps.importing.limits import Limits
from family_recall.apps.importing.mail_folders import is_unwanted
from family_recall.errors import DatasetError
from family_recall.types.json_lines import open_regular

NO_TEXT, UNWANTED = "messages without a text", "messages in spam or trash"
CUT, UNREADABLE = "ends of long messages", "messages that cannot be read"
REPEATED, NO_DATE = "messages that are there twice", "impossible dates of messages"
QUOTED, ATTACHED = "quoted lines and signatures of messages", "attachments of messages"
UNDECODED, ENCRYPTED = "parts of messages that cannot be decoded", "encrypted messages"
NO_ZONE = "dates of messages without a time zone that is known"

_CHUNK = 64 * 1024
_MAX_LINE_CHARS, _MAX_HEADER_CHARS = 1_000, 10_000
_LONG_TYPE = re.compile(
    rb"^content-(?:type|disposition):(?:[^\n]|\n[ \t]){4000}", re.IGNORECASE | re.MULTILINE
)
_OWN_CODE = {"idna", "punycode", "raw_unicode_escape", "unicode_escape"}
"""Encodings of names and programs; some take time that grows with the square of a text."""
_LARGER = {"ascii": "utf-8", "gb2312": "gb18030", "gbk": "gb18030", "iso8859-1": "cp1252",
           "euc_kr": "cp949", "shift_jis": "cp932"}  # fmt: skip
"""Character sets that are named for larger ones."""
_TRANSFERS = set("7bit 8bit binary quoted-printable base64 x-uuencode uuencode uue x-uue".split())
_HEADER_LINE = re.compile(rb"[!-9;-~]{1,76}:|>From ")
_SECOND_FROM = re.compile(rb"\A(From [^\n]*\n)>From [^\n]*\n")
"""As one program writes above the headers."""
_SENT_LINE = re.compile(rb"\d:\d\d.*\d{4}")
_ENCODED_WORDS = re.compile(r"(?:=\?[^?\s]{1,80}\?[bq]\?[^?\s]*\?=(?:\s+(?==\?))?)+", re.IGNORECASE)
_THROWN_AWAY = {"X-Mozilla-Status": 0x8, "X-Mozilla-Status2": 0x200000}
"""Bits by which Thunderbird marks what is deleted and still in the file."""

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
    Messages in a folder, or with a label, for trash or spam are left out, and deleted ones.
    """
    try:
        with open_regular(path) as file:
            first = file.readline(200)
            if not first.startswith(b"From ") and not any(
                line.startswith(b"From ") for line in iter(lambda: file.readline(_CHUNK), b"")
            ):
                raise DatasetError(
                    f"{path}:1: expected a line 'From …', as a mailbox begins, got {first[:60]!r}"
                )
            return Reading.of(_drafts(_contents(file, settings.limits), path, settings), settings)
    except OSError as error:
        raise unreadable(path, error) from None


def _contents(file: BinaryIO, limits: Limits) -> Iterator[tuple[bytes, bool]]:
    """Yield the beginning of each message of an open mailbox, and whether it has an end, too.

    A message begins with a line ``From …`` that a header follows, after an empty line or with a
    date.
    """
    file.seek(0)
    content, n_lines, is_cut = bytearray(), 0, False
    before, line = b"\n", file.readline(_CHUNK)
    while line:
        after = file.readline(_CHUNK)
        if (
            line.startswith(b"From ")
            and (not before.strip() or _SENT_LINE.search(line))
            and before.endswith(b"\n")
            and _HEADER_LINE.match(after)
            and n_lines
        ):
            yield bytes(content), is_cut
            content.clear()
            n_lines, is_cut = 0, False
        if len(content) < limits.message_megabytes * 2**20 and n_lines < limits.lines:
            content += line
            n_lines += 1
        else:
            is_cut = True
        before, line = line, after
    yield bytes(content), is_cut


def _drafts(
    contents: Iterator[tuple[bytes, bool]], path: Path, settings: ReadSettings
) -> Iterator[Draft | LeftOut]:
    in_folder = is_unwanted(path.stem) or (path.name == "mbox" and is_unwanted(path.parent.stem))
    seen: dict[str, str] = {}
    keys = ContentKeys()
    for number, (content, is_cut) in enumerate(contents, 1):
        where = f"{path}, message {number}"
        if is_cut:
            yield LeftOut(where, CUT)
        if not content.startswith(b"From "):
            problem = f"expected a line 'From …', as a message begins, got {content[:60]!r}"
            yield LeftOut(where, UNREADABLE, problem)
            continue
        try:
            with readable(where, "mail"):
                # email takes time that grows with the square of these headers.
                if _LONG_TYPE.search(content):
                    raise DatasetError(f"{where}: expected a shorter type of each part")  # noqa: TRY301
                parsed = email.message_from_bytes(_SECOND_FROM.sub(rb"\1", content))
                message = _Message(parsed, where, is_cut=is_cut)
                if in_folder or message.is_thrown_away():
                    items: list[Draft | LeftOut] = [LeftOut(where, UNWANTED)]
                else:
                    items = list(message.items(seen, keys, settings))
        except DatasetError as error:
            items = [LeftOut.because(error, where, UNREADABLE)]
        yield from items


class _Message:
    """A message, and what is left out of it."""

    def __init__(self, message: Message, where: str, *, is_cut: bool) -> None:
        self._message, self._where, self._is_cut = message, where, is_cut
        self._left_out: list[LeftOut] = []

    def is_thrown_away(self) -> bool:
        """Whether it is in the trash or spam, or deleted."""
        labels = self._header("X-Gmail-Labels", 10_000) or self._header("X-GM-LABELS", 10_000)
        if any(map(is_unwanted, labels.split(","))) or "D" in self._header("X-Status"):
            return True
        for name, bit in _THROWN_AWAY.items():
            with contextlib.suppress(ValueError):
                if int(self._header(name), 16) & bit:
                    return True
        return False

    def items(
        self, seen: dict[str, str], keys: ContentKeys, settings: ReadSettings
    ) -> Iterator[Draft | LeftOut]:
        """Yield the draft, and what is left out; ``seen`` has digests of texts by id."""
        title, own_id = self._header("Subject"), self._header("Message-ID")
        texts = map(str.strip, self._texts(self._message))
        body = visible("\n\n".join(filter(None, texts)))
        forwards = _FORWARDS.match(title) or _FORWARDED.search(body)
        text = body if forwards else own_words(body)
        if not text:
            self._leave_out(NO_TEXT)
            yield from (dataclasses.replace(item, key=own_id) for item in self._left_out)
            return
        if (n_quoted := _n_lines(body) - _n_lines(text)) > 0:
            self._leave_out(QUOTED, n=n_quoted)
        display, address = email.utils.parseaddr(self._header("From"))
        names = tuple(filter(None, (display.strip(" '\""), address)))
        content = digest(text)
        key = own_id or keys.key(title, text, *names)
        if own_id and (earlier := seen.setdefault(own_id, "")) == content:
            yield LeftOut(self._where, REPEATED)
            return
        if own_id and earlier:  # the id of several messages
            key = f"{own_id} {content}"
        seen[own_id] = content
        references = self._header("References").split() or self._header("In-Reply-To").split()
        fields: dict[str, object] = {"session_id": [*references, own_id][0][:500] or None}
        if title:
            fields["title"] = title
        if sent := self._sent_at(settings):
            fields["occurred_at"] = sent
        yield from (dataclasses.replace(item, key=key) for item in self._left_out)
        yield Draft(key, self._where, text, names, fields)

    def _leave_out(self, reason: str, problem: str = "", n: int = 1) -> None:
        self._left_out.append(LeftOut(self._where, reason, problem, n=n))

    def _sent_at(self, settings: ReadSettings) -> dt.datetime | None:
        """Return when it was sent; None where that is not known."""
        raw = self._header("Date")
        try:
            sent = email.utils.parsedate_to_datetime(raw)
        except (ValueError, OverflowError, IndexError):
            problem = f"expected a date such as Fri, 30 Oct 2026 18:04:00 +0100, got {raw[:60]!r}"
            self._leave_out(NO_DATE, problem if raw else "")
            return None
        if sent.tzinfo is None:
            own = sent.replace(tzinfo=dt.UTC if "-0000" in raw else settings.zone)
            if "-0000" not in raw and (own.tzname() or "?") not in raw:
                problem = f"expected a time zone such as +0100, got {raw[:60]!r}"
                self._leave_out(NO_ZONE, problem)
                return None
            sent = own
        if not is_plausible(sent) or sent > settings.now + dt.timedelta(days=1):
            self._leave_out(NO_DATE)
            return None
        return sent

    def _header(self, name: str, max_chars: int = 1_000) -> str:
        """Return a header with its encoded words decoded; empty where it cannot be."""
        raw = next((str(v) for n, v in self._message.raw_items() if n.lower() == name.lower()), "")
        raw = raw[:_MAX_HEADER_CHARS].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        try:
            words = _ENCODED_WORDS.sub(_decoded_words, raw)
            if "\N{REPLACEMENT CHARACTER}" in words:
                raise ValueError(name)  # noqa: TRY301
        except (LookupError, ValueError, email.errors.MessageError):
            problem = f"expected the header {name} in a known character set, got {raw[:60]!r}"
            self._leave_out(UNDECODED, problem)
            return ""
        return " ".join(visible(words).split())[:max_chars]

    def _texts(self, part: Message) -> Iterator[str]:
        """Yield the texts of a part and those in it: the plain one, or first, of alternatives."""
        kind = part.get_content_type()
        if part.get_content_maintype() == "multipart":
            if not part.is_multipart():
                self._leave_out(UNDECODED, f"expected the parts of {kind}, got none")
                return
            parts = cast("list[Message]", part.get_payload())
            if kind != "multipart/alternative":
                yield from itertools.chain.from_iterable(map(self._texts, parts))
                return
            for alternative in sorted(parts, key=lambda p: p.get_content_type() != "text/plain"):
                if any(map(str.strip, texts := [*self._texts(alternative)])):
                    yield from texts
                    return
        elif kind not in {"text/plain", "text/html"} or "attachment" in str(
            part.get("Content-Disposition", "")
        ):
            self._leave_out(ATTACHED)
        else:
            words = self._decoded(part)
            if "-----BEGIN PGP MESSAGE-----" in words:
                self._leave_out(ENCRYPTED)
            else:
                yield _words_of_html(words) if kind == "text/html" else words

    def _decoded(self, part: Message) -> str:
        """Return the text of a part; empty where it cannot be decoded."""
        transfer = str(part.get("Content-Transfer-Encoding", "7bit")).strip().casefold()
        payload = cast("bytes | None", part.get_payload(decode=True)) or b""
        is_broken = any(isinstance(defect, _BROKEN) for defect in part.defects)
        if transfer not in _TRANSFERS or (is_broken and not self._is_cut):
            self._leave_out(UNDECODED, f"expected a known encoding, kept to, got {transfer[:60]!r}")
            return ""
        named = ""
        with contextlib.suppress(LookupError, ValueError):
            named = part.get_content_charset("us-ascii")
            named = codecs.lookup(named).name
        for codec in (_LARGER.get(named, named), named, "utf-8"):
            with contextlib.suppress(LookupError, ValueError):
                if codec not in _OWN_CODE:
                    return payload.decode(codec)
        if self._is_cut:
            return payload.decode("utf-8", "replace")
        self._leave_out(UNDECODED, f"expected the character set {named[:60]!r}, got another")
        return ""


_BROKEN = (email.errors.InvalidBase64CharactersDefect, email.errors.InvalidBase64LengthDefect)


def _decoded_words(match: re.Match[str]) -> str:
    return str(email.header.make_header(email.header.decode_header(match[0])))


def _n_lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.split("\n"))


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

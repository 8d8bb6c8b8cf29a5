"""Find identifiers in a text: order numbers, addresses, phone numbers, links.

A question that quotes an identifier asks for the memory that holds exactly it. Text that could
also be a time, a date, a sum or a count is not taken for an identifier.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from family_recall.types.understanding import Identifier, IdentifierKind

from .lexicon import MONTHS, WEEKDAYS

RULES_VERSION = "3"
"""Increased whenever the rules change; a file indexed by other rules is indexed again."""

_WINDOW = 32_768  # characters of a text that are matched at once …
_LONGEST = 2_048  # … and those after them in which an identifier may end


def find_identifiers(text: str) -> tuple[Identifier, ...]:
    """Find the identifiers of a text, in order; none overlap.

    If two kinds match, the earlier rule of the table below wins: the end of a URL is no ticket.
    Linear in the text, some 2 µs a character at worst.
    """
    if text.isascii() and _SIGN.search(text) is None:  # as in most
        return ()
    # Each character is replaced by one, so offsets into both texts are the same.
    plain = text if text.isascii() else text.translate(_PLAIN)
    identifiers: list[Identifier] = []
    taken, is_short = bytearray(len(plain)), len(plain) <= _WINDOW
    for kind, pattern, normalise in _RULES:
        group = "id" if "id" in pattern.groupindex else 0
        for match in pattern.finditer(plain) if is_short else _matches(pattern, plain):
            start, end = match.span(group)
            written = match[group].rstrip(".,;:!?)'\"")
            normalised = normalise(written)
            if normalised and taken.find(1, start, end) < 0:
                end = start + len(written)
                taken[start:end] = bytes([1]) * (end - start)
                identifiers.append(Identifier(kind, text[start:end], normalised, (start, end)))
    return tuple(sorted(identifiers, key=lambda identifier: identifier.span))


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches in a text, as ``finditer`` does, by windows.

    While a pattern is matched, no other thread runs: a text of a million characters took 30 ms.
    """
    at, n = 0, len(text)
    while at < n:
        following, end = at + _WINDOW, min(at + _WINDOW + _LONGEST, n)
        for match in pattern.finditer(text, at, end):
            if match.start() >= following and end < n:
                break
            # One that ends with the window may go on after it.
            whole = match if match.end() < end or end == n else pattern.match(text, match.start())
            if whole is not None:
                yield whole
                following = max(following, whole.end())
        at = following if end < n else n


def identifiers_in(views: Iterable[str], *, url: str | None = None) -> tuple[Identifier, ...]:
    """Find each identifier of a memory once, in its texts and in its link."""
    unique = {
        (identifier.kind, identifier.normalised): identifier
        for view in views
        for identifier in find_identifiers(view)
    }
    if url:
        link = Identifier("url", url, url.strip().lower(), (0, len(url)))
        unique.setdefault((link.kind, link.normalised), link)
    return tuple(unique.values())


def _site(text: str) -> str | None:
    """Normalise a bare *example.org/cake*; None for two sentences without a space between."""
    host, *tail = re.split(r"[/:?#]", text.lower(), maxsplit=1)
    ending = host.rsplit(".", 1)[1]
    is_word = ending in _DOMAINS_THAT_ARE_WORDS
    is_site = ending in _TOP_DOMAINS or (is_word and (tail or host.count(".") > 1))
    return text.lower() if is_site else None


def _compact(text: str) -> str | None:
    return re.sub(r"[^0-9A-Za-z]", "", text).upper()


def _ticket(text: str) -> str | None:
    """Normalise a ticket; None for what only looks like one: COVID-19, vitamin B-12."""
    name = text.split("-", maxsplit=1)[0]
    return None if name.upper() in _NO_TICKETS else text.lower()


def _isbn(text: str) -> str | None:
    """Return the ISBN-13 digits if the check digit is right (ISO 2108), else None."""
    digits = _compact(text) or ""
    if len(digits) == 10 and digits[:9].isdigit():
        values = [10 if ch == "X" else int(ch) for ch in digits if ch.isdigit() or ch == "X"]
        if (
            len(values) != 10
            or sum(w * v for w, v in zip(range(10, 0, -1), values, strict=True)) % 11
        ):
            return None
        body = "978" + digits[:9]
        return body + str(-_ean_sum(body) % 10)
    is_isbn_13 = len(digits) == 13 and digits.isdigit() and digits[:3] in {"978", "979"}
    return digits if is_isbn_13 and _ean_sum(digits) % 10 == 0 else None


def _ean_sum(digits: str) -> int:
    return sum(int(ch) * (3 if at % 2 else 1) for at, ch in enumerate(digits))


def _phone(text: str) -> str | None:
    """Return the digits of a phone number; None for dates, amounts and plain numbers."""
    digits = re.sub(r"[^0-9]", "", text)
    international = text.lstrip("(").startswith("+") or digits.startswith("00")
    if not 7 <= len(digits) <= 15 or _DATE.search(text):
        return None
    groups = re.findall(r"[0-9]+", text)
    if not international and not (len(digits) >= 9 or (len(groups) == 2 and len(groups[0]) == 3)):
        return None
    if not international and len(groups) == 1 and digits[0] != "0" and len(digits) != 10:
        return None
    if digits.startswith("00"):
        return "+" + digits[2:]
    # "+44 (0)20": the zero is dialled only inside the country.
    return "+" + re.sub(r"[^0-9]", "", text.replace("(0)", "")) if international else digits


def _reference(text: str) -> str | None:
    """Return a booking or order number that contains a digit, else None."""
    compact = _compact(text) or ""
    return compact if len(compact) >= 4 and any(ch.isdigit() for ch in compact) else None


def _code(text: str) -> str | None:
    """Return a standalone code: X7KQ2P or 114-3941689-8772232, not MP3 or 2019-2021."""
    compact = _compact(text) or ""
    if not compact.isdigit():
        groups = re.findall(r"[0-9]+|[A-Z]+", compact)
        return compact if len(groups) > 2 else None
    return compact if len(compact) >= (12 if "-" in text else 8) and not _DAY.match(text) else None


_NO_TICKETS = frozenset(
    """
    AGE AIRBUS APOLLO APPROX AROUND BEFORE BOEING CATCH CHANNEL CHAPTER CIRCA CLASS COVID DAY EARLY
    ERA EXIT FORMULA GATE GCSE GRADE GROUP ISO KEY LATE LEVEL LINE MID MP NON NUMBER OVER PAGE PART
    PHASE PLAYSTATION POST PRE PS ROOM ROUTE SARS SECTION SINCE SIZE STAGE STEP SUB TOP TWENTY TYPE
    UNDER UNIT UNTIL US UTF VERSION VITAMIN VOLUME WEEK WINDOWS WW YEAR
    """.split()
).union(name.upper() for name in (*MONTHS, *WEEKDAYS))
_TOP_DOMAINS = frozenset(
    """
    au biz ca ch com cz de dk edu es eu fi fr gov hk ie info io jp kr lk ltd net nl nz org pk pl pt
    ro ru se sg tv ua uk xyz za
    """.split()
)
_DOMAINS_THAT_ARE_WORDS = frozenset(
    """
    ai am app at be br by cc club co dev family fm home in is it lan local me mx my name no online
    shop site so store tech to us wiki
    """.split()
)
"""Top-level domains that are also words: they need a path or a subdomain."""

_DATE = re.compile(
    r"(?<![0-9])(?:[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}"
    r"|[0-9]{1,2}([-/. ])[0-9]{1,2}\2(?:19|20)[0-9]{2})(?![0-9])"
)
_DAY = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:$|[0-9]{4,6}$)")
_SIGN = re.compile(r"[0-9@#:.]")
"""What every identifier has, one of them at least."""

_PLAIN = {
    **dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2212, 0xFF0D), "-"),
    **dict.fromkeys((0x00A0, 0x2007, 0x2009, 0x202F, 0x3000), " "),
    0xFF0B: "+",
    # Arabic, Persian, Devanagari, Bengali and full-width digits.
    **{zero + n: str(n) for zero in (0x660, 0x6F0, 0x966, 0x9E6, 0xFF10) for n in range(10)},
}
_RULES: tuple[tuple[IdentifierKind, re.Pattern[str], Callable[[str], str | None]], ...] = (
    ("url", re.compile(r"\bhttps?://[^\s<>\"'”’]{1,2000}", re.IGNORECASE), str.lower),
    ("url", re.compile(r"\bwww\.[^\s<>\"'”’]{1,2000}"), str.lower),
    (
        "email",
        re.compile(
            r"(?<![\w.+-])[A-Za-z0-9](?:[\w.+-]{0,62}[\w+-])?@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}\b"
        ),
        str.lower,
    ),
    (
        "isbn",
        re.compile(
            r"(?<![0-9+)-])(?<![0-9)] )(?:97[89][- ]?)?(?:[0-9][- ]?){9}[0-9Xx](?![0-9-]| [0-9])"
        ),
        _isbn,
    ),
    (
        "reference",
        re.compile(
            r"\b(?:order|booking|reservation|confirmation|reference|tracking|invoice|policy|ticket"
            r"|account|membership|customer|receipt|claim|parcel|shipment|case|pnr|serial|passport)"
            r"\s*(?:number|code|no\.?|nr\.?|id|ref(?:erence)?|#)?"
            # "The order was 2000": a short number after *was* is as likely a sum or a year.
            r"(?:\s+(?:is|was)\b(?!\s+[0-9]{1,4}\b))?\s*:?\s*#?"
            r"(?P<id>(?=[A-Za-z-]*[0-9])[A-Za-z0-9][A-Za-z0-9-]{3,40})\b(?![/.:][0-9])",
            re.IGNORECASE,
        ),
        _reference,
    ),
    ("issue", re.compile(r"(?<![\w#&/])#[0-9]{1,9}\b(?!-)"), str),
    (
        "issue",
        re.compile(
            r"\b(?:issue|bug|invoice|pull request|PR)\s+(?:number\s+|no\.?\s+)?"
            r"(?P<id>[0-9]{1,9})\b(?![-/.:][0-9]|%)",
            re.IGNORECASE,
        ),
        lambda number: f"#{number}",
    ),
    (
        "ticket",
        re.compile(
            r"(?<![\w-])[A-Z][A-Z0-9]{1,15}(?:-[A-Z]{2,10})?-[0-9]{1,7}(?![\w-])", re.IGNORECASE
        ),
        _ticket,
    ),
    (
        "path",
        re.compile(
            r"(?<![\w/:.])[A-Za-z_][\w.-]{0,80}:(?=[\w./-]*[./])[A-Za-z_.][\w.-]{0,80}(?:/[\w.-]{1,80}){0,20}"
        ),
        str,
    ),
    (
        "url",
        re.compile(
            r"(?<![\w@./-])(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,10}"
            r"(?![\w@-]|\.\w)(?::[0-9]{1,5})?(?:[/?#][^\s<>\"'”’]{0,2000})?"
        ),
        _site,
    ),
    (
        "phone",
        re.compile(
            # After a colon only where a word stands before it: "7:30 2020" is a time and a year.
            r"(?:(?<=[A-Za-z]:)|(?<![\w.,/:€$£#-]))(?<!(?i:isbn)[ :])"
            r"(?:\+|\(\+?|00)?[0-9](?:[ ./()-]{0,2}[0-9]){6,17}(?![\w:%€$£-]|[.,/][0-9])"
        ),
        _phone,
    ),
    (
        "licence_plate",
        re.compile(
            # A British or an Indian plate.
            r"(?<![\w-])(?=[A-Za-z]{2}[ -]?[0-9])"
            r"(?:[A-Z]{2}[0-9]{2} ?[A-Z]{3}|[a-z]{2}[0-9]{2} ?[a-z]{3}"
            r"|[A-Z]{2}[ -]?[0-9]{1,2}[ -]?[A-Z]{1,3}[ -]?[0-9]{4}"
            r"|[a-z]{2}[ -]?[0-9]{1,2}[ -]?[a-z]{1,3}[ -]?[0-9]{4})(?![\w-])"
        ),
        _compact,
    ),
    (
        "licence_plate",
        re.compile(
            r"\b(?i:plate)\s+(?:(?:is|number)\s+)?"
            r"(?P<id>(?=[A-Z -]*[0-9])[A-Z0-9]{1,4}(?:[ -]?[A-Z0-9]{1,4}){1,3})(?![\w-])"
        ),
        _compact,
    ),
    (
        "reference",
        re.compile(
            r"(?<![\w@#/.,:€$£+-])(?:(?=[0-9]*[A-Z])(?=[A-Z]*[0-9])[A-Z0-9]{5,30}"
            r"|[0-9]{8,30}|[0-9]{2,10}(?:-[0-9]{2,10}){1,4})(?![\w%€$£-]|[.,/:][0-9])"
        ),
        _code,
    ),
)

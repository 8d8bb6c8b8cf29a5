"""Identifiers: a question in, the names that stand for exactly one thing out.

A question that quotes an order number or an e-mail address wants the memory that holds it, not
one like it. What could as well be a time, a date, a sum or a count is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

IdentifierKind: TypeAlias = Literal[
    "url", "email", "isbn", "issue", "ticket", "path", "phone", "reference", "licence_plate"
]
MAX_SCANNED_CHARS = 4000


@dataclass(frozen=True, slots=True)
class Identifier:
    """One identifier as written, and in the form that two spellings of it share.

    ``normalised`` is lower case for URLs, e-mail addresses and tickets; digits, with a leading
    ``+`` where one was written, for phone numbers; 13 digits for ISBNs; capitals and digits for
    licence plates and reference numbers. ``span`` are character offsets into the question.
    """

    kind: IdentifierKind
    text: str
    normalised: str
    span: tuple[int, int]


def find_identifiers(question: str) -> tuple[Identifier, ...]:
    """Find the identifiers of a question, in order; none overlap.

    Any text will do; only its first few thousand characters are read. Where two kinds fit, the
    earlier in the table below wins: the tail of a URL is no ticket.
    """
    question = question[:MAX_SCANNED_CHARS]
    found: list[Identifier] = []
    for kind, pattern, normalise in _RULES:
        for match in pattern.finditer(question):
            group = "id" if match.groupdict().get("id") else 0
            start, end = match.span(group)
            text = match[group].rstrip(".,;:!?)'\"")
            normalised = normalise(text)
            free = all(end <= one.span[0] or start >= one.span[1] for one in found)
            if normalised and free:
                found.append(Identifier(kind, text, normalised, (start, start + len(text))))
    return tuple(sorted(found, key=lambda one: one.span))


def _lower(text: str) -> str | None:
    return text.lower()


def _as_written(text: str) -> str | None:
    return text


def _compact(text: str) -> str | None:
    return re.sub(r"[^0-9A-Za-z]", "", text).upper()


def _ticket(text: str) -> str | None:
    """Refuse what only looks like a ticket: COVID-19, vitamin B-12."""
    name = text.split("-", maxsplit=1)[0]
    return None if name.upper() in _NO_TICKETS else text.lower()


def _isbn(text: str) -> str | None:
    """Give ISBN-13 digits if the check digit is right (ISO 2108), None otherwise."""
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
    right = len(digits) == 13 and digits.isdigit() and digits[:3] in {"978", "979"}
    return digits if right and _ean_sum(digits) % 10 == 0 else None


def _ean_sum(digits: str) -> int:
    return sum(int(ch) * (3 if at % 2 else 1) for at, ch in enumerate(digits))


def _phone(text: str) -> str | None:
    """Give the digits of a phone number; None for dates, amounts and plain numbers."""
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
    """Give a booking or order number that has a digit in it."""
    compact = _compact(text) or ""
    return compact if len(compact) >= 4 and any(ch.isdigit() for ch in compact) else None


_NO_TICKETS = frozenset(("COVID", "SARS", "UTF", "ISO", "MP", "WW", "GCSE", "KEY", "YEAR", "PS"))
_DATE = re.compile(
    r"(?<![0-9])(?:[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}"
    r"|[0-9]{1,2}([-/. ])[0-9]{1,2}\2(?:19|20)[0-9]{2})(?![0-9])"
)
_RULES: tuple[tuple[IdentifierKind, re.Pattern[str], Callable[[str], str | None]], ...] = (
    ("url", re.compile(r"\b(?:https?://|www\.)[^\s<>\"'”’]{1,2000}", re.IGNORECASE), _lower),
    (
        "email",
        re.compile(
            r"(?<![\w.+-])[A-Za-z0-9](?:[\w.+-]{0,62}[\w+-])?@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}\b"
        ),
        _lower,
    ),
    ("isbn", re.compile(r"(?<![0-9-])(?:97[89][- ]?)?(?:[0-9][- ]?){9}[0-9Xx](?![0-9-])"), _isbn),
    (
        "reference",
        re.compile(
            r"\b(?:order|booking|reservation|confirmation|reference|tracking|invoice|policy|ticket"
            r"|account|membership|customer)\s*(?:number|code|no\.?|nr\.?|id|#)?\s*:?\s*#?"
            r"(?P<id>(?=[A-Za-z-]*[0-9])[A-Za-z0-9][A-Za-z0-9-]{3,40})\b(?![/.:][0-9])",
            re.IGNORECASE,
        ),
        _reference,
    ),
    ("issue", re.compile(r"(?<![\w#&/])#[0-9]{1,9}\b(?!-)"), _as_written),
    (
        "ticket",
        re.compile(r"(?<![\w-])[A-Z][A-Z0-9]{1,15}(?:-[A-Z]{2,10})?-[0-9]{1,7}(?![\w-])"),
        _ticket,
    ),
    (
        "path",
        re.compile(
            r"(?<![\w/:.])[A-Za-z_][\w.-]{0,80}:(?=[\w./-]*[./])[A-Za-z_.][\w.-]{0,80}(?:/[\w.-]{1,80}){0,20}"
        ),
        _as_written,
    ),
    (
        "phone",
        re.compile(
            r"(?<![\w.,/:€$£#-])(?<!(?i:isbn)[ :])(?:\+|\(\+?|00)?[0-9](?:[ ./()-]{0,2}[0-9]){6,17}"
            r"(?![\w:%€$£-]|[.,/][0-9])"
        ),
        _phone,
    ),
    (
        "licence_plate",
        re.compile(
            # A British plate, or any after the word.
            r"(?<![\w-])(?:[A-Z]{2}[0-9]{2} ?[A-Z]{3})(?![\w-])"
            r"|(?:(?:licen[cs]e|number)\s+plate|\bplate)\s+(?:is\s+|number\s+)?"
            r"(?P<id>(?=[A-Z -]*[0-9])[A-Z0-9]{1,4}(?:[ -]?[A-Z0-9]{1,4}){1,3})(?![\w-])"
        ),
        _compact,
    ),
)

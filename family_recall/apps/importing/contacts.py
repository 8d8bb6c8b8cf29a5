"""vCard files: each line of a contact is a draft of a fact."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from family_recall.apps.importing.drafts import (
    ContentKeys,
    Draft,
    LeftOut,
    Reading,
    ReadSettings,
    digest,
    distinct,
    library,
    visible,
)
from family_recall.apps.importing.limits import RAISE, Limits
from family_recall.errors import DatasetError

NO_NAME, NOBODY = "contacts without a name", "relations to contacts that are not in the file"
LONG_NAME = "contacts with a name of more than 1,000 characters"
UNREADABLE = "birthdays and anniversaries that are no date"

_WHAT = {"tel": "phone number", "email": "e-mail address", "adr": "address", "url": "web page"}
_DATES = {"bday": "birthday", "anniversary": "anniversary", "x-anniversary": "anniversary"}
_LABELS = {"cell": "mobile", "iphone": "mobile", "home": "home", "work": "work", "fax": "fax"}
_KINDS = (
    "spouse partner child parent sibling friend neighbour colleague mother father brother sister "
    "son daughter manager assistant"
)
_ROLES = {role: role for role in _KINDS.split()}
_ROLES |= {"co-worker": "colleague", "neighbor": "neighbour"}
_MAX_NAME_CHARS = 1_000
# What vobject reads, without its many ways to read the same parameters.
_LINE = re.compile(
    r"(?:[a-z0-9_-]+\.)?([a-z0-9_-]+);?(?:;[a-z0-9_-]+(?:[=,](?:\"[^\"]*\"|[^\";:,=]*+))*+)*+:",
    re.IGNORECASE,
)
_USED = set(
    "begin end version fn n org uid nickname title role note categories related".split()
) | {"x-abrelatednames", "x-ablabel", *_WHAT, *_DATES}
"""The lines that are read: photos and the like are passed over."""
_LINK = re.compile(r"[a-z]+:", re.IGNORECASE)
_DATE = re.compile(r"(?:(\d{4})|-)-?(\d{2})-?(\d{2})(?:T.*)?")
_NO_YEAR = 1604
"""Apple's year of a birthday without a year."""


def read_contacts(text: str, name: str, settings: ReadSettings) -> Reading:
    """Read a vCard file, version 2.1 to 4.0.

    Each phone number, address and so on is a fact. Its key is the contact's UID, or name, and its
    kind, so a changed number is a new version. RELATED also states a relation.
    """
    lines = _lines_of(text, name, settings.limits)
    begins = [line_no for line_no, line in lines if line[:11].upper() == "BEGIN:VCARD"]
    keys = ContentKeys()
    contacts = [
        _Contact(card, f"{name}:{line_no}", keys)
        for card, line_no in zip(_cards(lines, name), begins, strict=False)
    ]
    names = {contact.uid: contact.name for contact in contacts if contact.uid}
    return Reading.of((item for contact in contacts for item in contact.items(names)), settings)


def _lines_of(text: str, name: str, limits: Limits) -> list[tuple[int, str]]:
    """Return the lines that are used, with their numbers, unfolded.

    A line that begins with a space continues the one before, and so does any that follows one of
    quoted-printable which ends in ``=``.
    """
    if not re.match(r"\s*BEGIN:VCARD", text, re.IGNORECASE):
        raise DatasetError(f"{name}:1: expected BEGIN:VCARD, got {text.lstrip()[:60]!r}")
    limits.check_lines(text, name, folds=True)
    folded: list[tuple[int, list[str]]] = []
    is_quoted, is_new = False, True
    for line_no, physical in enumerate(text.split("\n"), 1):
        if not physical.strip():
            is_new = True
            continue
        if is_new or not (physical[0] in " \t" or (is_quoted and folded[-1][1][-1][-1:] == "=")):
            folded.append((line_no, [physical.lstrip(" \t") if is_new else physical]))
            is_quoted = "quoted-printable" in physical.lower()
        elif is_quoted and folded[-1][1][-1][-1:] == "=":
            folded[-1][1][-1] = folded[-1][1][-1][:-1]
            folded[-1][1].append(physical)
        else:
            folded[-1][1].append(physical[1:])
        is_new = False
    lines: list[tuple[int, str]] = []
    depth = 0
    for line_no, parts in folded:
        line = "".join(parts)
        match = _LINE.match(line)
        if match is None:
            raise DatasetError(
                f"{name}:{line_no}: expected vCard, got {line[:60]!r}; correct the line"
            )
        kind = match[1].casefold().replace("_", "-")
        depth += (kind == "begin") - (kind == "end")
        if depth > limits.depth:
            raise DatasetError(
                f"{name}:{line_no}: expected at most {limits.depth:,.0f} nested parts; {RAISE}"
            )
        if kind in _USED:
            is_quoted = "quoted-printable" in line[: match.end()].lower()
            lines.append((line_no, line.rstrip("=") if is_quoted else line))
    return lines


def _cards(lines: Sequence[tuple[int, str]], name: str) -> list[Any]:
    vobject = library("vobject")
    try:
        cards = list(vobject.readComponents("\n".join(line for _, line in lines), allowQP=True))
    except Exception as error:  # noqa: BLE001 -- a parser of foreign files raises many kinds
        at = min(max(getattr(error, "lineNumber", None) or 1, 1), len(lines))
        raise DatasetError(
            f"{name}:{lines[at - 1][0]}: expected vCard, got: {str(error)[:120]}; correct the line"
        ) from None
    return [card for card in cards if getattr(card, "name", "").upper() == "VCARD"]


class _Contact:
    """One contact."""

    def __init__(self, card: Any, where: str, keys: ContentKeys) -> None:
        self._card, self._where, self._keys = card, where, keys
        self.name = self.value("fn") or self._parts_of_name() or self.value("org")
        self.uid = self.value("uid")
        self._id = digest(self.name) if not self.uid else self.uid
        labels = self._lines("categories")[0].value if self._lines("categories") else []
        self._words = distinct(labels if isinstance(labels, list) else str(labels).split(","))
        self._labels = {
            line.group: _text(line.value).removeprefix("_$!<").removesuffix(">!$_").casefold()
            for line in reversed(self._lines("x-ablabel"))
        }

    def value(self, kind: str) -> str:
        """Return the first value of a property; empty where there is none."""
        return _text(self._lines(kind)[0].value) if self._lines(kind) else ""

    def items(self, names: Mapping[str, str]) -> Iterator[Draft | LeftOut]:
        """Yield the facts; ``names`` are the file's contacts by UID."""
        nick = self.value("nickname")
        is_long = max(len(self.name), len(self._id), len(nick)) > _MAX_NAME_CHARS
        if is_long or not self.name:  # it is part of each fact
            yield LeftOut(self._where, LONG_NAME if is_long else NO_NAME)
            return
        yield from self._facts(nick, names)

    def _facts(self, nick: str, names: Mapping[str, str]) -> Iterator[Draft | LeftOut]:
        is_other = nick and nick.casefold() != self.name.casefold()
        person = f"{self.name} ({nick})" if is_other else self.name
        for kind, noun in _WHAT.items():
            for line in self._lines(kind):
                what = " ".join(filter(None, (self._label(line, _LABELS), noun)))
                what = what.replace("fax phone number", "fax number")
                value = _text(line.value).removeprefix("tel:").removeprefix("mailto:")
                if value:
                    yield self._fact(what, value, f"The {what} of {person} is {value}.")
        for kind, what in _DATES.items():
            for line in self._lines(kind)[:1]:
                value = _date_in_words(_text(line.value))
                if value:
                    yield self._fact(what, value, f"The {what} of {person} is on {value}.")
                else:
                    yield LeftOut(self._where, UNREADABLE)
        work = self.value("org")
        role = self.value("title") or self.value("role")
        if (work and work != self.name) or role:
            value = ", ".join(filter(None, (role, work)))
            at, as_ = f" at {work}" if work else "", f" as {role}" if role else ""
            yield self._fact("work", value, f"{person} works{at}{as_}.")
        related = (*self._lines("related"), *self._lines("x-abrelatednames"))
        yield from (self._relation(line, names) for line in related)
        if note := self.value("note"):
            yield self._fact("note", "", f"About {person}: {note}")

    def _relation(self, line: Any, names: Mapping[str, str]) -> Draft | LeftOut:
        value = _text(line.value)
        other = names.get(value, "" if _LINK.match(value) else value)
        if not other or len(other) > _MAX_NAME_CHARS:
            return LeftOut(self._where, NOBODY)
        role = self._label(line, _ROLES)
        relation = f"{role} of" if role else "related to"
        sentence = f"{other} is {'the ' if role else ''}{relation} {self.name}."
        return self._fact(relation, "", sentence, (other, relation, self.name))

    def _fact(
        self, what: str, value: str, sentence: str, relation: tuple[str, str, str] | None = None
    ) -> Draft:
        """Return the draft of a fact; ``what`` is its kind."""
        fields: dict[str, object] = {
            "kind": "fact",
            "category": "family" if relation else "identity",
            "labels": self._words,
        }
        if value:
            fields["fact_key"] = "_".join(f"{self.name} {what}".casefold().split())[:1000]
            fields["fact_value"] = value[:1000]
        # Numbers of the same kind have keys by their order.
        key = self._keys.key(what, prefix=f"{self._id} ")
        return Draft(key, self._where, sentence, fields=fields, relation=relation)

    def _lines(self, kind: str) -> Sequence[Any]:
        lines: Sequence[Any] = self._card.contents.get(kind, ())
        return lines

    def _parts_of_name(self) -> str:
        parts = self._lines("n")[0].value if self._lines("n") else None
        return " ".join(_text(getattr(parts, part, "")) for part in ("given", "family")).strip()

    def _label(self, line: Any, words: Mapping[str, str]) -> str:
        """Return a line's label: its own, or the known ones of its types."""
        if line.group and line.group in self._labels:
            label = self._labels[line.group]
            return words.get(label, label)
        types = [*line.params.get("TYPE", ()), *line.singletonparams]
        names = [name.strip().casefold() for kinds in types for name in str(kinds).split(",")]
        return " ".join(dict.fromkeys(words[name] for name in names if name in words))


def _text(value: Any) -> str:
    """Return the text of a value; its parts may be lists."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        return " ".join(visible(value).split())
    if isinstance(value, Sequence):
        return ", ".join(filter(None, map(_text, value)))
    street = [getattr(value, part, "") for part in ("box", "extended", "street")]
    city = " ".join(filter(None, (_text(getattr(value, part, "")) for part in ("code", "city"))))
    rest = [getattr(value, part, "") for part in ("region", "country")]
    return ", ".join(filter(None, map(_text, (*street, city, *rest))))


def _date_in_words(value: str) -> str:
    """Return a date in words, with its year if it has one; empty where it is no date."""
    match = _DATE.fullmatch(value)
    if not match:
        return ""
    year = int(match[1]) if match[1] else _NO_YEAR
    try:
        day = dt.date(year, int(match[2]), int(match[3]))
    except ValueError:
        return ""
    return f"{day.day} {day:%B}" if year == _NO_YEAR else f"{day.day} {day:%B} {year}"

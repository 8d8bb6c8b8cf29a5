"""vCard files: each line of a contact is a draft of a fact."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import itertools
import quopri
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from family_recall.apps.importing.dates import is_plausible
from family_recall.apps.importing.drafts import (
    Draft,
    LeftOut,
    Reading,
    ReadSettings,
    digest,
    distinct,
    problem_of,
    visible,
)
from family_recall.apps.importing.limits import Limits
from family_recall.errors import DatasetError

NO_NAME, NOBODY = "contacts without a name", "relations to contacts that are not in the file"
LONG_NAME = "contacts with a name of more than 1,000 characters"
NO_TEXT = "contacts with a name that is no text"
UNREADABLE = "birthdays and anniversaries that are no date"
REPEATED, INNER = "contacts that are there twice", "contacts inside a contact"
BROKEN, UNENDED = "lines of contacts that are not understood", "contacts without an end"
ONLY_NAME = "contacts of which nothing but a name is told"
UNKNOWN_ROLE = "kinds of relations that are not known"

_WHAT = {"tel": "phone number", "email": "e-mail address", "adr": "address", "url": "web page"}
_DATES = {"bday": "birthday", "anniversary": "anniversary", "x-anniversary": "anniversary"}
_LABELS = {"cell": "mobile", "iphone": "mobile"}
_NO_LABELS = dict.fromkeys(
    "voice pref internet text video msg textphone x400 dom intl postal parcel other".split(), ""
)
_KINDS = (
    "spouse partner child parent sibling friend neighbour colleague mother father brother sister "
    "son daughter manager assistant acquaintance sweetheart"
)
_ROLES = {role: role for role in _KINDS.split()}
_ROLES |= {"co-worker": "colleague", "neighbor": "neighbour", "emergency": "emergency contact"}
_MAX_NAME_CHARS = 1_000
_LINE = re.compile(
    r"(?:(?P<group>[a-z0-9_-]+)\.)?(?P<kind>[a-z0-9_-]+)[ \t]*"
    r"(?P<params>(?:;(?:[^\":;]|\"[^\"]*\")*+)*+):(?P<value>.*)",
    re.IGNORECASE | re.DOTALL,
)
_PARAM = re.compile(r";((?:[^\";]|\"[^\"]*\")*+)")
_ONCE = {"fn", "n"}
_READ = set("org nickname title role note categories related x-abrelatednames x-ablabel".split())
_READ |= {*_ONCE, *_WHAT, *_DATES}
_SILENT = set("version prodid rev uid kind class sort-string x-abuid x-abadr x-abshowas".split())
"""Lines that say nothing of the contact."""

_NEXT_LINE = re.compile(
    rf"(?:[a-z0-9-]+\.)?(?:begin|end|{'|'.join(sorted(_READ))})[:;]", re.IGNORECASE
)
_ESCAPES = {r"\n": " ", r"\N": " ", r"\,": ",", r"\;": ";", r"\:": ":", r"\\": "\\"}
_LISTS = {"org": ";", "nickname": ",", "categories": ",", "adr": ";", "n": ";"}
_LINK = re.compile(r"[a-z]+:", re.IGNORECASE)
_DATE = re.compile(r"(?:(\d{4})|-)-?(\d{2})-?(\d{2})(?:[T ].*)?")
_NO_YEAR = 1604
"""Apple's year of a birthday without a year."""


def read_contacts(text: str, name: str, settings: ReadSettings) -> Reading:
    """Read a vCard file, version 2.1 to 4.0.

    Each phone number, address and so on is a fact. Its key is the contact's UID, or name, and its
    kind, so a changed number is a new version; one of several of a kind is named by its value, too.
    RELATED also states a relation.
    """
    if not re.search(r"^\s*BEGIN:VCARD\b", text, re.IGNORECASE | re.MULTILINE):
        raise DatasetError(f"{name}:1: expected BEGIN:VCARD, got {text.lstrip()[:60]!r}")

    def items() -> Iterator[Draft | LeftOut]:
        contacts: dict[str, _Contact] = {}
        for item in _contacts(text, name, settings.limits):
            if isinstance(item, LeftOut):
                yield item
            elif contacts.setdefault(item.content(), item) is not item:
                yield LeftOut(item.where, REPEATED)
        ids = Counter(contact.id for contact in contacts.values())
        names = Counter(contact.name.casefold() for contact in contacts.values())
        by_uid = {contact.uid: contact.name for contact in contacts.values() if contact.uid}
        for content, contact in contacts.items():
            if ids[contact.id] > 1:
                contact.id += f" {digest(content)}"
            yield from contact.items(by_uid, is_namesake=names[contact.name.casefold()] > 1)

    return Reading.of(items(), settings)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a contact; ``kind`` is its name in lower case, and ``parts`` what it lists."""

    where: str
    kind: str
    group: str
    params: Mapping[str, Sequence[str]]
    parts: Sequence[str]

    @classmethod
    def of(cls, line: str, where: str) -> _Line:
        """Parse an unfolded line; raise for one that is none, or in an unknown encoding."""
        match = _LINE.fullmatch(line)
        if match is None:
            raise DatasetError(f"{where}: expected vCard, got {line[:60]!r}; correct the line")
        params = defaultdict[str, list[str]](list)
        for param in _PARAM.findall(match["params"]):
            word, equals, values = param.strip().partition("=")
            bare = "encoding" if word.upper() in _ENCODINGS else "type"
            params[word.casefold().strip() if equals else bare] += [
                part.strip(' "') for part in (values if equals else word).split(",")
            ]
        kind = match["kind"].casefold().replace("_", "-")
        parts: Sequence[str] = ()
        if kind in _READ or kind == "uid":
            try:
                value = _decoded(match["value"], params)
            except (LookupError, ValueError, binascii.Error) as error:
                raise DatasetError(
                    f"{where}: expected an encoding that is known and kept to, got: {error}; "
                    "correct the line"
                ) from None
            parts = _parts(visible(value), _LISTS.get(kind, ""))
        return cls(where, kind, (match["group"] or "").casefold(), params, parts)

    def text(self) -> str:
        """Return the parts as one text."""
        parts = self.parts
        if self.kind == "adr" and len(parts) > 5:
            parts = (*parts[:3], f"{parts[5]} {parts[3]}".strip(), parts[4], *parts[6:])
        return ", ".join(filter(None, parts))

    def label(self, labels: Mapping[str, str], words: Mapping[str, str]) -> str:
        """Return the label among ``labels`` by group, or the types; each in other ``words``."""
        names = [name.casefold().removeprefix("x-") for name in self.params.get("type", ())]
        if self.group in labels:
            names = [labels[self.group]]
        return " ".join(distinct(words.get(name, _NO_LABELS.get(name, name)) for name in names))


_ENCODINGS = {"QUOTED-PRINTABLE", "BASE64", "B", "7BIT", "8BIT"}


def _decoded(value: str, params: Mapping[str, Sequence[str]]) -> str:
    """Return a value by its encoding and character set; raise for an unknown one."""
    raw = value.encode("utf-8", "surrogateescape")
    encoding = next(iter(params.get("encoding", ())), "8BIT").upper()
    charset = next(iter(params.get("charset", ())), "utf-8")
    if encoding not in _ENCODINGS:
        raise LookupError(encoding[:60])
    if encoding == "QUOTED-PRINTABLE":
        raw = quopri.decodestring(raw)
    elif encoding in {"BASE64", "B"}:
        raw = base64.b64decode(re.sub(rb"\s", b"", raw), validate=True)
    elif not re.search("[\udc80-\udcff]", value):  # whatever it says, the file is UTF-8
        return value
    return raw.decode(charset, "surrogateescape" if charset.casefold() == "utf-8" else "strict")


def _parts(value: str, separator: str) -> list[str]:
    """Return the parts of a value without its escapes; without a separator it is one."""
    parts = [""]
    for token in re.findall(r"\\.|[^\\;,]+|.", value, re.DOTALL):
        if token == separator:
            parts.append("")
        else:
            parts[-1] += _ESCAPES.get(token, token)
    return [" ".join(part.split()) for part in parts]


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) for each line, unfolded.

    A line that begins with a space continues the one before; so does any after one of
    quoted-printable which ends in ``=``, and what follows one of Base64 and names no property.
    """
    begin, parts, head = 0, [""], ""
    for line_no, physical in enumerate(text.split("\n"), 1):
        is_soft = "quoted-printable" in head and parts[-1].endswith("=")
        if begin and (
            physical[:1] in {" ", "\t"}
            or (is_soft and not _NEXT_LINE.match(physical))
            or (physical and ":" not in physical and re.search(r"encoding=b|;base64", head))
        ):
            if is_soft:
                parts[-1] = parts[-1][:-1]
            is_fold = not is_soft and physical[:1] in {" ", "\t"}
            parts.append(physical[1:] if is_fold else physical)
            continue
        if begin:
            yield begin, "".join(parts)
        begin = line_no if physical.strip() else 0
        parts, head = [physical.lstrip()], physical.partition(":")[0].lower()
    if begin:
        yield begin, "".join(parts)


def _contacts(text: str, name: str, limits: Limits) -> Iterator[_Contact | LeftOut]:
    """Yield each contact of a file, and what belongs to none."""
    limits.check_lines(text, name, folds=True)
    contact: _Contact | None = None
    depth = 0
    for line_no, line in _unfolded(text):
        where, word = f"{name}:{line_no}", line.strip().upper()
        if word == "BEGIN:VCARD" and contact is not None and (depth or contact.has_agent()):
            depth += 1
            yield LeftOut(where, INNER)
        elif depth:
            depth -= word == "END:VCARD"
        elif word == "BEGIN:VCARD" or (contact is not None and contact.is_next(word)):
            if contact is not None:
                problem = f"expected END:VCARD, got {word[:60]}; correct the contact before"
                yield LeftOut(where, UNENDED, problem)
                yield contact
            contact = _Contact(where)
        elif contact is None:
            problem = f"expected BEGIN:VCARD, got {line[:60]!r}; correct the line"
            yield LeftOut(where, BROKEN, problem)
        elif word == "END:VCARD":
            yield contact
            contact = None
        else:
            contact.add(line, where, name)
    if contact is not None:
        problem = "expected END:VCARD, got the end of the file; export it again"
        yield LeftOut(contact.cut() or contact.where, UNENDED, problem)
        yield contact


class _Contact:
    """One contact."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.id = self.name = self.uid = ""
        self._raw: list[str] = []
        self._all: list[_Line | LeftOut] = []

    def add(self, line: str, where: str, name: str) -> None:
        """Add a line."""
        self._raw.append(line)
        try:
            self._all.append(_Line.of(line, where))
        except DatasetError as error:
            self._all.append(LeftOut.because(error, name, BROKEN))

    def is_next(self, word: str) -> bool:
        """Whether a line in upper case is of the next contact, as another BEGIN or VERSION is."""
        is_version = [line.upper().startswith("VERSION:") for line in (*self._raw, word)]
        return word.startswith("BEGIN:") or (is_version[-1] and any(is_version[:-1]))

    def has_agent(self) -> bool:
        """Whether another contact, inside this one, may come next."""
        return bool(self._raw) and self._raw[-1].strip().upper() == "AGENT:"

    def cut(self) -> str:
        """Remove the last line, which may be a part of one; return its place."""
        self._raw[-1:] = []
        return self._all.pop().where if self._all else ""

    def content(self) -> str:
        """Return its lines; no line is added after this."""
        self.name = self._first("fn") or self._parts_of_name(1, 0) or self._first("org")
        self.uid = self._first("uid")
        self.id = self.uid or digest(self.name)
        return "\n".join(line for line in self._raw if not line.upper().startswith("REV"))

    def items(self, names: Mapping[str, str], *, is_namesake: bool) -> Iterator[Draft | LeftOut]:
        """Yield the facts.

        ``names`` are the file's contacts by UID; ``is_namesake`` says that others have its name.
        """
        nick = ", ".join(line.text() for line in self._lines("nickname"))
        if unnamed := self._without_name(nick):
            yield unnamed
            return
        seen = set[str]()
        for line in self._all:
            if isinstance(line, LeftOut):
                yield LeftOut(line.where, line.reason, line.problem, self.id)
            elif line.kind not in _READ | _SILENT or (line.kind in seen & _ONCE):
                yield LeftOut(line.where, f"lines {line.kind[:30].upper()}")
            else:
                seen.add(line.kind)
        other = nick if nick.casefold() != self.name.casefold() else ""
        if is_namesake:
            other = other or self._first("org")
        person = f"{self.name} ({other})" if other else self.name
        facts = [
            fact for fact in self._facts(person, names) if isinstance(fact, LeftOut) or fact.which
        ]
        n_values = Counter(what for what, _ in {
            (fact.what, fact.which) for fact in facts if isinstance(fact, _Fact)
        })  # fmt: skip
        labels = distinct(word for line in self._lines("categories") for word in line.parts)
        owner = f"{self.name} {digest(self.id)}" if is_namesake else self.name
        if not facts:
            yield LeftOut(self.where, ONLY_NAME)
        for fact in facts:
            if isinstance(fact, LeftOut):
                yield fact
                continue
            # One of several is named by its value, so that none is a new version of another.
            which = (fact.which,) if n_values[fact.what] > 1 else ()
            fields: dict[str, object] = {
                "kind": "fact",
                "category": "family" if fact.relation else "identity",
                "labels": labels,
            }
            if fact.has_value:
                words = " ".join((owner, fact.what, *which))
                fields["fact_key"] = "_".join(words.casefold().split())[:1000]
                fields["fact_value"] = fact.which[:1000]
            key = f"{self.id} {digest(fact.what, *which)}"
            yield Draft(key, fact.where, fact.text, fields=fields, relation=fact.relation)

    def _without_name(self, nick: str) -> LeftOut | None:
        """Return why no fact can be told of the contact: its name is part of each."""
        if max(len(self.name), len(self.id), len(nick)) > _MAX_NAME_CHARS:
            return LeftOut(self.where, LONG_NAME)
        if problem := problem_of(self.name + nick):
            return LeftOut(self.where, NO_TEXT, problem, self.id)
        return None if self.name else LeftOut(self.where, NO_NAME)

    def _facts(self, person: str, names: Mapping[str, str]) -> Iterator[_Fact | LeftOut]:
        labels = {
            line.group: line.text().removeprefix("_$!<").removesuffix(">!$_").casefold()
            for line in reversed(self._lines("x-ablabel"))
        }
        for kind, noun in _WHAT.items():
            for line in self._lines(kind):
                what = " ".join(filter(None, (line.label(labels, _LABELS), noun)))
                what = what.replace("fax phone number", "fax number")
                value = line.text().removeprefix("tel:").removeprefix("mailto:")
                yield _Fact(line.where, what, value, f"The {what} of {person} is {value}.")
        for kind, what in _DATES.items():
            for line in self._lines(kind):
                value = _date_in_words(line.text())
                if value or not line.text():
                    yield _Fact(line.where, what, value, f"The {what} of {person} is on {value}.")
                else:
                    problem = (
                        f"expected a date such as 1990-03-12 or --03-12, got {line.text()[:60]!r}"
                    )
                    yield LeftOut(line.where, UNREADABLE, problem, self.id)
        full_name = self._parts_of_name(3, 1, 2, 0, 4)
        if self._first("fn") and not _words(self._parts_of_name(1, 2, 0)) <= _words(self.name):
            line = self._lines("n")[0]
            yield _Fact(
                line.where, "full name", full_name, f"The full name of {person} is {full_name}."
            )
        kinds = [self._lines(kind) for kind in ("org", "title", "role")]
        for lines in itertools.zip_longest(*kinds):
            org, *roles = (line.text() if line else "" for line in lines)
            role = ", ".join(distinct(roles))
            work = "" if org == self.name else org
            at, as_ = f" at {org}" if org else "", f" as {role}" if role else ""
            value = ", ".join(filter(None, (role, org))) if work or role else ""
            where = next(line.where for line in lines if line)
            yield _Fact(where, "work", value, f"{person} works{at}{as_}.")
        for line in (*self._lines("related"), *self._lines("x-abrelatednames")):
            yield from self._relation(line, labels, names)
        for line in self._lines("note"):
            note = line.text()
            yield _Fact(line.where, "note", note, f"About {person}: {note}", has_value=False)

    def _relation(
        self, line: _Line, labels: Mapping[str, str], names: Mapping[str, str]
    ) -> Iterator[_Fact | LeftOut]:
        value = line.text()
        other = names.get(value, "" if _LINK.match(value) else value)
        if not other or len(other) > _MAX_NAME_CHARS:
            yield LeftOut(line.where, NOBODY)
            return
        label = line.label(labels, _ROLES)
        role = label if line.group in labels or label in _ROLES.values() else ""
        if label and not role:
            yield LeftOut(line.where, UNKNOWN_ROLE)
        relation = f"{role} of" if role else "related to"
        text = f"{other} is {'the ' if role else ''}{relation} {self.name}."
        triple = (other, relation, self.name)
        yield _Fact(line.where, relation, other, text, has_value=False, relation=triple)

    def _lines(self, kind: str) -> list[_Line]:
        return [line for line in self._all if isinstance(line, _Line) and line.kind == kind]

    def _first(self, kind: str) -> str:
        return next((line.text() for line in self._lines(kind)), "")

    def _parts_of_name(self, *order: int) -> str:
        """Return parts of N: 0 is the family name, 1 the given one, 2 more, 3 and 4 titles."""
        parts = next((line.parts for line in self._lines("n")), ())
        return " ".join(parts[at] for at in order if at < len(parts) and parts[at])


@dataclass(frozen=True, slots=True)
class _Fact:
    """A fact of a contact: ``what`` is its kind, and ``which`` tells it from others of the kind."""

    where: str
    what: str
    which: str
    text: str
    has_value: bool = True
    relation: tuple[str, str, str] | None = None


def _words(name: str) -> set[str]:
    return set(re.findall(r"\w+", name.casefold()))


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
    if year == _NO_YEAR:
        return f"{day.day} {day:%B}"
    return f"{day.day} {day:%B} {year}" if is_plausible(day) else ""

"""vCard files: what each contact states, a fact a line."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from family_recall.errors import DatasetError

NO_NAME, NOBODY = "contacts without a name", "relations to contacts that are not in the file"
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
_BEGIN = re.compile(r"^BEGIN:VCARD", re.MULTILINE | re.IGNORECASE)
_LINK = re.compile(r"[a-z]+:", re.IGNORECASE)
_LABEL = re.compile(r"_\$!<(.*)>!\$_")
_DATE = re.compile(r"(?:(\d{4})|-)-?(\d{2})-?(\d{2})(?:T.*)?")
_NO_YEAR = 1604
"""The year that Apple writes where a birthday has none."""


@dataclass(frozen=True, slots=True)
class _Fact:
    """What it is about a contact, its value, and both in a sentence."""

    what: str
    value: str
    sentence: str
    relation: tuple[str, str, str] | None = None


def read_contacts(text: str, name: str, settings: ReadSettings) -> Reading:
    """Read a vCard file, version 2.1 to 4.0.

    Each phone number, address and so on is a fact, under the contact's UID, or its name, and what
    it is: a number that changes is a new version of the same. RELATED states a relation, too.
    """
    del settings
    cards = _cards(text, name)
    names = {uid: _name_of(card) for card in cards if (uid := _value(card, "uid"))}
    begins = [match.start() for match in _BEGIN.finditer(text)]

    def items() -> Iterator[Draft | LeftOut]:
        keys = ContentKeys()
        for card, at in zip(cards, begins, strict=False):
            where = f"{name}:{text.count(chr(10), 0, at) + 1}"
            if not _name_of(card):
                yield LeftOut(where, NO_NAME)
                continue
            uid = _value(card, "uid") or digest(_name_of(card))
            for fact in _facts(card, names, where):
                if isinstance(fact, LeftOut):
                    yield fact
                else:
                    # Two numbers of one kind are told apart by their order.
                    yield _draft(keys.key(fact.what, prefix=f"{uid} "), card, fact, where)

    return Reading.of(items())


def _cards(text: str, name: str) -> list[Any]:
    vobject = library("vobject")
    n_lines = text.count("\n") + 1
    if not re.match(r"\s*BEGIN:VCARD", text, re.IGNORECASE):
        raise DatasetError(f"{name}:1: expected BEGIN:VCARD, got {text.lstrip()[:60]!r}")
    try:
        cards = list(vobject.readComponents(text, allowQP=True))
    except Exception as error:  # noqa: BLE001 -- a parser of foreign files raises many kinds
        line_no = min(max(getattr(error, "lineNumber", None) or 1, 1), n_lines)
        raise DatasetError(
            f"{name}:{line_no}: expected vCard, got: {str(error)[:120]}; correct the line"
        ) from None
    return [card for card in cards if getattr(card, "name", "").upper() == "VCARD"]


def _facts(card: Any, names: Mapping[str, str], where: str) -> Iterator[_Fact | LeftOut]:
    """Yield everything that a card states."""
    name = _name_of(card)
    nick = _value(card, "nickname")
    person = f"{name} ({nick})" if nick and nick.casefold() != name.casefold() else name
    for kind, noun in _WHAT.items():
        for line in card.contents.get(kind, ()):
            what = " ".join(filter(None, (_label(card, line, _LABELS), noun)))
            what = what.replace("fax phone number", "fax number")
            value = _text(line.value).removeprefix("tel:").removeprefix("mailto:")
            if value:
                yield _Fact(what, value, f"The {what} of {person} is {value}.")
    for kind, what in _DATES.items():
        for line in card.contents.get(kind, ())[:1]:
            value = _date_in_words(_text(line.value))
            if value:
                yield _Fact(what, value, f"The {what} of {person} is on {value}.")
            else:
                yield LeftOut(where, UNREADABLE)
    work = _value(card, "org")
    role = _value(card, "title") or _value(card, "role")
    if (work and work != name) or role:
        at, as_ = f" at {work}" if work else "", f" as {role}" if role else ""
        yield _Fact("work", ", ".join(filter(None, (role, work))), f"{person} works{at}{as_}.")
    yield from _relations(card, names, where)
    if note := _value(card, "note"):
        yield _Fact("note", "", f"About {person}: {note}")


def _relations(card: Any, names: Mapping[str, str], where: str) -> Iterator[_Fact | LeftOut]:
    name = _name_of(card)
    for line in (*card.contents.get("related", ()), *card.contents.get("x-abrelatednames", ())):
        value = _text(line.value)
        other = names.get(value, "" if _LINK.match(value) else value)
        if not other:
            yield LeftOut(where, NOBODY)
            continue
        role = _label(card, line, _ROLES)
        relation = f"{role} of" if role else "related to"
        words = f"the {relation}" if role else relation
        yield _Fact(
            relation, other, f"{other} is {words} {name}.", relation=(other, relation, name)
        )


def _draft(key: str, card: Any, fact: _Fact, where: str) -> Draft:
    labels = card.contents["categories"][0].value if "categories" in card.contents else []
    fields: dict[str, object] = {
        "kind": "fact",
        "category": "family" if fact.relation else "identity",
        "labels": distinct(labels if isinstance(labels, list) else str(labels).split(",")),
    }
    if fact.value and not fact.relation:
        key_words = f"{_name_of(card)} {fact.what}".casefold().split()
        fields["fact_key"] = "_".join(key_words)[:1000]
        fields["fact_value"] = fact.value[:1000]
    return Draft(key, where, fact.sentence, fields=fields, relation=fact.relation)


def _label(card: Any, line: Any, words: Mapping[str, str]) -> str:
    """Return what a line is called: by its own label, or its types, as far as they say much."""
    if line.group:
        for label in card.contents.get("x-ablabel", ()):
            if label.group == line.group:
                own = _LABEL.sub(r"\1", _text(label.value)).casefold()
                return words.get(own, own)
    types = [*line.params.get("TYPE", ()), *line.singletonparams]
    names = [name.strip().casefold() for kinds in types for name in str(kinds).split(",")]
    return " ".join(dict.fromkeys(words[name] for name in names if name in words))


def _name_of(card: Any) -> str:
    """Return a contact's name: as written, of its parts, or of its organisation."""
    if name := _value(card, "fn"):
        return name
    if "n" in card.contents:
        parts = card.contents["n"][0].value
        name = " ".join(_text(getattr(parts, part, "")) for part in ("given", "family")).strip()
    return name or (_text(card.contents["org"][0].value) if "org" in card.contents else "")


def _value(card: Any, name: str) -> str:
    return _text(card.contents[name][0].value) if name in card.contents else ""


def _text(value: Any) -> str:
    """Return the words of a value, whose parts may be lists of lines."""
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
    """Return a date in words, without its year where it has none; empty where it is no date."""
    match = _DATE.fullmatch(value)
    if not match:
        return ""
    year = int(match[1]) if match[1] else _NO_YEAR
    try:
        day = dt.date(year, int(match[2]), int(match[3]))
    except ValueError:
        return ""
    return f"{day.day} {day:%B}" if year == _NO_YEAR else f"{day.day} {day:%B} {year}"

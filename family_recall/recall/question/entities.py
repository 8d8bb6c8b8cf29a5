"""Resolve the people and things a question names to the entities in scope."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from family_recall.english.kinship import may_name_kin
from family_recall.english.relations import ASKER_WORDS
from family_recall.english.text import (
    LONGEST_NAME,
    MAX_QUESTION_CHARS,
    names_among,
    normalise,
    words_in,
)
from family_recall.recall.question.kin_phrases import KinPhrases, Phrase
from family_recall.recall.question.kinship import names_of
from family_recall.recall.question.misspellings import URL_WORDS, misspelt_names
from family_recall.store.graph import Entity
from family_recall.store.relations import StoredRelation
from family_recall.store.snapshot import Snapshot
from family_recall.types import Scope

_POSSESSIVE = re.compile(r"['’]s?$")
_ADDRESS = re.compile(r"\w[@./_]+\w")
_SIGN = re.compile(r"[@./_]")
_SCHEME = re.compile(r"^(?:(?:https?|mailto) )?(?:www )?")
_SCHEMES = ("", "www ", "https ", "http ", "https www ", "http www ")
_MAX_ADDRESS_CHARS = 1000
_Address = tuple[tuple[int, int], tuple[str, ...]]
"""The span of an address in a text, and the forms it may be known in."""


class Mention(NamedTuple):
    """Words of a question, normalised, and the entities they mean.

    Where they name relatives by a role, *my wife*, ``role`` is its noun and ``relations`` lead
    there.
    """

    words: str
    entities: tuple[Entity, ...]
    role: str = ""
    relations: tuple[StoredRelation, ...] = ()


class Resolution(NamedTuple):
    """Everything a question names.

    ``asker`` are the entities of the person who asks. ``relatives`` are the names of the people
    that it calls by what they are to somebody, and ``searched`` is the question with those names
    in place of the words for them; empty if there are none.
    """

    mentions: tuple[Mention, ...] = ()
    asker: tuple[Entity, ...] = ()
    asker_is_named: bool = False
    relatives: tuple[str, ...] = ()
    searched: str = ""

    @property
    def entities(self) -> tuple[Entity, ...]:
        """The entities it names, the asker last, each once."""
        named = [entity for mention in self.mentions for entity in mention.entities]
        return tuple(dict.fromkeys((*named, *(self.asker if self.asker_is_named else ()))))

    @property
    def names(self) -> tuple[str, ...]:
        """The normalised words that name them."""
        return tuple(mention.words for mention in self.mentions)


def resolve(
    question: str, scope: Scope, snapshot: Snapshot, *, counted_next: Sequence[str] = ()
) -> Resolution:
    """Resolve the people and things a question names, inside the visible partitions only.

    *I*, *my* and *we* mean the asker. *My wife* and *Priya's brother* mean the people that
    relations in scope lead to, and just *my* and *Priya* if they lead to nobody. An unknown word
    means the only name it could be a misspelling of.

    Args:
        question: Any text; of a long one only the beginning is read.
        scope: What the asker may see.
        snapshot: The file.
        counted_next: Stems that are counted soon, so that one look-up counts them with others.
    """
    text = unicodedata.normalize("NFKC", question[:MAX_QUESTION_CHARS])
    words, plain = words_in(text)
    # One character can become eighteen, of which the first are searched for names.
    all_plain = plain if len(text) <= MAX_QUESTION_CHARS else normalise(text).split(" ")
    known: dict[str, list[Entity]] = {}
    for alias, entity in snapshot.entities_in(plain, scope):
        if alias.count(" ") < LONGEST_NAME:
            known.setdefault(alias, []).append(entity)
    myself = snapshot.asker(scope)
    parts: list[str | Phrase] = [text]
    if _SIGN.search(text):
        parts = _cut(text, _known_addresses(text, known, scope, snapshot))
    for name in URL_WORDS:
        known.pop(name, None)
    if may_name_kin(all_plain):
        kin = KinPhrases(known, myself, scope, snapshot)
        parts = [
            piece
            for part in parts
            for piece in (_cut(part, kin.find(part)) if isinstance(part, str) else [part])
        ]
    beginnings = {name.split(" ", maxsplit=1)[0] for name in known}
    mentions: list[Mention] = []
    rest: list[str | None] = []
    for written, phrase in _pieces(text, parts):
        if phrase is None or (phrase.possible and not phrase.entities):
            rest.append(written)
            own_words = (words, plain) if written == text else words_in(written)
            names = names_among(*own_words, known, beginnings)
            mentions += [Mention(name, tuple(known[name])) for name in names]
        else:
            rest.append(None)
            mention = Mention(phrase.words, phrase.entities, phrase.role, phrase.relations)
            mentions += [mention] if phrase.entities else []
    names = [mention.words for mention in mentions]
    for word, meant in misspelt_names(rest, known, names, scope, snapshot, counted_next):
        mentions.append(Mention(word, tuple(meant)))
    is_named = any(
        not ASKER_WORDS.isdisjoint(all_plain if part == text else normalise(part).split(" "))
        for part in rest
        if part is not None
    )
    resolution = Resolution(tuple(mentions), tuple(myself), is_named)
    if len(parts) == 1:
        return resolution
    relatives, searched = _searched(text, parts)
    return resolution._replace(relatives=relatives, searched=searched)


def _searched(text: str, parts: Sequence[str | Phrase]) -> tuple[tuple[str, ...], str]:
    """Return the names of the relatives a text speaks of, and the text with those names."""
    relatives: list[str] = []
    searched = ""
    for written, phrase in _pieces(text, parts):
        own_names = names_of(phrase.those_meant) if phrase is not None and phrase.role else ()
        relatives += own_names
        ending = _POSSESSIVE.search(written)
        replaced = " ".join(own_names) + (ending.group() if ending else "")
        searched += replaced if own_names else written
    return tuple(dict.fromkeys(relatives)), searched if relatives else ""


def _pieces(text: str, parts: Sequence[str | Phrase]) -> Iterator[tuple[str, Phrase | None]]:
    """Yield each part of a text as it is written, with the phrase that it is, if any."""
    at = 0
    for part in parts:
        start = at
        at += len(part) if isinstance(part, str) else part.end - part.start
        yield text[start:at], part if isinstance(part, Phrase) else None


def _known_addresses(
    text: str, known: dict[str, list[Entity]], scope: Scope, snapshot: Snapshot
) -> list[Phrase]:
    """Find the known e-mail addresses, handles and URLs in a text, and add them to the known."""
    addresses = list(_addresses(text))
    unknown = dict.fromkeys(f for _, forms in addresses for f in forms if f not in known)
    for alias, entity in snapshot.entities(list(unknown), scope):
        known.setdefault(alias, []).append(entity)
    phrases = []
    for (start, end), forms in addresses:
        form = next((form for form in forms if form in known), None)
        if form is not None:
            phrases.append(Phrase(start, end, forms[0], tuple(known[form])))
    return phrases


def _addresses(text: str) -> Iterator[_Address]:
    """Yield what looks like an address."""
    for match in re.finditer(r"\S+", text):
        written = match.group()
        if len(written) > _MAX_ADDRESS_CHARS or not _ADDRESS.search(written):
            continue
        plain = normalise(written)
        bare = _SCHEME.sub("", plain)
        forms = () if "@" in written else tuple(f"{scheme}{bare}" for scheme in _SCHEMES)
        yield match.span(), tuple(dict.fromkeys((plain, bare, *forms)))


def _cut(text: str, phrases: Sequence[Phrase]) -> list[str | Phrase]:
    """Cut a text into its phrases, in order, and the texts between them."""
    parts: list[str | Phrase] = []
    at = 0
    for phrase in phrases:
        parts += [text[at : phrase.start], phrase]
        at = phrase.end
    return [*parts, text[at:]]

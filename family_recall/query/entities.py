"""Resolve the people and things a question names to the entities in scope."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from family_recall.query.kinship import MAX_STEPS, Relatives, is_one, relatives
from family_recall.query.kinship_terms import KINSHIP_ROLES, LONGEST_ROLE, TITLES
from family_recall.query.misspellings import URL_WORDS, misspelt_names
from family_recall.query.text import (
    LONGEST_NAME,
    MAX_QUESTION_CHARS,
    STOP_WORDS,
    names_in,
    normalise,
    possible_names,
)
from family_recall.stores.read.snapshot import Snapshot
from family_recall.stores.records import Entity, StoredRelation
from family_recall.types import Scope

MAX_RELATIONS = 5
"""Relations between the named entities that an answer lists."""

ASKER_WORDS = frozenset({"i", "me", "my", "mine", "myself", "we", "us", "our"})
"""Words by which the asker names themselves."""
_OURS = frozenset({"my", "our"})
_ADJECTIVES = frozenset(
    "little big older elder younger oldest eldest youngest dear lovely baby twin own".split()
)
"""Words that may stand between *my* and *sister*."""
_NOT_THE_ASKERS = frozenset(
    """
    a an the this that these those his her their your whose every each some any no another
    great step foster ex former future late half
    """.split()
)
"""Words after which *grandma* is not the asker's own."""
_FIRST_ROLE_WORDS = frozenset(noun.split(" ", maxsplit=1)[0] for noun in KINSHIP_ROLES)
_MAX_ROLES = 8
"""Roles of one question that are looked up."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ADDRESS = re.compile(r"\w[@./_]+\w")
_SCHEME = re.compile(r"^(?:(?:https?|mailto) )?(?:www )?")
_SCHEMES = ("", "www ", "https ", "http ", "https www ", "http www ")
_MAX_ADDRESS_CHARS = 1000


def relations_between(
    entities: Sequence[Entity], scope: Scope, snapshot: Snapshot
) -> tuple[tuple[str, str, str], ...]:
    """Return (subject, relation, object) among some entities, the most confident first."""
    ids = {entity.id for entity in entities}
    if len(ids) < 2:
        return ()
    relations = [
        relation
        for relation in snapshot.relations(sorted(ids), scope)
        if {relation.subject.id, relation.object.id} <= ids
    ]
    relations.sort(key=lambda r: (-r.confidence, r.subject.name, r.relation, r.object.name))
    triples = [(r.subject.name, r.relation, r.object.name) for r in relations]
    return tuple(dict.fromkeys(triples))[:MAX_RELATIONS]


@dataclass(frozen=True, slots=True)
class Mention:
    """Words of a question, normalised, and the entities they mean.

    Where they name relatives by a role, *my wife*, ``role`` is its noun and ``relations`` lead
    there.
    """

    words: str
    entities: tuple[Entity, ...]
    role: str = ""
    relations: tuple[StoredRelation, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    """Everything a question names; ``asker`` are the entities of the person who asks."""

    mentions: tuple[Mention, ...] = ()
    asker: tuple[Entity, ...] = ()
    asker_is_named: bool = False

    @property
    def entities(self) -> tuple[Entity, ...]:
        """The entities it names, the asker last, each once."""
        named = [entity for mention in self.mentions for entity in mention.entities]
        return tuple(dict.fromkeys((*named, *(self.asker if self.asker_is_named else ()))))

    @property
    def names(self) -> tuple[str, ...]:
        """The normalised words that name them."""
        return tuple(mention.words for mention in self.mentions)


def resolve(question: str, scope: Scope, snapshot: Snapshot) -> Resolution:
    """Resolve the people and things a question names, inside the visible partitions only.

    *I*, *my* and *we* mean the asker. *My wife* and *Priya's brother* mean the people that
    relations in scope lead to, and just *my* and *Priya* if they lead to nobody. An unknown word
    means the only name it could be a misspelling of.
    """
    text = unicodedata.normalize("NFKC", question[:MAX_QUESTION_CHARS])
    candidates = dict.fromkeys(possible_names(text))
    candidates.update((form, None) for _, forms in _addresses(text) for form in forms)
    asker = None if scope.person_id is None else f"@{scope.person_id}"
    known: dict[str, list[Entity]] = {}
    for alias, entity in snapshot.entities([*candidates, *([asker] if asker else [])], scope):
        known.setdefault(alias, []).append(entity)
    myself = known.pop(asker, []) if asker else []
    resolver = _Resolver(known, myself, scope, snapshot)

    parts = _cut(text, resolver.addresses(text))
    for name in URL_WORDS:
        known.pop(name, None)
    parts = [
        piece
        for part in parts
        for piece in (_cut(part, resolver.relatives(part)) if isinstance(part, str) else [part])
    ]
    mentions: list[Mention] = []
    for part in parts:
        if not isinstance(part, _Phrase):
            mentions += [Mention(name, tuple(known[name])) for name in names_in(part, known)]
        elif part.entities:
            mentions.append(Mention(part.words, part.entities, part.role, part.relations))
    rest = [part if isinstance(part, str) else None for part in parts]
    names = [mention.words for mention in mentions]
    for word, meant in misspelt_names(rest, known, names, scope, snapshot):
        mentions.append(Mention(word, tuple(meant)))
    is_named = any(
        ASKER_WORDS.intersection(normalise(part).split(" ")) for part in rest if part is not None
    )
    return Resolution(tuple(mentions), tuple(myself), is_named)


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A stretch of a text that as a whole means some entities, or on purpose none.

    ``steps`` counts the relations that were composed to find them.
    """

    start: int
    end: int
    words: str
    entities: tuple[Entity, ...] = ()
    steps: int = 0
    role: str = ""
    relations: tuple[StoredRelation, ...] = ()


@dataclass(frozen=True, slots=True)
class _Word:
    """One word of a text: as written, normalised, where, and whether it is a possessive."""

    text: str
    plain: str
    start: int
    end: int
    is_possessive: bool


class _Resolver:
    """Resolves addresses and kinship phrases of one question against the names it holds."""

    def __init__(
        self,
        known: Mapping[str, Sequence[Entity]],
        myself: Sequence[Entity],
        scope: Scope,
        snapshot: Snapshot,
    ) -> None:
        self._known = known
        self._myself = myself
        self._scope = scope
        self._snapshot = snapshot
        self._relatives_of: dict[tuple[Sequence[Entity], str, int], Relatives] = {}

    def addresses(self, text: str) -> list[_Phrase]:
        """Find the known e-mail addresses, handles and URLs of a text."""
        phrases = []
        for (start, end), forms in _addresses(text):
            form = next((form for form in forms if form in self._known), None)
            if form is not None:
                phrases.append(_Phrase(start, end, forms[0], tuple(self._known[form])))
        return phrases

    def relatives(self, text: str) -> list[_Phrase]:
        """Find the phrases that name people by their role to somebody."""
        phrases: list[_Phrase] = []
        if _FIRST_ROLE_WORDS.isdisjoint(normalise(text).split(" ")):
            return phrases
        words = _words(text)
        at = 0
        while at < len(words):
            is_role = words[at].plain in _FIRST_ROLE_WORDS
            noun = _longest(words[at : at + LONGEST_ROLE], KINSHIP_ROLES) if is_role else ""
            n = len(noun.split(" ")) if noun else 1
            phrase = self._relative(text, words, at, n, noun, phrases) if noun else None
            if phrase is not None:
                while phrases and phrases[-1].end > phrase.start:
                    phrases.pop()
                phrases.append(phrase)
            at += n
        return phrases

    def _relative(
        self,
        text: str,
        words: Sequence[_Word],
        at: int,
        n: int,
        noun: str,
        phrases: Sequence[_Phrase],
    ) -> _Phrase | None:
        """Resolve one role: its owner stands before it, or it has none."""
        name = _longest(words[at : at + LONGEST_NAME], self._known)
        if len(name.split(" ")) > n:
            return None
        end = words[at + n - 1].end
        nobody = _Phrase(words[at].start, end, noun)
        before = at - 1 - (at > 0 and words[at - 1].plain in _ADJECTIVES)
        owner = words[before] if before >= 0 else None
        whose, start, steps = self._myself, words[at].start, 0
        path: tuple[StoredRelation, ...] = ()
        if owner is not None and owner.plain in _OURS:
            start = owner.start
        elif owner is not None and owner.is_possessive and owner.plain not in STOP_WORDS:
            if phrases and phrases[-1].end == owner.end:
                previous = phrases[-1]
                if not previous.entities:
                    return nobody
                whose, start, steps = previous.entities, previous.start, previous.steps
                path = previous.relations
            else:
                owner_name = self._name_ending(text, words, before)
                if not owner_name:
                    return nobody if owner.text[0].isupper() else None
                whose = self._known[owner_name]
                start = words[before - owner_name.count(" ")].start
        elif noun not in TITLES or name or (owner is not None and owner.plain in _NOT_THE_ASKERS):
            return None
        if not words[at + n - 1].is_possessive and self._name_follows(text, words, at + n):
            return _Phrase(start, end, noun)
        matches = self._relatives(whose, noun, MAX_STEPS - steps)
        if matches.entities:
            phrase = normalise(text[start:end])
            path = (*path, *matches.relations)
            steps += matches.steps
            return _Phrase(start, end, phrase, matches.entities, steps, noun, path)
        # In the question of a person who is called Dad, *my dad* is not himself.
        is_owner = name and whose and is_one([*self._known[name], *whose])
        return nobody if is_owner else None

    def _name_ending(self, text: str, words: Sequence[_Word], last: int) -> str:
        """Return the longest known name that ends at a word, or an empty text."""
        for first in range(max(0, last - LONGEST_NAME + 1), last + 1):
            written = text[words[first].start : words[last].end]
            name = " ".join(word.plain for word in words[first : last + 1])
            if name in self._known and names_in(written, {name}):
                return name
        return ""

    def _name_follows(self, text: str, words: Sequence[_Word], at: int) -> bool:
        """Whether the very next word begins a known name, as in *my brother Vikram*."""
        if at >= len(words) or not text[words[at - 1].end : words[at].start].isspace():
            return False
        name = _longest(words[at : at + LONGEST_NAME], self._known)
        written = " ".join(word.text for word in words[at : at + len(name.split(" "))])
        return bool(name) and bool(names_in(written, {name})) and words[at].text[0].isupper()

    def _relatives(self, whose: Sequence[Entity], noun: str, max_steps: int) -> Relatives:
        key = (tuple(whose), noun, max_steps)
        if key not in self._relatives_of:
            if not whose or max_steps < 1 or len(self._relatives_of) >= _MAX_ROLES:
                return Relatives()
            self._relatives_of[key] = relatives(
                whose, KINSHIP_ROLES[noun], self._scope, self._snapshot, max_steps=max_steps
            )
        return self._relatives_of[key]


def _addresses(text: str) -> Iterator[tuple[tuple[int, int], tuple[str, ...]]]:
    """Yield what looks like an address: its span, and the forms it may be known in."""
    for match in re.finditer(r"\S+", text):
        written = match.group()
        if len(written) > _MAX_ADDRESS_CHARS or not _ADDRESS.search(written):
            continue
        plain = normalise(written)
        bare = _SCHEME.sub("", plain)
        forms = () if "@" in written else tuple(f"{scheme}{bare}" for scheme in _SCHEMES)
        yield match.span(), tuple(dict.fromkeys((plain, bare, *forms)))


def _cut(text: str, phrases: Sequence[_Phrase]) -> list[str | _Phrase]:
    """Cut a text into its phrases, in order, and the texts between them."""
    parts: list[str | _Phrase] = []
    at = 0
    for phrase in phrases:
        parts += [text[at : phrase.start], phrase]
        at = phrase.end
    return [*parts, text[at:]]


def _words(text: str) -> list[_Word]:
    return [
        _Word(
            match.group(),
            normalise(match.group()),
            *match.span(),
            is_possessive=match.group()[-2:] in {"'s", "’s"}
            or text[match.end() :][:1] in {"'", "’"},
        )
        for match in _WORD.finditer(text)
    ]


def _longest(words: Sequence[_Word], known: Container[str]) -> str:
    """Return the longest known name that begins at the first word, or an empty text."""
    for n in range(len(words), 0, -1):
        name = " ".join(word.plain for word in words[:n])
        if name in known:
            return name
    return ""

"""Entities: a question in, the people and things it names out, as the scope knows them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from family_recall.query.kinship import (
    LONGEST_ROLE,
    MAX_STEPS,
    ROLES,
    TITLES,
    Relatives,
    is_one,
    relatives,
)
from family_recall.query.text import (
    LONGEST_NAME,
    MAX_QUESTION_CHARS,
    STOP_WORDS,
    names_in,
    normalise,
    possible_names,
)
from family_recall.stores.records import Entity, Snapshot
from family_recall.time_expressions import words as time_words
from family_recall.types import Scope

_MYSELF = frozenset({"i", "me", "my", "mine", "myself", "we", "us", "our"})
_OURS = frozenset({"my", "our"})
_FOND = frozenset(
    "little big older elder younger oldest eldest youngest dear lovely baby twin own".split()
)
"""Words that may stand between *my* and *sister*."""

_NOT_ALONE = frozenset(
    """
    a an the this that these those his her their your whose every each some any no another
    great step foster ex former future late half
    """.split()
)
"""Words after which *grandma* is not the asker's own."""

MAX_RELATIONS = 5
"""Relations between what a question names that an answer tells."""

_ROLE_BEGINNINGS = frozenset(noun.split(" ", maxsplit=1)[0] for noun in ROLES)
_MAX_KIN = 8
"""Roles of one question that are looked up."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ADDRESS = re.compile(r"\w[@./_]+\w")
_SCHEME = re.compile(r"^(?:(?:https?|mailto) )?(?:www )?")
_SCHEMES = ("", "www ", "https ", "http ", "https www ", "http www ")
_NO_NAMES = frozenset(("http", "https", "www", "mailto"))
_MAX_ADDRESS_CHARS = 1000

_MAX_UNKNOWN = 32
_MAX_MISSPELT = 6
_MIN_MISSPELT_CHARS = 4
_MIN_ALIAS_CHARS = 3
_LONG_CHARS = 8
"""Letters from which a word may be misspelt twice."""

_WELL_SPELT = frozenset(word for noun in ROLES for word in noun.split(" ")).union(
    time_words.MONTHS, time_words.WEEKDAYS, time_words.SEASONS, time_words.PARTS,
    time_words.UNITS, time_words.COUNTS, time_words.ORDINALS,
)  # fmt: skip
"""Words that are taken as they stand, never for somebody's name misspelt."""


def relations_between(
    entities: Sequence[Entity], scope: Scope, snapshot: Snapshot
) -> tuple[tuple[str, str, str], ...]:
    """Give (subject, relation, object) among some entities, the surest first."""
    ids = {entity.id for entity in entities}
    if len(ids) < 2:
        return ()
    found = [
        relation
        for relation in snapshot.relations(sorted(ids), scope)
        if {relation.subject.id, relation.object.id} <= ids
    ]
    found.sort(key=lambda one: (-one.confidence, one.subject.name, one.relation, one.object.name))
    triples = [(one.subject.name, one.relation, one.object.name) for one in found]
    return tuple(dict.fromkeys(triples))[:MAX_RELATIONS]


def resolve(
    question: str, scope: Scope, snapshot: Snapshot
) -> tuple[tuple[Entity, ...], tuple[str, ...]]:
    """Find who and what a question names, inside the visible partitions only.

    *I*, *my* and *we* stand for the person who asks; *my wife* and *Priya's brother* for those
    whom relations in scope lead to, and where they lead nowhere, for no more than *my* and
    *Priya*. A word that is no name here stands for the only name it could be misspelt from.

    Returns:
        The entities, and the normalised words they were found under.
    """
    spoken = unicodedata.normalize("NFKC", question[:MAX_QUESTION_CHARS])
    sought = dict.fromkeys(possible_names(spoken))
    sought.update((form, None) for _, forms in _addresses(spoken) for form in forms)
    asker = None if scope.person_id is None else f"@{scope.person_id}"
    known: dict[str, list[Entity]] = {}
    for alias, entity in snapshot.entities([*sought, *([asker] if asker else [])], scope):
        known.setdefault(alias, []).append(entity)
    myself = known.pop(asker, []) if asker else []
    household = _Household(known, myself, scope, snapshot)

    parts = _cut(spoken, household.addresses(spoken))
    for name in _NO_NAMES:
        known.pop(name, None)
    parts = [
        piece
        for part in parts
        for piece in (_cut(part, household.kin(part)) if isinstance(part, str) else [part])
    ]
    entities: list[Entity] = []
    names: list[str] = []
    for part in parts:
        if isinstance(part, _Claim):
            entities += part.entities
            names += [part.words] if part.entities else []
        else:
            here = names_in(part, known)
            entities += [entity for name in here for entity in known[name]]
            names += here
    unclaimed = [part for part in parts if isinstance(part, str)]
    for word in _unknown_words(parts, known, names, scope, snapshot):
        meant = _meant(word, scope, snapshot)
        entities += meant
        names += [word] if meant else []
    if any(_MYSELF.intersection(normalise(part).split(" ")) for part in unclaimed):
        entities += myself
    return tuple(dict.fromkeys(entities)), tuple(names)


@dataclass(frozen=True, slots=True)
class _Claim:
    """A stretch of a text that stands for somebody as a whole, or on purpose for nobody."""

    start: int
    end: int
    words: str
    entities: tuple[Entity, ...] = ()
    steps: int = 0


@dataclass(frozen=True, slots=True)
class _Word:
    """One word of a text: as written, as names are compared, and whether something is its own."""

    text: str
    plain: str
    start: int
    end: int
    owns: bool


@dataclass(frozen=True, slots=True)
class _Household:
    """What a question may speak of: the names it holds, who asks, and their relations."""

    known: Mapping[str, Sequence[Entity]]
    myself: Sequence[Entity]
    scope: Scope
    snapshot: Snapshot
    _looked_up: dict[tuple[Sequence[Entity], str, int], Relatives] = field(default_factory=dict)

    def addresses(self, text: str) -> list[_Claim]:
        """Find the known e-mail addresses, handles and URLs of a text."""
        claims = []
        for (start, end), forms in _addresses(text):
            form = next((form for form in forms if form in self.known), None)
            if form is not None:
                claims.append(_Claim(start, end, forms[0], tuple(self.known[form])))
        return claims

    def kin(self, text: str) -> list[_Claim]:
        """Find those whom a text names by what they are to somebody."""
        claims: list[_Claim] = []
        if _ROLE_BEGINNINGS.isdisjoint(normalise(text).split(" ")):
            return claims
        words = _words(text)
        at = 0
        while at < len(words):
            is_role = words[at].plain in _ROLE_BEGINNINGS
            noun = _longest(words[at : at + LONGEST_ROLE], ROLES) if is_role else ""
            n = len(noun.split(" ")) if noun else 1
            claim = self._relative(text, words, at, n, noun, claims) if noun else None
            if claim is not None:
                while claims and claims[-1].end > claim.start:
                    claims.pop()
                claims.append(claim)
            at += n
        return claims

    def _relative(
        self,
        text: str,
        words: Sequence[_Word],
        at: int,
        n: int,
        noun: str,
        claims: Sequence[_Claim],
    ) -> _Claim | None:
        """Read one role: whose it is stands before it, or nobody does."""
        here = _longest(words[at : at + LONGEST_NAME], self.known)
        if len(here.split(" ")) > n:
            return None
        end = words[at + n - 1].end
        nobodys = _Claim(words[at].start, end, noun)
        before = at - 1 - (at > 0 and words[at - 1].plain in _FOND)
        owner = words[before] if before >= 0 else None
        whose, start, steps = self.myself, words[at].start, 0
        if owner is not None and owner.plain in _OURS:
            start = owner.start
        elif owner is not None and owner.owns and owner.plain not in STOP_WORDS:
            if claims and claims[-1].end == owner.end:
                last = claims[-1]
                if not last.entities:
                    return nobodys
                whose, start, steps = last.entities, last.start, last.steps
            else:
                name = self._ending(text, words, before)
                if not name:
                    return nobodys if owner.text[0].isupper() else None
                whose, start = self.known[name], words[before - name.count(" ")].start
        elif noun not in TITLES or here or (owner is not None and owner.plain in _NOT_ALONE):
            return None
        if not words[at + n - 1].owns and self._named_next(text, words, at + n):
            return _Claim(start, end, noun)
        found = self._relatives(whose, noun, MAX_STEPS - steps)
        if found.entities:
            words_said = normalise(text[start:end])
            return _Claim(start, end, words_said, found.entities, steps + found.steps)
        # Who is called Dad here is nobody's dad in his own *my dad*.
        themself = here and whose and is_one([*self.known[here], *whose])
        return nobodys if themself else None

    def _ending(self, text: str, words: Sequence[_Word], last: int) -> str:
        """Give the longest known name that ends at a word, or an empty text."""
        for first in range(max(0, last - LONGEST_NAME + 1), last + 1):
            said = text[words[first].start : words[last].end]
            name = " ".join(word.plain for word in words[first : last + 1])
            if name in self.known and names_in(said, {name}):
                return name
        return ""

    def _named_next(self, text: str, words: Sequence[_Word], at: int) -> bool:
        """Whether the very next word begins a known name, as in *my brother Vikram*."""
        if at >= len(words) or not text[words[at - 1].end : words[at].start].isspace():
            return False
        name = _longest(words[at : at + LONGEST_NAME], self.known)
        said = " ".join(word.text for word in words[at : at + len(name.split(" "))])
        return bool(name) and bool(names_in(said, {name})) and words[at].text[0].isupper()

    def _relatives(self, whose: Sequence[Entity], noun: str, max_steps: int) -> Relatives:
        key = (tuple(whose), noun, max_steps)
        if key not in self._looked_up:
            if not whose or max_steps < 1 or len(self._looked_up) >= _MAX_KIN:
                return Relatives()
            self._looked_up[key] = relatives(
                whose, ROLES[noun], self.scope, self.snapshot, max_steps=max_steps
            )
        return self._looked_up[key]


def _addresses(text: str) -> Iterator[tuple[tuple[int, int], tuple[str, ...]]]:
    """Find what looks like an address: where, and the forms it may be known in, its own first."""
    for match in re.finditer(r"\S+", text):
        said = match.group()
        if len(said) > _MAX_ADDRESS_CHARS or not _ADDRESS.search(said):
            continue
        plain = normalise(said)
        bare = _SCHEME.sub("", plain)
        forms = () if "@" in said else tuple(f"{scheme}{bare}" for scheme in _SCHEMES)
        yield match.span(), tuple(dict.fromkeys((plain, bare, *forms)))


def _cut(text: str, claims: Sequence[_Claim]) -> list[str | _Claim]:
    """Cut a text into its claims, in order, and what lies between them."""
    parts: list[str | _Claim] = []
    at = 0
    for claim in claims:
        parts += [text[at : claim.start], claim]
        at = claim.end
    return [*parts, text[at:]]


def _words(text: str) -> list[_Word]:
    return [
        _Word(
            match.group(),
            normalise(match.group()),
            *match.span(),
            owns=match.group()[-2:] in {"'s", "’s"} or text[match.end() :][:1] in {"'", "’"},
        )
        for match in _WORD.finditer(text)
    ]


def _longest(words: Sequence[_Word], known: Container[str]) -> str:
    """Give the longest known run of words from the first one on, or an empty text."""
    for n in range(len(words), 0, -1):
        run = " ".join(word.plain for word in words[:n])
        if run in known:
            return run
    return ""


def _unknown_words(
    parts: Sequence[str | _Claim],
    known: Container[str],
    names: Sequence[str],
    scope: Scope,
    snapshot: Snapshot,
) -> list[str]:
    """List the words that may be a name misspelt: no name, and capital or said nowhere else."""
    named = {word for name in names for word in name.split(" ")} | _WELL_SPELT
    unknown: dict[str, bool] = {}
    for at, part in enumerate(parts):
        if isinstance(part, _Claim):
            continue
        for match in _WORD.finditer(part):
            word = normalise(match.group())
            if len(word) < _MIN_MISSPELT_CHARS or not word.isalpha() or word in named:
                continue
            if word in known or not names_in(word, {word}):
                continue
            before = part[: match.start()].rstrip(" \n\t\"'“‘(")
            opens = before[-1] in ".?!:" if before else at == 0
            # What opens a sentence has its capital from that.
            unknown[word] = unknown.get(word, False) or (match.group()[0].isupper() and not opens)
            if len(unknown) >= _MAX_UNKNOWN:
                break
    stems = dict(snapshot.stems(" ".join(unknown))) if unknown else {}
    counts = snapshot.word_statistics(list(stems.values()), scope).document_frequency
    said = {word for word, n in zip(stems, counts.tolist(), strict=True) if n}
    return [word for word, capital in unknown.items() if capital or word not in said][
        :_MAX_MISSPELT
    ]


def _meant(word: str, scope: Scope, snapshot: Snapshot) -> list[Entity]:
    """Give whom a misspelt word means, if it is nearly the name of one only."""
    edits = 1 if len(word) < _LONG_CHARS else 2
    letters = set(word)
    near = [
        alias
        for alias in snapshot.aliases_like(word, edits, scope)
        # An edit brings at most one letter and takes at most one away: most end here.
        if len(letters.symmetric_difference(alias)) <= 2 * edits
        and len(alias) >= _MIN_ALIAS_CHARS
        and alias not in _NO_NAMES
        and nearly_equal(word, alias, edits)
    ]
    found = [entity for _, entity in snapshot.entities(near, scope)] if near else []
    return found if is_one(found) else []


def nearly_equal(one: str, other: str, edits: int) -> bool:
    """Whether so many edits, or fewer, turn one word into the other.

    An edit leaves out, puts in or changes a letter, or swaps two neighbours, and none touches
    a letter twice (optimal string alignment). Linear in the words for a fixed number of edits.

    >>> nearly_equal("prya", "priya", 1), nearly_equal("piray", "priya", 1)
    (True, False)
    """
    n = min(len(one), len(other))
    at = 0
    while at < n and one[at] == other[at]:
        at += 1
    n -= at
    back = 0
    while back < n and one[-1 - back] == other[-1 - back]:
        back += 1
    one, other = one[at : len(one) - back], other[at : len(other) - back]
    if not one or not other or not edits:
        return len(one) + len(other) <= edits
    if edits == 1:
        return len(one) == len(other) == 1 or (len(one) == 2 and one == other[::-1])
    return (
        nearly_equal(one[1:], other[1:], edits - 1)
        or nearly_equal(one[1:], other, edits - 1)
        or nearly_equal(one, other[1:], edits - 1)
        or (one[:2] == other[1::-1] and nearly_equal(one[2:], other[2:], edits - 1))
    )

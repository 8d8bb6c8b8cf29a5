"""Who and what a question is about: the people and things it names, as entities in scope.

*I*, *my* and *we* mean the asker; *my wife* and *Priya's brother* those whom relations in scope
lead to, and just *my* and *Priya* if they lead to nobody. An unknown word means the only name that
it could be a misspelling of.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from family_recall.english import lexicon, values_in
from family_recall.english.kinship import FAMILY_LINKS, KINSHIP_ROLES, KinPhrase, kin_phrases
from family_recall.english.owners import asks_of, asks_of_self
from family_recall.english.relations import ASKER_WORDS
from family_recall.english.text import EVERYDAY_WORDS, MAX_QUESTION_CHARS, Words
from family_recall.recall.question.relatives import Kinship, is_one, names_of
from family_recall.store.graph import Entity
from family_recall.store.relations import StoredRelation
from family_recall.store.transaction import Snapshot
from family_recall.types import Scope

_POSSESSIVE = re.compile(r"['’]s?$")
_CORRECT = frozenset(word for noun in KINSHIP_ROLES for word in noun.split(" ")).union(
    lexicon.MONTHS, lexicon.WEEKDAYS, lexicon.SEASONS, lexicon.PARTS,
    lexicon.UNITS, lexicon.COUNTS, lexicon.ORDINALS, EVERYDAY_WORDS,
)  # fmt: skip
"""Words that are never taken for a misspelt name."""

_MAX_UNKNOWN = 32
_MAX_MISSPELT = 6
_MIN_MISSPELT_CHARS = 4
_MIN_ALIAS_CHARS = 3
_TWO_EDITS_CHARS = 8
"""Letters from which a word may contain two mistakes."""


class Mention(NamedTuple):
    """Words of a question, normalised, and the entities they mean; ``first`` is the first word.

    Where they name relatives by a role, *my wife*, ``role`` is its noun and ``relations`` lead
    there. ``possible`` are the few who may be meant if nobody is for certain.
    """

    words: str
    entities: tuple[Entity, ...]
    first: int = 0
    role: str = ""
    relations: tuple[StoredRelation, ...] = ()
    possible: tuple[Entity, ...] = ()


class Resolution(NamedTuple):
    """Everything a question names, in order; ``asker`` are the entities of the person who asks.

    ``owners`` are those whom it asks of, *Dad* in *Dad's blood group*; who is unknown has no
    entities.
    ``relatives`` are the names of the people that it calls by what they are to somebody, and
    ``searched`` is the question with those names in place of the words for them; empty if there
    are none.
    """

    question: Words = Words("", [], [], [])
    mentions: tuple[Mention, ...] = ()
    asker: tuple[Entity, ...] = ()
    asker_is_named: bool = False
    relatives: tuple[str, ...] = ()
    searched: str = ""
    owners: tuple[Mention, ...] = ()

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

    Args:
        question: Any text; of a long one only the beginning is read.
        scope: What the asker may see.
        snapshot: The file.
    """
    words = Words.of(unicodedata.normalize("NFC", question[:MAX_QUESTION_CHARS]))
    known: dict[str, list[Entity]] = {}
    for alias, entity in snapshot.entities_in(words.plain, scope):
        known.setdefault(alias, []).append(entity)
    myself = snapshot.asker(scope)
    kinship = Kinship(scope, snapshot)
    relatives: list[Mention] = []
    unknown: list[Mention] = []
    used: set[int] = set()  # numbers of words that name nobody else
    # *Mum*, as her own children call the person who asks, is to herself her mother.
    others = {
        alias: entities
        for alias, entities in known.items()
        if alias not in KINSHIP_ROLES or not myself or not is_one([*entities, *myself])
    }
    for phrase in kin_phrases(words, others):
        mention, hidden = _relative(phrase, words, known, myself, kinship)
        used.update(hidden)
        if mention is not None:
            relatives.append(mention)
        elif not phrase.is_named and all(role.kin.link in FAMILY_LINKS for role in phrase.roles):
            first, last = phrase.span(len(phrase.roles))
            said = " ".join(words.plain[first : last + 1])
            unknown.append(Mention(said, (), first, phrase.roles[-1].noun))
    mentions = [mention for mention in relatives if mention.entities]
    mentions += _named(words, known, used)
    is_named = any(word in ASKER_WORDS and at not in used for at, word in enumerate(words.plain))
    mentions += _misspelt(words, {*known, *_words_of(mentions)}, used, scope, snapshot)
    mentions.sort(key=lambda mention: mention.first)
    names, searched = _searched(words, relatives)
    owners = [
        *_owners(words, [*relatives, *unknown, *mentions]),
        *_strangers(words, used, [*mentions, *unknown]),
    ]
    owners += _askers(words, used, scope.person_id, myself)
    return Resolution(
        words, tuple(mentions), tuple(myself), is_named, names, searched, tuple(owners)
    )


def _owners(words: Words, mentions: Iterable[Mention]) -> Iterator[Mention]:
    """Yield those of whom something is asked, each once."""
    for mention in dict.fromkeys(mentions):
        if asks_of(words, mention.first, mention.first + mention.words.count(" ")):
            yield mention


def _askers(
    words: Words, used: Collection[int], person_id: str | None, myself: Sequence[Entity]
) -> Iterator[Mention]:
    """Yield the person who asks, where something is asked of them: *my locker*, *am I*."""
    if person_id is None:
        return
    entities = tuple(myself) or (Entity(0, person_id, person_id),)
    for at, word in enumerate(words.plain[:-1]):
        if at not in used and (word == "my" or (word == "i" and asks_of_self(words, at))):
            yield Mention(word, entities, at)
            return


def _strangers(words: Words, used: set[int], mentions: Sequence[Mention]) -> Iterator[Mention]:
    """Yield the names, of whom something is asked, that nobody in scope has."""
    names = values_in(words.text, ["name"]).get("name", ())
    strange = {word for name in names for word in name.split()}
    used = used.union(*(range(m.first, m.first + 1 + m.words.count(" ")) for m in mentions))
    for at, word in enumerate(words.plain):
        is_strange = word in strange or words.is_possessive(at)
        if at not in used and is_strange and word not in _CORRECT and asks_of(words, at, at):
            yield Mention(word, (), at)


def _relative(
    phrase: KinPhrase,
    words: Words,
    known: Mapping[str, Sequence[Entity]],
    myself: Sequence[Entity],
    kinship: Kinship,
) -> tuple[Mention | None, Collection[int]]:
    """Return whom a kinship phrase means, and the numbers of its words that name nobody else.

    Of *my wife's boss*, where nothing tells of a boss, *my wife* is meant.
    """
    roles = phrase.roles
    if phrase.owner is None:
        return None, _numbers(phrase, range(len(roles)))
    if phrase.is_named:
        first, last = phrase.span(len(roles))
        return None, range(first, last + 1)
    whose = tuple(known[phrase.owner] if phrase.owner else myself)
    mention: Mention | None = None
    hidden: Collection[int] = ()
    for n, role in enumerate(roles):
        kin = kinship.of(whose, role.kin)
        if not kin.entities and not kin.possible:
            # In the question of a person who is called Dad, *my dad* is not himself.
            name = words.longest(role.first, known)
            if name and whose and is_one([*known[name], *whose]):
                hidden = {*hidden, *_numbers(phrase, range(n, len(roles)))}
            break
        first, last = phrase.span(n + 1)
        path = (*(mention.relations if mention else ()), *kin.relations)
        said = " ".join(words.plain[first : last + 1])
        mention = Mention(said, kin.entities, first, role.noun, path, kin.possible)
        if not kin.entities:
            hidden = _numbers(phrase, range(n + 1, len(roles)))
            break
        hidden, whose = range(first, last + 1), kin.entities
    return mention, hidden


def _numbers(phrase: KinPhrase, roles: range) -> set[int]:
    """Return the numbers of the words of some roles."""
    return {at for n in roles for at in range(phrase.roles[n].first, phrase.roles[n].last + 1)}


def _named(
    words: Words, known: Mapping[str, Sequence[Entity]], used: set[int]
) -> Iterator[Mention]:
    """Yield the names among the words that are not used, and use them."""
    for at in range(len(words.plain)):
        name = "" if at in used else words.name_at(at, known)
        numbers = range(at, at + 1 + name.count(" "))
        if name and used.isdisjoint(numbers):
            used.update(numbers)
            yield Mention(name, tuple(known[name]), at)


def _words_of(mentions: Sequence[Mention]) -> set[str]:
    return {word for mention in mentions for word in mention.words.split(" ")}


def _misspelt(
    words: Words, known: Collection[str], used: set[int], scope: Scope, snapshot: Snapshot
) -> Iterator[Mention]:
    """Yield the unused words that are nearly the name of exactly one entity.

    Such a word has a capital that no beginning explains, or no memory in scope holds it.
    """
    unknown: dict[str, int] = {}
    capitals: set[str] = set()
    for at, word in enumerate(words.plain):
        if (
            at not in used
            and len(word) >= _MIN_MISSPELT_CHARS
            and word.isalpha()
            and word not in _CORRECT
            and word not in known
        ):
            unknown.setdefault(word, at)
            if at and words.written[at][0].isupper():
                capitals.add(word)
    candidates = list(unknown)[:_MAX_UNKNOWN]
    stems = dict(
        pair for word in candidates if word not in capitals for pair in snapshot.stems(word)
    )
    held = snapshot.held(list(stems.values()), scope) if stems else []
    seen = set(itertools.compress(stems, held))
    for word in [word for word in candidates if word not in seen][:_MAX_MISSPELT]:
        if entities := _entities_spelt_like(word, scope, snapshot):
            yield Mention(word, tuple(entities), unknown[word])


def _entities_spelt_like(word: str, scope: Scope, snapshot: Snapshot) -> list[Entity]:
    """Return the entities whose name is nearly this word, if they are all the same one."""
    edits = 1 if len(word) < _TWO_EDITS_CHARS else 2
    letters = set(word)
    aliases = [
        alias
        for alias in snapshot.aliases_like(word, edits, scope)
        # An edit adds at most one letter and removes at most one: this rejects most aliases.
        if len(letters.symmetric_difference(alias)) <= 2 * edits
        and len(alias) >= _MIN_ALIAS_CHARS
        and nearly_equal(word, alias, edits)
    ]
    entities = [entity for _, entity in snapshot.entities(aliases, scope)] if aliases else []
    return entities if is_one(entities) else []


def nearly_equal(word: str, other: str, edits: int) -> bool:
    """Whether at most this many edits turn one word into the other.

    An edit deletes, inserts or replaces a letter, or swaps two neighbours; none touches a letter
    twice (optimal string alignment). Linear in the words for a fixed number of edits.

    >>> nearly_equal("prya", "priya", 1), nearly_equal("piray", "priya", 1)
    (True, False)
    """
    while word and other and word[0] == other[0]:
        word, other = word[1:], other[1:]
    if not word or not other or not edits:
        return len(word) + len(other) <= edits
    return (
        nearly_equal(word[1:], other[1:], edits - 1)
        or nearly_equal(word[1:], other, edits - 1)
        or nearly_equal(word, other[1:], edits - 1)
        or (word[:2] == other[1::-1] and nearly_equal(word[2:], other[2:], edits - 1))
    )


def _searched(words: Words, relatives: Sequence[Mention]) -> tuple[tuple[str, ...], str]:
    """Return the names of the relatives a question speaks of, and the question with those names."""
    names: list[str] = []
    searched, end = "", 0
    for mention in relatives:
        own_names = names_of(mention.entities or mention.possible)
        last = mention.first + mention.words.count(" ")
        ending = _POSSESSIVE.search(words.written[last])
        names += own_names
        searched += words.text[end : words.spans[mention.first][0]] + " ".join(own_names)
        searched += ending.group() if ending else ""
        end = words.spans[last][1]
    return tuple(dict.fromkeys(names)), searched + words.text[end:] if names else ""

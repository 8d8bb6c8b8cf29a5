"""Find the phrases of a question that name people by what they are to somebody.

*My wife*, *Priya's little brother*, *my brother's wife*, *the mother of my grandsons*, *grandma*.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from family_recall.english.kinship import (
    KINSHIP_ROLES,
    NOT_THE_ASKERS,
    OURS,
    TITLES,
    KinWord,
    RoleWords,
    kin_words,
    longest_name,
    may_name_kin,
    role_at,
)
from family_recall.english.text import LONGEST_NAME, STOP_WORDS, names_in, normalise
from family_recall.recall.question.kinship import Relatives, is_one, relatives
from family_recall.store.graph import Entity
from family_recall.store.relations import StoredRelation
from family_recall.store.snapshot import Snapshot
from family_recall.types import Scope

_MAX_ROLES = 8
"""Roles of one question that are looked up."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A stretch of a text that as a whole means some entities, or on purpose none.

    ``role`` is the noun that names them, empty where a name does; ``relations`` led there.
    ``possible`` are the few who may be meant if nobody is for certain.
    """

    start: int
    end: int
    words: str
    entities: tuple[Entity, ...] = ()
    role: str = ""
    relations: tuple[StoredRelation, ...] = ()
    possible: tuple[Entity, ...] = ()

    @property
    def those_meant(self) -> tuple[Entity, ...]:
        """Those it means for certain, or else those it may mean."""
        return self.entities or self.possible


class KinPhrases:
    """Resolves the kinship phrases of one question against the names it holds."""

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
        self._relatives_of: dict[tuple[Sequence[Entity], str, str], Relatives] = {}

    def find(self, text: str) -> list[Phrase]:
        """Find the phrases of a text, in order, none inside another."""
        phrases: list[Phrase] = []
        if not may_name_kin(normalise(text).split(" ")):
            return phrases
        words = kin_words(text)
        at = 0
        while at < len(words):
            role = role_at(words, at)
            phrase = self._relative(text, words, role, phrases) if role else None
            if phrase is not None:
                while phrases and phrases[-1].end > phrase.start:
                    phrases.pop()
                phrases.append(phrase)
            at = role.last + 1 if role else at + 1
        return self._of_others(text, words, phrases)

    def _relative(
        self, text: str, words: Sequence[KinWord], role: RoleWords, phrases: Sequence[Phrase]
    ) -> Phrase | None:
        """Resolve one role: its owner stands before it, or it has none."""
        noun, at = role.noun, role.first
        name = longest_name(words[at : at + LONGEST_NAME], self._known)
        if len(name.split(" ")) > role.last + 1 - at:
            return None
        end = words[role.last].end
        nobody = Phrase(words[at].start, end, noun)
        owner = words[role.before] if role.before >= 0 else None
        whose, start = self._myself, words[at].start
        previous: Phrase | None = None
        if owner is not None and owner.plain in OURS:
            start = owner.start
        elif owner is not None and owner.is_possessive and owner.plain not in STOP_WORDS:
            if phrases and phrases[-1].end == owner.end:
                previous = phrases[-1]
                if not previous.entities:
                    return nobody
                whose, start = previous.entities, previous.start
            else:
                owner_name = self._name_ending(text, words, role.before)
                if not owner_name:
                    return nobody if owner.text[0].isupper() else None
                whose = self._known[owner_name]
                start = words[role.before - owner_name.count(" ")].start
        elif noun not in TITLES or name or (owner is not None and owner.plain in NOT_THE_ASKERS):
            return None
        if not words[role.last].is_possessive and self._name_follows(text, words, role.last + 1):
            return Phrase(start, end, noun)
        phrase = self._resolved(text, (start, end), role, whose, previous)
        if phrase is not None:
            return phrase
        # In the question of a person who is called Dad, *my dad* is not himself.
        is_owner = name and whose and is_one([*self._known[name], *whose])
        return nobody if is_owner else None

    def _resolved(
        self,
        text: str,
        span: tuple[int, int],
        role: RoleWords,
        whose: Sequence[Entity],
        owner: Phrase | None,
    ) -> Phrase | None:
        """Return the phrase at a span, for those who have a role; None if nobody can have it.

        ``owner`` is the phrase that names whose role it is, if one does.
        """
        matches = self._relatives(whose, role)
        if not matches.entities and not matches.possible:
            return None
        words = normalise(text[span[0] : span[1]])
        path = (*(owner.relations if owner else ()), *matches.relations)
        return Phrase(*span, words, matches.entities, role.noun, path, matches.possible)

    def _of_others(
        self, text: str, words: Sequence[KinWord], phrases: Sequence[Phrase]
    ) -> list[Phrase]:
        """Resolve *the father of my grandsons* and *the wife of Vikram*, from the last on."""
        by_start = {phrase.start: phrase for phrase in phrases}
        for at in range(len(words) - 2, 0, -1):
            role = role_at(words, at - 1) if words[at].plain == "of" else None
            if role is None or role.last != at - 1:
                continue
            inner = by_start.get(words[at + 1].start)
            name = longest_name(words[at + 1 : at + 1 + LONGEST_NAME], self._known)
            if inner is not None:
                whose, end = inner.entities, inner.end
            elif name:
                whose = tuple(self._known[name])
                end = words[at + len(name.split(" "))].end
            else:
                continue
            the = role.before >= 0 and words[role.before].plain == "the"
            start = words[role.before if the else role.first].start
            phrase = self._resolved(text, (start, end), role, whose, inner)
            if phrase is not None:
                by_start = {
                    other.start: other
                    for other in by_start.values()
                    if other.end <= start or other.start >= end
                } | {start: phrase}
        return sorted(by_start.values(), key=lambda phrase: phrase.start)

    def _name_ending(self, text: str, words: Sequence[KinWord], last: int) -> str:
        """Return the longest known name that ends at a word, or an empty text."""
        for first in range(max(0, last - LONGEST_NAME + 1), last + 1):
            written = text[words[first].start : words[last].end]
            name = " ".join(word.plain for word in words[first : last + 1])
            if name in self._known and names_in(written, {name}):
                return name
        return ""

    def _name_follows(self, text: str, words: Sequence[KinWord], at: int) -> bool:
        """Whether the very next word begins a known name, as in *my brother Vikram*."""
        if at >= len(words) or not text[words[at - 1].end : words[at].start].isspace():
            return False
        name = longest_name(words[at : at + LONGEST_NAME], self._known)
        written = " ".join(word.text for word in words[at : at + len(name.split(" "))])
        return bool(name) and bool(names_in(written, {name})) and words[at].text[0].isupper()

    def _relatives(self, whose: Sequence[Entity], role: RoleWords) -> Relatives:
        key = (tuple(whose), role.noun, role.order)
        if key not in self._relatives_of:
            if not whose or len(self._relatives_of) >= _MAX_ROLES:
                return Relatives()
            wanted = KINSHIP_ROLES[role.noun]
            if role.order:
                wanted = dataclasses.replace(wanted, order=role.order)
            self._relatives_of[key] = relatives(whose, wanted, self._scope, self._snapshot)
        return self._relatives_of[key]

"""How a question asks who or what is related to somebody, and what a stored relation says of it.

A question is split into words and the people and things that it names. It asks for a relation only
if no word of it is left over: *Where does Ann live with her cat?* asks for more than one tells.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .kinship import INVERSE, KINSHIP_ROLES, LONGEST_ROLE, KinshipRole
from .text import STOP_WORDS

Stems = Callable[[str], list[tuple[str, str]]]
"""Splits a text into (word, stem) pairs."""

Part = Literal["doer", "receiver", "owner"]
"""A named thing's part in a relation: *Ann* teaches *Bo*, and *Bo* owns *Bo's teacher*."""

MAX_WORDS = 16
"""Words of the longest question that may ask for a relation."""

MAX_CONTENT_WORDS = 4
"""Words that say something, of the longest question compared with relations."""

MIN_COVERAGE = 0.5
"""Share of a relation's core concepts that a question must name."""

ASKER_WORDS = frozenset({"i", "me", "my", "mine", "myself", "we", "us", "our"})
"""Words by which the asker names themselves."""

_CONCEPTS = {
    "live": "live lives lived living reside resides address home house based",
    "work": "work works worked working job employed employer employs employee workplace",
    "study": "school study studies studied studying attend attends attended pupil student college"
    " university uni nursery kindergarten preschool",
    "teach": "teach teaches taught teaching teacher teachers tutor tutors",
    "doctor": "doctor doctors dr gp physician paediatrician pediatrician",
    "mind": "babysit babysits babysitter sitter nanny childminder minder minds",
    "manage": "boss manager manages supervisor supervises",
    "born": "born birthplace",
    "go": "go goes went going",
}
_CONCEPT_OF = {word: concept for concept, words in _CONCEPTS.items() for word in words.split(" ")}
SINGLE_VALUED = frozenset({"live", "born"})
"""Concepts of which only the newest of one person's relations holds."""

_ROLE_VERBS = dict.fromkeys(("married", "marry", "engaged"), "spouse")
_ROLE_VERBS |= dict.fromkeys(("own", "owns", "owned", "owner"), "owner")
_ROLE_VERBS |= dict.fromkeys(("belong", "belongs", "belonged"), "pet")
_PLACES = frozenset({"live", "work", "study", "born", "go"})
_PLACE_PREPOSITIONS = frozenset("in at near on from around outside opposite behind by".split())
_LIGHT = frozenset({"go", "plan", "have", "take", "make", "do", "come", "get", "want", "keep"})
_ATTRIBUTES = frozenset(
    """
    address home house job employer workplace school college university uni nursery kindergarten
    preschool birthplace
    """.split()
)
"""Nouns that belong to the one who lives, works or studies there."""
_TURNED_ROUND = frozenset({"employer of", "employs", "home of", "school of", "birthplace of"})
_SYMMETRIC = frozenset("with colleague classmate roommate flatmate teammate knows related".split())
_SPEECH = frozenset(
    """
    ask asked discuss discussed mention mentioned need needs recall remember remembers said say
    saying says talk talked tell think thinks told want wanted wants wish
    """.split()
)
"""Words of a question about what was said or thought, which no relation answers."""
_FUNCTION_WORDS = STOP_WORDS - _SPEECH - frozenset({"own", "not", "no", "nor", "same", "myself"})
_FILLERS = frozenset(
    """
    actually again area city company country currently day days exactly family firm guy hello hey
    lady long man nowadays ok okay people person place please remind right street still these today
    town woman
    """.split()
)
"""Words of a question that narrow nothing."""
_NAME_WORDS = frozenset({"name", "names", "named", "called", "surname"})
_NEGATIONS = frozenset({"not", "no", "nor", "never", "without", "why"})
_PAST_WORDS = frozenset(
    {"before", "previously", "previous", "formerly", "former", "used", "earlier", "ex", "late"}
)
"""Words that speak of a relation which has ended."""
_WH = frozenset({"who", "whom", "whose", "where", "when", "why", "how", "what", "which"})
_GREETINGS = frozenset("hey hi ok okay so and but well please know remember name".split())
_BARE = _NAME_WORDS | frozenset(
    """
    who whom which how many long when since is are was were am s re a an the exactly again now
    then please still today currently this that what whose
    """.split()
)
"""Words that may stand beside a role and whose it is."""
_AROUND_ROLE = _BARE | frozenset("of to do does did have has had been get got gets any".split())
_PATH_WORDS = frozenset({"related", "relation", "relationship", "connected", "connection"})
_PATH_FILLERS = frozenset("how what is are am was the between and to of with each other".split())
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


class Token(NamedTuple):
    """A word of a question, or one of the things it names; ``mention`` is -1 for a word."""

    word: str
    mention: int = -1
    is_possessive: bool = False


class RoleAsked(NamedTuple):
    """A question for who has a role to somebody: their mention, and another that is named.

    ``other`` is -1 where none is, as in a question to be answered by yes or no.
    """

    mention: int
    role: KinshipRole
    other: int


@dataclass(frozen=True)
class Wording:
    """A question, word by word, with the numbers of what it names."""

    tokens: tuple[Token, ...]
    asker: int = -1

    @classmethod
    def of(cls, question: str, names: Sequence[str], *, asker_is_known: bool) -> Wording:
        """Split a question; empty if it cannot ask for a relation.

        Args:
            question: Any text.
            names: The normalised words by which it names people and things.
            asker_is_known: Whether *I* and *my* name somebody, numbered after the names.
        """
        words = _words(question)
        plain = frozenset(word for word, _ in words)
        if (
            len(words) > MAX_WORDS
            or not _NEGATIONS.isdisjoint(plain)
            or any(word.endswith("n't") for word in plain)
        ):
            return cls(())
        asker = len(names) if asker_is_known else -1
        tokens = _without_lead(_tokens(words, names, asker), asker)
        wording = cls(tuple(tokens), asker)
        return wording if wording.named and _SPEECH.isdisjoint(wording.words) else cls(())

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """The words that name nobody."""
        return frozenset(token.word for token in self.tokens if token.mention < 0)

    @functools.cached_property
    def named(self) -> tuple[int, ...]:
        """The numbers of what it names, in order, each once."""
        return tuple(dict.fromkeys(token.mention for token in self.tokens if token.mention >= 0))

    @property
    def asks_past(self) -> bool:
        """Whether it asks for what has ended."""
        return not _PAST_WORDS.isdisjoint(self.words)

    @property
    def asks_who(self) -> bool:
        """Whether it asks for nothing but who somebody is."""
        return (
            "who" in self.words and self.words <= _BARE - {"many", "long", "when"} - _NAME_WORDS
        ) and len(self.tokens) < 6

    def asks_identity(self, described: Collection[str]) -> bool:
        """Whether it asks who a phrase such as *my wife* means, or what they are called.

        ``described`` are further words that may stand beside it: *swimming* of a coach.
        """
        asks = (
            {"who", "whom", "whose", "which", "many"} if "what" not in self.words else _NAME_WORDS
        )
        words = self.words.difference(described)
        return words <= _BARE and (not words or not words.isdisjoint(asks))

    @property
    def asks_whether(self) -> bool:
        """Whether it is answered by yes or no, and asks nothing more."""
        return self.words <= {"is", "are", "was", "were", "still"}

    @property
    def asks_path(self) -> bool:
        """Whether it asks how two are related: *who is Ann to Bo*."""
        if len(self.named) != 2:
            return False
        if self.words & _PATH_WORDS:
            return self.words - _PATH_WORDS <= _PATH_FILLERS
        words = [token.word for token in self.tokens]
        return len(words) == 5 and words[0] == "who" and words[3] == "to" and not words[2]

    def role(self) -> RoleAsked | None:
        """Return the role of a relative, a spouse, an owner or a pet that is asked for, if any.

        *Whose dog is Rex?* and *Who is Ann the aunt of?* ask for who is the inverse to Rex and Ann.
        """
        heads = list(self._role_heads())
        if len(heads) != 1 or len(self.named) > 2:
            return None
        first, last, role = heads[0]
        rest = {t.word for at, t in enumerate(self.tokens) if not first <= at <= last} - {""}
        if not rest <= _AROUND_ROLE:
            return None
        parts = {token.mention: _part(self.tokens, at, first, last)
                 for at, token in enumerate(self.tokens) if token.mention >= 0}  # fmt: skip
        mention = min(
            self.named, key=lambda named: ("owner", "doer", None, "receiver").index(parts[named])
        )
        has_one = self.tokens[first].word not in _ROLE_VERBS and rest & {"have", "has", "got"}
        is_inverse = parts[mention] == "doer" and not has_one and self.tokens[first].word != "whose"
        if "what" in rest and not rest & _NAME_WORDS and not (is_inverse and role.link == "owner"):
            return None
        other = next((named for named in self.named if named != mention), -1)
        return RoleAsked(mention, KinshipRole(INVERSE[role.link]) if is_inverse else role, other)

    def _role_heads(self) -> Iterable[tuple[int, int, KinshipRole]]:
        """Yield the words for a role: the first and last token, and the role."""
        words = [token.word for token in self.tokens]
        if self.words <= _BARE and "whose" in words:
            yield words.index("whose"), words.index("whose"), KinshipRole("owner")
        at = 0
        while at < len(words):
            lengths = range(min(LONGEST_ROLE, len(words) - at), 0, -1)
            n = next((n for n in lengths if " ".join(words[at : at + n]) in KINSHIP_ROLES), 0)
            if n:
                yield at, at + n - 1, KINSHIP_ROLES[" ".join(words[at : at + n])]
            elif words[at] in _ROLE_VERBS:
                yield at, at, KinshipRole(_ROLE_VERBS[words[at]])
            at += max(n, 1)


@dataclass(frozen=True, slots=True)
class WordQuestion:
    """A question's words for a relation: position and concept of each that says something.

    ``wh`` is its question word, or empty.
    """

    wording: Wording
    content: tuple[tuple[int, str], ...]
    wh: str

    @classmethod
    def of(cls, wording: Wording, stems: Stems) -> WordQuestion | None:
        """Read the words by which a question asks for a relation; None if too many or none."""
        tokens = wording.tokens
        wh = next((token.word for token in tokens if token.word in _WH), "")
        skipped = _FUNCTION_WORDS | _FILLERS | _PAST_WORDS
        if wh in {"what", ""}:
            skipped |= _NAME_WORDS
        content = [
            (at, concept(token.word, stems))
            for at, token in enumerate(tokens)
            if token.mention < 0 and token.word not in skipped
        ]
        is_question = wh or (tokens and tokens[0].word in _OPENING_VERBS)
        if not is_question or not 1 <= len(content) <= MAX_CONTENT_WORDS:
            return None
        return cls(wording, tuple(content), wh)

    def match(
        self,
        phrase: str,
        ends: tuple[frozenset[int], frozenset[int]],
        other_name: str,
        stems: Stems,
    ) -> tuple[float, bool]:
        """Compare it with a relation: the overlap in [0, 1], and whether the relation answers.

        Args:
            phrase: The relation, normalised.
            ends: The mentions that stand for its subject, and for its object.
            other_name: The name of the end that stands for no mention.
            stems: Splits a text into (word, stem) pairs.
        """
        relation = RelationWords.of(phrase, stems)
        asked = {word for _, word in self.content}
        overlap = len(relation.core & asked) / len(relation.core)
        if overlap < MIN_COVERAGE:
            return overlap, False
        of_other = {concept(word, stems) for word, _ in stems(other_name.casefold())}
        others = set(self.wording.named) - {self.wording.asker}
        at_ends = ends[0] | ends[1]
        answers = (
            asked <= relation.all | of_other
            and (self.wording.asks_past or not relation.has_ended)
            and (at_ends >= others if others else bool(at_ends))
            and self._fits_question_word(relation)
            and (all(ends) or relation.is_symmetric or self._in_its_place(relation, ends))
        )
        return overlap, answers

    def _fits_question_word(self, relation: RelationWords) -> bool:
        words = self.wording.words
        if "with" in words and "with" not in relation.phrase.split(" "):
            return False
        if self.wh == "where":
            # *Where did Mia go?* asks for today, and not for her school.
            return relation.is_place and not _LIGHT.issuperset(word for _, word in self.content)
        return self.wh != "how" or "long" in words

    def _in_its_place(
        self, relation: RelationWords, ends: tuple[frozenset[int], frozenset[int]]
    ) -> bool:
        """Whether the one named has the part in the question that they have in the relation."""
        tokens = self.wording.tokens
        named = ends[0] | ends[1]
        for head in [at for at, word in self.content if word in relation.core]:
            for place in [at for at, token in enumerate(tokens) if token.mention in named]:
                part = _part(tokens, place, head, head)
                does = not self.wording.words.isdisjoint({"do", "does", "did"})
                if part == "owner" and self.wh == "what" and does:
                    return False
                if part is not None:
                    return relation.is_subject(part, tokens[head].word) == bool(ends[0])
        return True


@dataclass(frozen=True, slots=True)
class RelationWords:
    """The words of a stored relation, read once.

    ``core`` are the concepts that a question must name at least half of; ``all`` has the light
    ones (*go*, *have*) as well. ``has_ended`` where it says so, as *former neighbour of* does.
    """

    phrase: str
    core: frozenset[str]
    all: frozenset[str]
    has_ended: bool = False

    @classmethod
    def of(cls, phrase: str, stems: Stems) -> RelationWords:
        """Read a stored relation, normalised."""
        written = phrase.split(" ")
        words = [word for word in written if word not in _FUNCTION_WORDS | _PAST_WORDS]
        concepts = {concept(word, stems) for word in words or written}
        core = frozenset(concepts - _LIGHT or concepts)
        if concepts == {"go"} and phrase.endswith((" to", " at")):
            core |= {"study"}  # Somebody *goes to* a school.
            concepts.add("study")
        return cls(phrase, core, frozenset(concepts), not _PAST_WORDS.isdisjoint(written))

    @property
    def is_symmetric(self) -> bool:
        """Whether it holds both ways: *plans vacation with*."""
        return not _SYMMETRIC.isdisjoint(self.phrase.split(" "))

    @property
    def is_place(self) -> bool:
        """Whether it tells where."""
        prepositions = _PLACE_PREPOSITIONS.intersection(self.phrase.split(" "))
        return bool(prepositions) or not _PLACES.isdisjoint(self.core | self.all)

    def is_subject(self, part: Part, word: str) -> bool:
        """Whether the one with this part in a question stands first in the relation.

        ``word`` is the question's word for the relation.

        >>> relation = RelationWords("teacher of", frozenset({"teach"}), frozenset({"teach"}))
        >>> relation.is_subject("owner", "teacher")
        False
        """
        first, last = self.phrase.split(" ")[0], self.phrase.split(" ")[-1]
        turned = self.phrase in _TURNED_ROUND or last == "by"
        if last == "of":
            return (part == "doer") != turned
        is_noun = not first.endswith(("s", "ed")) or first.endswith("ss")
        if first == "has" or (" " not in self.phrase and is_noun):
            return part == "owner"
        if part == "owner":
            return (word in _ATTRIBUTES) != turned
        return (part == "doer") != turned


def concept(word: str, stems: Stems) -> str:
    """Return what a word means among relations: a concept, or its stem.

    A doer has the stem of the doing, *gardener* that of *gardens*.
    """
    known = _CONCEPT_OF.get(word)
    if known is not None:
        return known
    stem = next((stem for _, stem in stems(word)), word)
    return stem[:-2] if len(stem) > 5 and stem.endswith(("er", "or")) else stem


_OPENING_VERBS = frozenset("is are was were do does did has have had".split())


def _part(tokens: Sequence[Token], place: int, first: int, last: int) -> Part | None:
    """Return the part of the thing named at ``place`` in what the words from first to last say."""
    while first and tokens[first - 1].word in _PAST_WORDS:
        first -= 1
    before = tokens[first - 1].word if first else ""
    after = tokens[last + 1].word if last + 1 < len(tokens) else ""
    if before in {"what", "which"}:
        return None
    if before == "whose":
        return "doer"
    if place < first:
        if tokens[place].is_possessive:
            return "owner"
        return "receiver" if after == "by" else "doer"
    if after in {"of", "for", "to"} and (after == "of" or before in {"the", "a", "an"}):
        return "owner"
    return "receiver"


def _words(question: str) -> list[tuple[str, bool]]:
    """Return each word, normalised, and whether it is a possessive."""
    text = unicodedata.normalize("NFKC", question).casefold().replace("’", "'")
    return [
        (word.removesuffix("'s"), word.endswith("'s") or text[match.end() : match.end() + 1] == "'")
        for match in _WORD.finditer(text)
        if (word := match.group())
    ]


def _tokens(words: Sequence[tuple[str, bool]], names: Sequence[str], asker: int) -> list[Token]:
    tokens: list[Token] = []
    plain = [word for word, _ in words]
    parts = sorted(
        ((name.split(" "), at) for at, name in enumerate(names)), key=lambda p: -len(p[0])
    )
    at = 0
    while at < len(words):
        word, is_possessive = words[at]
        name, number = next((p for p in parts if plain[at : at + len(p[0])] == p[0]), ([], -1))
        # In *Whose uncle is Ann?* no name is meant, also where somebody is called Uncle.
        before = tokens[-1].word if tokens else ""
        if (
            len(name) == 1
            and word in KINSHIP_ROLES
            and before in {"whose", "the", "a", "an", "any"}
        ):
            name = []
        if name:
            tokens.append(Token("", number, words[at + len(name) - 1][1]))
        elif asker >= 0 and word in ASKER_WORDS:
            tokens.append(Token("", asker, word in {"my", "our"}))
        else:
            tokens.append(Token(word, is_possessive=is_possessive))
        at += max(len(name), 1)
    return tokens


def _without_lead(tokens: list[Token], asker: int) -> list[Token]:
    """Leave out *can you please tell me*."""
    at = 0
    while at + 1 < len(tokens):
        word, after = tokens[at].word, tokens[at + 1]
        if word in _GREETINGS:
            at += 1
        elif (word in {"can", "could", "would", "do", "did"} and after.word == "you") or (
            word in {"tell", "remind", "show", "give"} and asker >= 0 and after.mention == asker
        ):
            at += 2
        else:
            break
    return tokens[at:]

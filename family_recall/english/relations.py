"""How a question asks who or what is related to somebody, and what a stored relation says of it.

A question is split into words and the people and things that it names. It asks for a relation only
if no word of it is left over: *Where does Ann live with her cat?* asks for more than one tells.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .kinship import INVERSE, IS_A, KINSHIP_ROLES, meaning_of, relation_phrase
from .routing import without_opening
from .text import STOP_WORDS, Words

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
    "live": "live lives lived living reside resides address home house",
    "work": "work works worked working job employed employer employs workplace",
    "study": "school study studies studied attend attends college university uni nursery",
    "teach": "teach teaches taught teaching teacher teachers tutor tutors",
    "doctor": "doctor doctors dr gp",
    "mind": "babysit babysits babysitter sitter nanny childminder minder minds",
    "manage": "boss manager manages supervisor supervises",
    "marry": "married marry marries",
    "own": "own owns owned owner",
    "born": "born birthplace",
    "go": "go goes went going",
}
_CONCEPT_OF = {word: concept for concept, words in _CONCEPTS.items() for word in words.split(" ")}
_SINGLE_VALUED = frozenset({"live", "born"})
"""Concepts of which only the newest of one person's relations holds."""

_PLACES = frozenset({"live", "work", "study", "born", "go"})
_PLACE_PREPOSITIONS = frozenset("in at near on from around outside opposite behind by".split())
_LIGHT = frozenset({"go", "plan", "have", "take", "make", "do", "come", "get", "want", "keep"})
_ATTRIBUTES = frozenset(
    "address home house job employer workplace school college university uni nursery birthplace"
    .split()
)  # fmt: skip
"""Nouns that belong to the one who lives, works or studies there."""
_SYMMETRIC = frozenset("with colleague classmate roommate flatmate teammate knows related".split())
_SPEECH = frozenset(
    """
    ask asked discuss discussed mention mentioned need needs recall remember remembers said say
    saying says talk talked tell think thinks told want wanted wants wish
    """.split()
)
"""Words of a question about what was said or thought, which no relation answers."""
_NAME_WORDS = frozenset({"name", "names", "named", "called", "surname"})
_NEGATIONS = frozenset({"not", "no", "nor", "never", "without", "why"})
_PAST_WORDS = frozenset({"before", "previously", "previous", "formerly", "former", "used", "ex"})
"""Words that speak of a relation which has ended."""
_FUNCTION_WORDS = STOP_WORDS - _SPEECH - frozenset({"own", "not", "no", "nor", "same", "myself"})
_SAYING_NOTHING = _FUNCTION_WORDS | _PAST_WORDS | frozenset(
    "actually again city company country currently exactly long now person place still today town"
    .split()
)  # fmt: skip
"""Words of a question that narrow nothing."""
_WH = frozenset({"who", "whom", "whose", "where", "when", "why", "how", "what", "which"})
_OPENING_VERBS = frozenset("is are was were do does did has have had".split())
_BARE = _NAME_WORDS | frozenset(
    "who whom which is are was were am s re a an the again now still today this that what whose"
    .split()
)  # fmt: skip
"""Words that may stand beside the words for somebody."""
_PATH_WORDS = frozenset({"related", "relation", "relationship", "connected", "connection"})
_PATH_FILLERS = frozenset("how what is are am was the between and to of with each other".split())


class Token(NamedTuple):
    """A word of a question, or one of the things it names; ``mention`` is -1 for a word."""

    word: str
    mention: int = -1
    is_possessive: bool = False


class Wording:
    """A question, word by word, with the numbers of what it names.

    ``words`` name nobody; ``named`` are the numbers of what it names, in order, each once; ``wh``
    is its question word, or empty; ``content`` are position and concept of each word that says
    something. It has no token if it cannot ask for a relation.
    """

    def __init__(
        self,
        question: Words,
        named: Mapping[int, tuple[int, int]],
        asker: int,
        times: Sequence[tuple[int, int]],
        stems: Stems,
    ) -> None:
        """Read a question.

        Args:
            question: Its words.
            named: By the first word of what it names: how many words that has, and its number.
            asker: The number that *I* and *my* name; -1 where they name nobody.
            times: The characters of its words for a time, which are left out.
            stems: Splits a text into (word, stem) pairs.
        """
        self._asker, self._stems = asker, stems
        opening = len(question.text) - len(without_opening(question.text))
        left_out = {
            at
            for at, (start, end) in enumerate(question.spans)
            if start < opening or any(first <= start and end <= last for first, last in times)
        }
        plain = {word for at, word in enumerate(question.plain) if at not in left_out}
        asks = len(question.plain) - len(left_out) <= MAX_WORDS and not any(
            word in _NEGATIONS | _SPEECH or word.endswith(("n't", "n’t")) for word in plain
        )
        self.tokens: list[Token] = []
        at = 0 if asks else len(question.plain)
        while at < len(question.plain):
            word, n = question.plain[at], 1
            before = self.tokens[-1].word if self.tokens else ""
            # In *Whose uncle is Ann?* no name is meant, also where somebody is called Uncle.
            is_role = word in KINSHIP_ROLES and before in {"whose", "the", "a", "an"}
            if at in named and not (named[at][0] == 1 and is_role):
                n, number = named[at]
                token = Token("", number, question.is_possessive(at + n - 1))
            elif asker >= 0 and word in ASKER_WORDS:
                token = Token("", asker, word in {"my", "our"})
            else:
                token = Token(word)
            if at not in left_out:
                self.tokens.append(token)
            at += n
        self.words = frozenset(token.word for token in self.tokens if token.mention < 0)
        mentioned = [token.mention for token in self.tokens if token.mention >= 0]
        self.named = tuple(dict.fromkeys(mentioned))
        self.wh = next((token.word for token in self.tokens if token.word in _WH), "")
        skipped = _SAYING_NOTHING | (_NAME_WORDS if self.wh in {"what", ""} else set())
        opens = self.wh or (self.tokens and self.tokens[0].word in _OPENING_VERBS)
        content = [
            (at, concept(token.word, stems))
            for at, token in enumerate(self.tokens)
            if opens and token.mention < 0 and token.word not in skipped
        ]
        self.content = content if len(content) <= MAX_CONTENT_WORDS else []

    @property
    def asks_past(self) -> bool:
        """Whether it asks for what has ended."""
        return not _PAST_WORDS.isdisjoint(self.words)

    @property
    def asks_who(self) -> bool:
        """Whether it asks for nothing but who somebody is."""
        return "who" in self.words and self.words <= _BARE - _NAME_WORDS and len(self.tokens) < 6

    def asks_identity(self, described: Collection[str]) -> bool:
        """Whether it asks who a phrase such as *my wife* means, or what they are called.

        ``described`` are further words that may stand beside it: *swimming* of a coach.
        """
        asks = {"who", "whom", "whose", "which"} if "what" not in self.words else _NAME_WORDS
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

    def is_answered_by(
        self, relation: RelationWords, ends: tuple[frozenset[int], frozenset[int]], other_name: str
    ) -> bool:
        """Whether a relation states all that it asks.

        Args:
            relation: The relation.
            ends: The mentions that stand for its subject, and for its object.
            other_name: The name of the end that stands for no mention.
        """
        asked = {word for _, word in self.content}
        other_words = self._stems(other_name.casefold())
        of_other = {concept(word, self._stems) for word, _ in other_words}
        others = set(self.named) - {self._asker}
        at_ends = ends[0] | ends[1]
        return (
            relation.phrase not in IS_A
            and len(relation.core & asked) >= MIN_COVERAGE * len(relation.core)
            and asked <= relation.all | of_other
            and (self.asks_past or not relation.has_ended)
            and (at_ends >= others if others else bool(at_ends))
            and self._fits_question_word(relation, asked)
            and (all(ends) or relation.is_symmetric or self._in_its_place(relation, ends))
        )

    def _fits_question_word(self, relation: RelationWords, asked: Collection[str]) -> bool:
        if "with" in self.words and "with" not in relation.phrase.split(" "):
            return False
        if self.wh == "where":
            # *Where did Mia go?* asks for today, and not for her school.
            return relation.is_place and not _LIGHT.issuperset(asked)
        return self.wh != "how" or "long" in self.words

    def _in_its_place(
        self, relation: RelationWords, ends: tuple[frozenset[int], frozenset[int]]
    ) -> bool:
        """Whether the one named has the part in the question that they have in the relation."""
        named = ends[0] | ends[1]
        places = [at for at, token in enumerate(self.tokens) if token.mention in named]
        for head in [at for at, word in self.content if word in relation.core]:
            for place in places:
                part = self._part(place, head)
                does = not self.words.isdisjoint({"do", "does", "did"})
                if part == "owner" and self.wh == "what" and does:
                    return False
                if part is not None:
                    return relation.is_subject(part, self.tokens[head].word) == bool(ends[0])
        return True

    def _part(self, place: int, head: int) -> Part | None:
        """Return the part of the thing named at ``place`` in what the word at ``head`` says."""
        after = self.tokens[head + 1].word if head + 1 < len(self.tokens) else ""
        while head and self.tokens[head - 1].word in _PAST_WORDS:
            head -= 1
        before = self.tokens[head - 1].word if head else ""
        if before in {"what", "which"}:
            return None
        if before == "whose":
            return "doer"
        if place < head:
            if self.tokens[place].is_possessive:
                return "owner"
            return "receiver" if after == "by" else "doer"
        if after == "of" or (after in {"for", "to"} and before in {"the", "a", "an"}):
            return "owner"
        return "receiver"


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
    def of(cls, relation: str, stems: Stems) -> RelationWords:
        """Read a stored relation."""
        phrase = relation_phrase(relation)
        written = phrase.split(" ")
        words = [word for word in written if word not in _FUNCTION_WORDS | _PAST_WORDS]
        concepts = {concept(word, stems) for word in words or written}
        core = frozenset(concepts - _LIGHT or concepts)
        if concepts == {"go"} and phrase.endswith((" to", " at")):
            core |= {"study"}  # Somebody *goes to* a school.
            concepts.add("study")
        return cls(phrase, core, frozenset(concepts), not _PAST_WORDS.isdisjoint(written))

    @property
    def single_valued(self) -> frozenset[str]:
        """Its concepts of which only the newest of one person's relations holds."""
        return self.core & _SINGLE_VALUED

    @property
    def is_symmetric(self) -> bool:
        """Whether it holds both ways: *plans vacation with*, *married to*."""
        meaning = meaning_of(self.phrase)
        if meaning is not None and INVERSE[meaning.link] == meaning.link:
            return True
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
        is_noun = not first.endswith(("s", "ed")) or first.endswith("ss")
        if last == "of":
            return part == "doer"
        if first == "has" or (" " not in self.phrase and is_noun):
            return part == "owner"
        if part == "owner":
            return (word in _ATTRIBUTES) != (last == "by")
        return (part == "doer") != (last == "by")


def concept(word: str, stems: Stems) -> str:
    """Return what a word means among relations: a concept, or its stem.

    A doer has the stem of the doing, *gardener* that of *gardens*.
    """
    known = _CONCEPT_OF.get(word)
    if known is not None:
        return known
    stem = next((stem for _, stem in stems(word)), word)
    return stem[:-2] if len(stem) > 5 and stem.endswith(("er", "or")) else stem

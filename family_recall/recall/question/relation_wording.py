"""Read whether a question asks for a relation, such as *Who is Ann married to?*.

A question is written out with a placeholder for each person or thing that it names, and compared
with the forms in which people ask who is what to whom. It asks for a relation only if no word of
it is left over: *Where does Ann live with her cat?* asks for more than a relation tells.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from family_recall.english.kinship import INVERSE, KINSHIP_ROLES, KinshipRole
from family_recall.english.relation_vocabulary import FUNCTION_WORDS, NAME_WORDS, NEGATIONS, SPEECH
from family_recall.recall.question.entities import ASKER_WORDS, Mention, Resolution

MAX_WORDS = 16
"""Words of the longest question that may ask for a relation."""

MAX_DESCRIBING = 2
"""Words that may describe a role beyond its noun."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_LEAD = re.compile(
    r"^(?:(?:hey|hi|ok|okay|so|and|but|well|please) )*(?:(?:can|could|would|do|did) you )?"
    r"(?:please )?(?:(?:tell|remind|show|give) <\d>(?:'s)? |know |remember |name )?"
)
_AUX = r"(?:(?:do|does|did|is|am|are|was|were|has|have|had|been|get|got|gets) )*"
_X = r"(?:(?:the|this|that|a) )?<(?P<x>\d)>(?:'s)?"
_DET = r"(?:(?:the|a|an|any|some) )?"
_NOUNS = "|".join(sorted(map(re.escape, KINSHIP_ROLES), key=len, reverse=True))
_ROLE = rf"(?P<described>(?:[^\W<>]+ ){{0,{MAX_DESCRIBING}}}?)(?P<role>{_NOUNS})"
_FORMS = tuple(
    (re.compile(rf"(?:^|(?<= )){form}(?= |$)"), direction)
    for direction, form in (
        ("role", rf"{_DET}{_ROLE} (?:of|to) {_X}"),
        ("role", rf"(?:do|does|did|have|has) {_X} (?:have |has |got )*{_DET}{_ROLE}"),
        ("role", rf"{_ROLE} (?:do|does|did|have|has) {_X} (?:have|has|got)"),
        ("inverse", rf"{_X} {_AUX}{_DET}{_ROLE} (?:of|to)"),
        ("inverse", rf"whose {_ROLE} (?:is|was|are|were) {_X}"),
        ("inverse", rf"{_X} (?:is|was|are|were) whose {_ROLE}"),
        ("spouse", rf"{_AUX}{_X} {_AUX}(?:married|marry|engaged)(?: to)?"),
        ("spouse", rf"{_AUX}(?:married to|marry|married|engaged to) {_X}"),
        ("owner", rf"(?:owns|owned|{_DET}owner of) {_X}"),
        ("owner", rf"{_AUX}{_X} (?:belong|belongs|belonged)(?: to)?"),
        ("owner", rf"whose (?:is|are|was) {_X}"),
        ("owner", rf"{_X} owner"),
        ("pet", rf"{_AUX}{_X} (?:own|owns|owned)"),
    )
)
_TRIGGERS = frozenset(
    "married marry engaged own owns owned owner belong belongs belonged whose".split()
) | {noun.split(" ", maxsplit=1)[0] for noun in KINSHIP_ROLES}
_SAID = SPEECH - {"tell", "remember"}  # *Tell me who my brother is.*
_BARE = frozenset(
    """
    who whom which how many long when since is are was were am s re a an the exactly again now
    then please still today currently this that
    """.split()
)
_IDENTITY = frozenset({"who", "whom", "whose", "which", "many"})
_BEFORE_ROLE = frozenset({"whose", "the", "a", "an", "any"})
_PATH_WORDS = frozenset({"related", "relation", "relationship", "connected", "connection"})
_PATH_FILLERS = frozenset("how what is are am was the between and to of with each other".split())


class Token(NamedTuple):
    """A word of a question, or one of the things it names; ``mention`` is -1 for a word."""

    word: str
    mention: int = -1
    is_possessive: bool = False


@dataclass(frozen=True)
class Wording:
    """A question, word by word, with what it names.

    The asker, where *I* or *my* stands in it, is the last of the mentions.
    """

    tokens: tuple[Token, ...]
    mentions: tuple[Mention, ...]
    asker: int = -1

    @functools.cached_property
    def words(self) -> tuple[str, ...]:
        """The words that name nobody."""
        return tuple([token.word for token in self.tokens if token.mention < 0])

    @functools.cached_property
    def named(self) -> frozenset[int]:
        """The mentions that stand in it."""
        return frozenset([token.mention for token in self.tokens if token.mention >= 0])

    @property
    def is_empty(self) -> bool:
        """Whether it cannot ask for a relation."""
        words = set(self.words)
        return (
            not self.named
            or "why" in words
            or not NEGATIONS.isdisjoint(words)
            or not SPEECH.isdisjoint(words)
            or any(word.endswith("n't") for word in words)
        )


@dataclass(frozen=True, slots=True)
class KinQuestion:
    """A question for who is something to somebody.

    ``role`` is None where the mention ``whose`` is a phrase such as *my wife*, already resolved.
    ``other`` is the mention that a question to be answered by yes or no names besides;
    ``described`` are further words beside the noun of the role, which the relation must hold:
    *former* of a carer. ``is_inverse`` where ``whose`` has the role, and the question is to whom.
    """

    whose: Mention
    role: KinshipRole | None = None
    other: Mention | None = None
    described: frozenset[str] = frozenset()
    noun: str = ""
    is_inverse: bool = False


def read_wording(question: str, resolution: Resolution) -> Wording:
    """Split a question into words and what it names.

    Empty if it names nobody, is long, or is about what somebody said: most questions are, and
    pay for no more than that.
    """
    plain = question.casefold().split()
    if len(plain) > MAX_WORDS or not _SAID.isdisjoint(plain):
        return Wording((), ())
    mentions = [one for one in resolution.mentions if one.role or not _is_kind(one.words)]
    if not mentions and not (resolution.asker and resolution.asker_is_named):
        return Wording((), ())
    asker = len(mentions) if resolution.asker else -1
    if resolution.asker:
        mentions.append(Mention("i", resolution.asker))
    words = _words(question)
    if len(mentions) > 9:
        return Wording((), ())
    tokens = _tokens(words, mentions, asker)
    written = _written(tokens)
    lead = _LEAD.match(written)
    n = len(lead.group().split()) if lead else 0
    return Wording(tuple(tokens[n:]), tuple(mentions), asker)


def kin_question(wording: Wording) -> KinQuestion | None:
    """Read a question for a relative, a spouse, an owner or a pet; None if it is another."""
    role_phrase = _role_phrase_question(wording)
    if role_phrase is not None or _TRIGGERS.isdisjoint(wording.words):
        return role_phrase
    written = _written(wording.tokens)
    for form, direction in _FORMS:
        match = form.search(written)
        if match is None:
            continue
        parts = match.groupdict()
        before_role = (parts.get("described") or "").split()
        described = frozenset(before_role) - FUNCTION_WORDS - _BARE
        rest = f"{written[: match.start()]} {written[match.end() :]}".split()
        rest += [word for word in before_role if word not in described]
        other = [token for token in rest if token.startswith("<")]
        words = [token for token in rest if not token.startswith("<")]
        if len(other) <= 1 and _BARE.union(NAME_WORDS, ("whose", "what")).issuperset(words):
            if "what" in words and direction != "pet" and NAME_WORDS.isdisjoint(words):
                continue
            named = wording.mentions[int(other[0][1])] if other else None
            whose = wording.mentions[int(match["x"])]
            noun = parts.get("role") or ""
            role, is_inverse = _role(direction, noun), direction == "inverse"
            return KinQuestion(whose, role, named, described, noun, is_inverse)
    return None


def person_question(wording: Wording) -> Mention | None:
    """Return whom a question like *Who is Ann?* is about; None if it asks for something else."""
    (*others,) = wording.named
    words = set(wording.words)
    is_plain = len(others) == 1 and "who" in words and words <= _BARE - {"many", "long", "when"}
    return wording.mentions[others[0]] if is_plain and len(wording.tokens) < 6 else None


def path_question(wording: Wording) -> tuple[Mention, Mention] | None:
    """Return the two of whom a question asks how they are related; None if it does not."""
    if len(wording.named) != 2:
        return None
    named = list(dict.fromkeys(t.mention for t in wording.tokens if t.mention >= 0))
    words = set(wording.words)
    written = _written(wording.tokens)
    asks = bool(words & _PATH_WORDS) and words - _PATH_WORDS <= _PATH_FILLERS
    if asks or re.fullmatch(r"who (?:is|are|was|am) <\d> to <\d>", written):
        return wording.mentions[named[0]], wording.mentions[named[1]]
    return None


def _role_phrase_question(wording: Wording) -> KinQuestion | None:
    """Read *Who is my wife?*, *What is Ann's brother called?* and *Is Bo my brother?*."""
    roles = [index for index in wording.named if wording.mentions[index].role]
    others = [index for index in wording.named if not wording.mentions[index].role]
    words = set(wording.words)
    if len(roles) != 1 or len(others) > 1:
        return None
    phrase = wording.mentions[roles[0]]
    if others:
        is_yes_or_no = words <= {"is", "are", "was", "were", "still"}
        return KinQuestion(phrase, None, wording.mentions[others[0]]) if is_yes_or_no else None
    by_name = "what" in words and not NAME_WORDS.isdisjoint(words)
    asks = by_name or not _IDENTITY.isdisjoint(words) or not words
    allowed = _BARE.union(NAME_WORDS, ("what", "whose")) if by_name else _BARE | {"name", "names"}
    described = frozenset(words - allowed)
    if not asks or len(described) > MAX_DESCRIBING or described & FUNCTION_WORDS:
        return None
    return KinQuestion(phrase, described=described, noun=phrase.role)


def _is_kind(words: str) -> bool:
    """Whether a name is what animals are called: *dog*, where *Biscuit is a dog* is stored."""
    return words in KINSHIP_ROLES and KINSHIP_ROLES[words].link == "pet"


def _role(direction: str, noun: str) -> KinshipRole:
    if direction == "role":
        return KINSHIP_ROLES[noun]
    return KinshipRole(INVERSE[KINSHIP_ROLES[noun].link] if direction == "inverse" else direction)


def _words(question: str) -> list[tuple[str, bool]]:
    """Return each word, normalised, and whether it is a possessive."""
    text = unicodedata.normalize("NFKC", question).casefold().replace("’", "'")
    return [
        (word.removesuffix("'s"), word.endswith("'s") or text[match.end() : match.end() + 1] == "'")
        for match in _WORD.finditer(text)
        if (word := match.group())
    ]


def _tokens(
    words: Sequence[tuple[str, bool]], mentions: Sequence[Mention], asker: int
) -> list[Token]:
    tokens: list[Token] = []
    plain = [word for word, _ in words]
    names = [mention.words.split(" ") for mention in mentions[: len(mentions) - (asker >= 0)]]
    at = 0
    while at < len(words):
        word, is_possessive = words[at]
        n, index = 0, -1
        for number, name in enumerate(names):
            if name[0] == word and len(name) > n and plain[at : at + len(name)] == name:
                n, index = len(name), number
        # In *Whose uncle is Ann?* no name is meant, also where somebody is called Uncle.
        is_role = n == 1 and word in KINSHIP_ROLES and not mentions[index].role
        if n and not (is_role and tokens and tokens[-1].word in _BEFORE_ROLE):
            tokens.append(Token("", index, words[at + n - 1][1]))
        elif asker >= 0 and word in ASKER_WORDS:
            tokens.append(Token("", asker, word in {"my", "our"}))
        else:
            tokens.append(Token(word, is_possessive=is_possessive))
            n = 1
        at += max(n, 1)
    return tokens


def _written(tokens: Sequence[Token]) -> str:
    return " ".join(
        token.word if token.mention < 0 else f"<{token.mention}>" + "'s" * token.is_possessive
        for token in tokens
    )

"""The words of a text: in lower case, normalised, as search terms, and the names among them."""

from __future__ import annotations

import functools
import json
import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from importlib import resources
from typing import NamedTuple

MAX_QUESTION_CHARS = 20_000
"""Characters of a question that are read; the rest is ignored."""

STOP_WORDS = frozenset(
    """
    a about after again all also am an and any anybody anyone anything are aren as at be because
    been before being both but by can cannot could couldn d did didn do does doesn doing don
    down during each ever few for from further get gets got had hadn has hasn have haven having
    he her here hers herself him himself his how i if in into is isn it its itself just ll m ma
    me might more most much must my myself need no nor not now of off on once only or other our
    ours out over own please re recall remember s said same say says she should so some somebody
    someone something such t tell than that the their theirs them themselves then there these
    they thing things this those through to told too under until up us ve very was wasn we were
    weren what when where which while who whom whose why will with won would you your yours
    yourself
    """.split()
)

MAX_RELATED_WORDS = 32
"""Words of like meaning that are looked up, so that a question of any length costs the same."""

LONGEST_NAME = 8
"""Words in the longest name that is recognised."""

EVERYDAY_WORDS = STOP_WORDS | frozenset(
    """
    amber april art august autumn basil bill bob carol chase chip daisy dawn dean drew earnest
    eve faith frank gene grace grant guy harmony heather holly hope iris ivy jack jean jay josh
    joy june lance mark mason may melody miles nick olive pat patience pearl penny pierce poppy
    rob robin rose ruby rusty sandy skip sky stew sue summer sunny tony violet wade ward will
    willow winter woody
    """.split()
)

FILLERS = frozenset(
    """
    a actually all also an and anyway are as be been by but dear for from fyi has have hello hey hi
    i is it its just love me my note of oh ok okay our please ps quick reminder remember right
    so sorry that the there this thanks to update us was we well were will with you your
    """.split()
)
"""Words that one of two copies may have more: they tell nothing of a value."""

SELF = frozenset(("i", "my", "me", "mine"))
"""Words by which people speak of themselves."""

_PLAIN_LETTERS = str.maketrans("İıſ", "iis")
_RUN = re.compile(r"[^\W_]+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_RUNS_ALONE = bytes(at if at < 128 and chr(at).isalnum() else ord(" ") for at in range(256))
_POSSESSIVE = re.compile(r"['’]s?$")


def lowered(text: str) -> str:
    """Return a text in lower case, as long as it was: patterns that ignore case are slow.

    A pattern in lower case matches there what it matches in the text itself where it ignores case.

    >>> lowered("What TIME is it?")
    'what time is it?'
    """
    # Where case is ignored, these match a plain letter; in lower case they are others, or two.
    return (text if text.isascii() else text.translate(_PLAIN_LETTERS)).lower()


def whole_words(lines: str) -> re.Pattern[str]:
    """Return a pattern of whole words in lower case, with one alternative per line."""
    alternatives = "|".join(line.strip() for line in lines.strip().splitlines())
    return re.compile(rf"(?<![\w'’])(?:{alternatives})(?!\w)")


def search_terms(stems: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Choose the search terms of (word, stem) pairs: each stem once, no stop words.

    A question of stop words alone keeps them all: "who am I?" still asks something.
    """
    pairs = list(stems)
    content = [pair for pair in pairs if pair[0].casefold() not in STOP_WORDS]
    return distinct(content or pairs)


def distinct(terms: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return (word, stem) pairs, each stem once, with the first word for it."""
    chosen: dict[str, str] = {}
    for word, stem in terms:
        chosen.setdefault(stem, word)
    return tuple((word, stem) for stem, word in chosen.items())


@functools.cache
def related_table() -> Mapping[str, tuple[str, ...]]:
    """Return the stems of like meaning by stem: *faucet* for *tap*, *vaccination* for *jab*.

    They add to a score a little: nothing is called an answer for them alone. The table is made by
    `tools/fit/related_words.py` from a list written by hand.
    """
    file = resources.files("family_recall.english").joinpath("related_words.json")
    record: dict[str, str] = json.loads(file.read_text("utf-8"))
    return {stem: tuple(others.split()) for stem, others in record.items()}


def related_words(terms: Sequence[tuple[str, str]]) -> list[tuple[int, str]]:
    """Return (number of the term, stem) of words of like meaning, but for the question's own.

    >>> related_words((("jab", "jab"), ("priya", "priya")))[:1]
    [(0, 'vaccin')]
    """
    known = related_table()
    own = {stem for _, stem in terms}
    pairs = [
        (number, other)
        for number, (_, stem) in enumerate(terms)
        for other in known.get(stem, ())
        if other not in own
    ]
    return pairs[:MAX_RELATED_WORDS]


def normalise(name: str) -> str:
    """Normalise a name for comparison: NFKC, lower case, single spaces.

    >>> normalise("  Grandma’s ")
    'grandma'
    """
    if name.isascii() and name.isalnum():
        return name.lower()
    return " ".join(_plain(_WORD.findall(unicodedata.normalize("NFKC", name))))


def names_in(
    text: str, known: Container[str], beginnings: AbstractSet[str] | None = None
) -> list[str]:
    """Find the known normalised names in a text, longest first, none inside another.

    A lower-case everyday word is no name: *may* is not *May*. ``beginnings`` are the first words
    of all known names: eight times faster for a caller that reads many texts.

    >>> names_in("Did Aunt May say she may come with priya?", {"may", "aunt may", "priya"})
    ['aunt may', 'priya']
    """
    text = text[:MAX_QUESTION_CHARS]
    if text.isascii() and "'" not in text:  # its words are its runs
        words, plain = runs_in(text), runs_in(text.lower())
    else:
        words = _WORD.findall(unicodedata.normalize("NFKC", text))
        plain = _plain(words)
    names: list[str] = []
    if beginnings is not None and beginnings.isdisjoint(plain):
        return names
    end = 0
    for at, word in enumerate(plain):
        if at < end or (beginnings is not None and word not in beginnings):
            continue
        name = _longest(plain, at, known)
        if name and not (name in EVERYDAY_WORDS and words[at][0].islower()):
            names.append(name)
            end = at + 1 + name.count(" ")
    return names


def _longest(plain: Sequence[str], at: int, known: Container[str], most: int = LONGEST_NAME) -> str:
    """Return the longest known name that begins at a word, or an empty text."""
    for n in range(min(most, len(plain) - at), 0, -1):
        name = " ".join(plain[at : at + n])
        if name in known:
            return name
    return ""


class Words(NamedTuple):
    """The words of a text, in order: as they are written, normalised as names are, and where."""

    text: str
    written: list[str]
    plain: list[str]
    spans: list[tuple[int, int]]

    @classmethod
    def of(cls, text: str) -> Words:
        """Split the first :data:`MAX_QUESTION_CHARS` of a text."""
        matches = list(_WORD.finditer(text[:MAX_QUESTION_CHARS]))
        written = [match.group() for match in matches]
        plain = _plain(unicodedata.normalize("NFKC", word) for word in written)
        return cls(text, written, plain, [match.span() for match in matches])

    def is_possessive(self, at: int) -> bool:
        """Whether a word is *Mia's* or *kids'*, but not *what's*."""
        end = self.spans[at][1]
        ends_in_mark = "'" in self.text[end : end + 1].replace("’", "'")
        ends_in_s = self.written[at].endswith(("'s", "’s"))
        return (ends_in_s or ends_in_mark) and self.plain[at] not in STOP_WORDS

    def said(self, first: int, last: int) -> str:
        """Return some words as they are written, without the mark of what is theirs."""
        written = self.text[self.spans[first][0] : self.spans[last][1]]
        return written.removesuffix("'s").removesuffix("’s")

    def longest(self, at: int, known: Container[str], most: int = LONGEST_NAME) -> str:
        """Return the longest of some normalised names that begins at a word, or an empty text."""
        return _longest(self.plain, at, known, most)

    def name_at(self, at: int, known: Container[str]) -> str:
        """Return the same; but a lower-case everyday word, *may*, is no name."""
        name = self.longest(at, known)
        return "" if name in EVERYDAY_WORDS and self.written[at][0].islower() else name

    def is_name_next(self, at: int, known: Container[str]) -> bool:
        """Whether only a space parts a word from a name with a capital: *my brother Vikram*."""
        if at + 1 == len(self.plain) or not self.name_at(at + 1, known):
            return False
        between = self.text[self.spans[at][1] : self.spans[at + 1][0]]
        return between.isspace() and self.written[at + 1][0].isupper()


def runs_in(text: str) -> list[str]:
    """Return the runs of letters and digits of a text."""
    if not text.isascii():
        return _RUN.findall(text)
    # By way of bytes, which are translated at many times the speed.
    return text.encode("ascii").translate(_RUNS_ALONE).decode("ascii").split()


def _plain(words: Iterable[str]) -> list[str]:
    return [(word if word.isalnum() else _POSSESSIVE.sub("", word)).casefold() for word in words]

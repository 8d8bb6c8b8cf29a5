"""Generate a synthetic household of any size, and questions about it.

Words come from the shipped tokenizer's vocabulary, which lists English by frequency, with the
library's stop words in front; a word's chance falls as ``1 / (rank + 2.7)`` (Zipf-Mandelbrot).
So stop words are a little over half of all words, as in speech, and a content word occurs in about
one memory of two hundred. The plan of a household (words a memory, sessions of 20 memories, spaces
of very different size) follows the measurements this library was designed on.
"""

from __future__ import annotations

import datetime as dt
import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from family_recall.api import FamilyRecall
from family_recall.api.models import read_manifest, verify
from family_recall.api.understanding import STOP_WORDS
from family_recall.types import Grant, Memory, Person, Space

ASKER = "asha"
PEOPLE = (
    Person(ASKER, "Asha Rao", ("Mum", "Ash")),
    Person("vikram", "Vikram Rao", ("Dad", "Vik")),
    Person("leela", "Leela Rao", ("Lulu",)),
    Person("kabir", "Kabir Rao"),
    Person("meena", "Meena Iyer", ("Grandma", "Nani")),
)
LARGE = "shared:household"
SPACES = (
    (Space(LARGE, "shared", "Household"), 0.55),
    (Space(f"private:{ASKER}", "private", "Asha"), 0.18),
    (Space("shared:car", "shared", "Car"), 0.12),
    (Space("shared:garden", "shared", "Garden"), 0.08),
    (Space("shared:school", "shared", "School"), 0.05),
    (Space("shared:cottage", "shared", "Cottage"), 0.02),
)
"""Spaces and the share of the memories each holds; the asker may see them all."""

FRIENDS = (
    "Amara Bruno Chiara Dmitri Esther Farid Giulia Hamza Ingrid Jonas Keiko Lorenzo Mirela Niamh "
    "Oksana Paolo Quentin Rukmini Soren Tariq Ulrike Vaishnavi Wanda Xavier Yusuf Zofia"
).split()
PLANTED = (
    ("The spare key to the shed hangs behind the blue ladder",
     "Where does the spare key to the shed hang?"),
    ("The plumber charged ninety euros for repairing the boiler valve",
     "How much did the plumber charge for the boiler valve?"),
    ("Leela is allergic to pistachios, so the bakery makes her cake without them",
     "What nut is Leela allergic to?"),
    ("Our passports are in the green biscuit tin on top of the wardrobe",
     "Where are our passports?"),
    ("Vikram promised Kabir a telescope if he passes the swimming badge",
     "What did Vikram promise Kabir for the swimming badge?"),
    ("The vet said Biscuit needs his vaccination booster before the kennel takes him",
     "What does the vet say Biscuit needs before the kennel?"),
    ("Grandma lands at terminal four on Saturday evening and wants to be collected",
     "At which terminal does Grandma land?"),
    ("The wifi password at the cottage is written under the toaster",
     "Where is the wifi password of the cottage written?"),
)  # fmt: skip
"""Memories of the large space, each with a question that must find it among the first ten."""

N_TURNS = 20  # memories a session
ORDER_EVERY = 100  # one memory in this many quotes an order
MEAN_WORDS, _FEWEST_WORDS = 20, 6
_NAME_CHANCE = 0.5  # of a memory naming a friend
_START = dt.datetime(2015, 1, 1, 7, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the doc_id of the memory it must find, for a planted one."""

    text: str
    planted: str | None = None


@functools.cache
def vocabulary() -> tuple[str, ...]:
    """Return English words, most frequent first, the library's stop words before all others.

    Raises:
        ModelError: If the shipped tokenizer is not there.
    """
    entry = read_manifest().find_entry("embedder")
    assert entry is not None  # noqa: S101  the shipped manifest has one
    pieces = json.loads(verify(entry.tokenizer).read_text("utf-8"))["model"]["vocab"]
    words = [
        word
        for word, _ in sorted(pieces.items(), key=lambda item: item[1])
        if len(word) > 1 and word.isalpha() and word.isascii()
    ]
    return tuple(
        [word for word in words if word in STOP_WORDS]
        + [word for word in words if word not in STOP_WORDS]
    )


@functools.cache
def chances() -> npt.NDArray[np.float64]:
    """Return the chance of each word of the vocabulary."""
    share = 1.0 / (np.arange(len(vocabulary()), dtype=np.float64) + 2.7)
    chance: npt.NDArray[np.float64] = share / share.sum()
    return chance


def memories(n: int, *, seed: int = 0) -> Iterator[Memory]:
    """Generate n memories in the order of their dates, the planted ones evenly among them."""
    rng = np.random.default_rng(seed)
    words = np.array(vocabulary())
    cumulative = chances().cumsum()
    spaces = [space.space_id for space, _ in SPACES]
    shares = np.array([share for _, share in SPACES])
    authors = [person.name.split()[0] for person in PEOPLE]
    known = 1.0 / (np.arange(len(FRIENDS)) + 4.0)
    known /= known.sum()
    planted = planted_at(n)
    space, moment = spaces[0], _START
    for at in range(n):
        if at % N_TURNS == 0:
            space = spaces[int(rng.choice(len(spaces), p=shares))]
            moment += dt.timedelta(minutes=float(rng.exponential(900.0)))
        moment += dt.timedelta(seconds=float(rng.integers(5, 60)))
        length = max(int(rng.poisson(MEAN_WORDS)), _FEWEST_WORDS)
        drawn = words[np.searchsorted(cumulative, rng.random(length))].tolist()
        if rng.random() < _NAME_CHANCE:
            drawn[int(rng.integers(length))] = FRIENDS[int(rng.choice(len(FRIENDS), p=known))]
        text = " ".join(drawn)
        if at % ORDER_EVERY == 1:
            text += f" ({order(at)})"
        yield Memory(
            text=PLANTED[planted[at]][0] if at in planted else text[0].upper() + text[1:],
            space_id=LARGE if at in planted else space,
            doc_id=f"planted-{planted[at]}" if at in planted else f"m{at}",
            author=authors[int(rng.integers(len(authors)))],
            session_id=f"S{at // N_TURNS:06d}" if at not in planted else None,
            occurred_at=moment,
        )


def planted_at(n: int) -> dict[int, int]:
    """Return the planted memory of each position that has one, among n memories."""
    return {(2 * i + 1) * n // (2 * len(PLANTED)): i for i in range(min(len(PLANTED), n))}


def order(at: int) -> str:
    """Return the order that the memory at a position quotes."""
    return f"order #{700_000 + at}"


def questions(n: int, n_memories: int, *, seed: int = 0) -> list[Question]:
    """Generate n questions: the planted ones first, then some about frequent words.

    Those have four content words on average, a name among them half of the time, and two or
    three stop words.
    """
    rng = np.random.default_rng([seed, 1])
    planted = sorted(planted_at(n_memories).values())
    made = [Question(PLANTED[i][1], f"planted-{i}") for i in planted]
    words, cumulative = np.array(vocabulary()), chances().cumsum()
    n_stop = sum(word in STOP_WORDS for word in words)
    while len(made) < n:
        drawn = words[np.searchsorted(cumulative, rng.random(40))].tolist()
        content = [word for word in drawn if word not in STOP_WORDS][: 2 + int(rng.integers(5))]
        if rng.random() < _NAME_CHANCE:
            content[0] = (*FRIENDS, *(p.name.split()[0] for p in PEOPLE))[int(rng.integers(31))]
        share = rng.random(1 + int(rng.integers(2))) * cumulative[n_stop - 1]
        at = np.searchsorted(cumulative, share)
        stop = words[at].tolist()
        text = ["what", *content[:1], *stop, *content[1:]]
        made.append(Question(" ".join(text).capitalize() + "?"))
    return made[:n]


def furnish(home: FamilyRecall) -> None:
    """Add people, spaces and grants to an empty household."""
    for person in PEOPLE:
        home.people.add(person)
    for space, _ in SPACES:
        home.spaces.add(space)
        if space.kind == "shared":
            for person in PEOPLE:
                home.spaces.grant(Grant(person.person_id, space.space_id))
    home.spaces.grant(Grant(ASKER, f"private:{ASKER}", role="owner"))

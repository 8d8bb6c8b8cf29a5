"""Change a clean question as somebody might say or type it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

OPENINGS = (
    "uh", "um", "so", "hey", "ok so", "hmm", "well", "quick question,", "wait,", "remind me,",
    "do you remember", "tell me", "can you tell me", "any idea", "I forgot,", "please,",
    "hey there,", "sorry,", "I was wondering", "just checking,", "question:", "do we know",
    "could you look up",
)  # fmt: skip
RESTARTS = ("no wait,", "I mean", "sorry,", "uh no,", "or rather", "er,", "hold on,")
SHARE_CHANGED = 0.25
SHORTEST_TO_MISSPELL = 4


def as_spoken(text: str, rng: random.Random) -> str:
    """Change one question in four as speech and typing do; the others stay as they are."""
    if rng.random() >= SHARE_CHANGED:
        return text
    change = rng.choice((_opening, _restart, _misspelt, _plain, _keywords))
    return change(text, rng) or text


def _opening(text: str, rng: random.Random) -> str:
    return f"{rng.choice(OPENINGS)} {text[:1].lower()}{text[1:]}"


def _restart(text: str, rng: random.Random) -> str:
    words = text.split()
    at = rng.randrange(1, 1 + len(words) // 2) if len(words) > 1 else 1
    again = max(0, at - rng.randrange(1, 3))
    return " ".join([*words[:at], rng.choice(RESTARTS), *words[again:]])


def _misspelt(text: str, rng: random.Random) -> str:
    words = text.split()
    long = [i for i, word in enumerate(words) if len(word) >= SHORTEST_TO_MISSPELL]
    for i in rng.sample(long, min(len(long), rng.randrange(1, 3))):
        word = words[i]
        at = rng.randrange(1, len(word) - 1)
        words[i] = rng.choice(
            (
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
                word[:at] + word[at + 1 :],
                word[:at] + word[at] + word[at:],
            )
        )
    return " ".join(words)


def _plain(text: str, rng: random.Random) -> str:
    bare = re.sub(r"[?!.,']", "", text)
    return bare.lower() if rng.random() < 0.7 else bare


def _keywords(text: str, rng: random.Random) -> str:
    """Keep the words of a search box, without those of grammar."""
    small = (
        "what when where who why how which did does do is are was were has have had the a an to of "
        "in on at for by with that it be been would about any kind"
    ).split()
    words = [word for word in text.rstrip("?.!").split() if word.lower() not in small]
    return " ".join(words).lower() if rng.random() < 0.5 else " ".join(words)

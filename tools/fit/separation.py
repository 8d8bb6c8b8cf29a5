"""Check that the households that we tune and measure on share no text with what trains models.

A training text that repeats a run of words, or a whole question, of a household would make figures
there meaningless. Compares every household of `tools/fit/households` and `held_out` with the cards,
the written homes, and the `pairs.jsonl.gz` of each folder named; ends with status 1 if anything is
shared.

Examples:
  python -m tools.fit.separation
  python -m tools.fit.separation ~/mined/invented ~/sets/train/friendsqa
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tools.common import ROOT, parser_of
from tools.train.cards import loader as cards
from tools.train.homes import loader as homes

HOUSEHOLDS = ROOT / "tools/fit/households"
HELD_OUT = ROOT / "tools/fit/held_out"
RUN_WORDS = 8
"""Consecutive words that two texts written apart do not share; shorter questions count whole."""

LEAST_WORDS = 4
"""Shorter questions ("how old is mum") are said in every home."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print every shared run, and return whether there is one."""
    parser = parser_of(__doc__)
    parser.add_argument("folders", type=Path, nargs="*", help="hold a pairs.jsonl.gz each")
    options = parser.parse_args(arguments)
    own = {
        household.name: runs_of(household_texts(household / "dev"))
        for household in sorted([*HOUSEHOLDS.iterdir(), *HELD_OUT.iterdir()])
        if household.is_dir()
    }
    own["many hands"] = runs_of(home_texts(homes.MANY_HANDS_HELD_OUT))
    training = {f"cards {path.name}": card_texts(path) for path in (cards.CARDS, cards.HELD_OUT)}
    written = (homes.TRAINING, homes.HELD_OUT, homes.MANY_HANDS, homes.MANY_HANDS_CONSTANTS)
    training |= {f"homes {path.name}": home_texts(path) for path in written}
    training |= {str(folder): pair_texts(folder / "pairs.jsonl.gz") for folder in options.folders}
    n_shared = 0
    for name, texts in training.items():
        for text in texts:
            found = runs_of([text])
            for household, runs in own.items():
                for run in sorted(found & runs):
                    n_shared += 1
                    print(f"{household} and {name} share: {run}")
    print(f"{len(own)} households, {len(training)} sets of training texts, {n_shared} shared runs")
    return 1 if n_shared else 0


def runs_of(texts: Iterable[str]) -> set[str]:
    """Return the runs of :data:`RUN_WORDS` words in some texts, and their questions as a whole.

    >>> sorted(runs_of(["Where does Lia swim?", "Lia swims"]))
    ['where does lia swim']
    """
    runs = set()
    for text in texts:
        words = re.findall(r"\w+", text.casefold())
        runs |= {" ".join(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1)}
        if text.rstrip().endswith("?") and LEAST_WORDS <= len(words) < RUN_WORDS:
            runs.add(" ".join(words))
    return runs


def household_texts(folder: Path) -> Iterator[str]:
    """Yield the memories of a dataset, and its questions with a question mark."""
    for name, mark in (("memories", ""), ("queries", "?")):
        for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines():
            yield json.loads(line)["text"].rstrip("?") + mark


def card_texts(path: Path) -> Iterator[str]:
    """Yield every text of a file of cards."""
    for card in cards.read_cards(path):
        yield from card.near
        for fact in card.facts:
            yield from (*fact.says, *fact.hints)
            yield from (question.rstrip("?") + "?" for question in fact.asks)


def home_texts(path: Path) -> Iterator[str]:
    """Yield every text of a file of written homes."""
    for home in homes.read_homes(path):
        yield from (memory.text for memory in home.memories)
        yield from (question.text.rstrip("?") + "?" for question in home.questions)


def pair_texts(path: Path) -> Iterator[str]:
    """Yield the texts of a file of training pairs."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            pair = json.loads(line)
            yield from (
                pair["query"].rstrip("?") + "?",
                pair["positive"] or "",
                *pair["hard_negative"],
            )


if __name__ == "__main__":
    sys.exit(main())

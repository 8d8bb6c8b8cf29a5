"""Make the table of words of like meaning from the list of them in `related_words.txt`.

Each line of the list holds a word that people use in a question, and the words that a memory may
have in its place: another region's (*tap*, *faucet*), another register's (*jab*, *vaccination*), a
part of it or what is usually said of the same thing (*graduate*, *passed*). A line works in its own
direction only: who asks about a clinic may mean the vet, and not the other way round; unless it
begins with =, for words that each stand for each other. Lines that begin with # are comments. The
list was written by hand, for this project.

The table holds the words as the index stems them, so that a recall needs no more than one
dictionary.

Examples:
  python -m tools.fit.related_words
  python -m tools.fit.related_words --output /tmp/related_words.json
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from family_recall.english.text import STOP_WORDS
from family_recall.store.words import split
from tools.common import ROOT, parser_of, write_json

WORDS = ROOT / "tools/fit/related_words.txt"
OUTPUT = ROOT / "family_recall/english/related_words.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(arguments)
    table = table_of(WORDS.read_text("utf-8").splitlines(), split)
    write_json(options.output, {stem: " ".join(others) for stem, others in sorted(table.items())})
    print(f"{len(table)} words with {sum(map(len, table.values()))} others: {options.output}")
    return 0


def table_of(
    lines: Iterable[str], split: Callable[[str], list[tuple[str, str]]]
) -> dict[str, list[str]]:
    """Return the stems of like meaning by stem, in the order of the lines, none twice.

    >>> table_of(["jab vaccination vaccine", "# health"], split)
    {'jab': ['vaccin']}

    Raises:
        ValueError: If a line holds one word alone, or one that searches leave out.
    """
    table: dict[str, list[str]] = {}
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        both_ways = line.startswith("=")
        stems = [_stem(word, split) for word in line.removeprefix("=").split()]
        if len(stems) < 2:
            raise ValueError(f"a line needs a word and others, got {line!r}")
        for stem in stems if both_ways else stems[:1]:
            others = table.setdefault(stem, [])
            others += [each for each in dict.fromkeys(stems) if each not in {*others, stem}]
    return {stem: others for stem, others in table.items() if others}


def _stem(word: str, split: Callable[[str], list[tuple[str, str]]]) -> str:
    pairs = split(word)
    if len(pairs) != 1 or word.casefold() in STOP_WORDS:
        raise ValueError(f"{word!r} is no single word that is searched for")
    return pairs[0][1]


if __name__ == "__main__":
    sys.exit(main())

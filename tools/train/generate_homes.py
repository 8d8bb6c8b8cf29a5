"""Generate households as a dataset of conversations and questions, from conversation cards.

Each home is one space: a few people who talk in pairs, some cards a session, over a year of
invented days. The dataset is `memories.jsonl` and `queries.jsonl`, so that our own pipeline can be
asked and its mistakes become hard negatives.

Examples:
  python -m tools.train.generate_homes --out ~/invented --homes 60
  python -m tools.train.mine_negatives ~ --sets invented --out ~/mined
  python -m tools.train.generate_homes --cards tools/train/cards/held_out.jsonl --homes 5 \
    --seed 23 --without hint --out ~/held_out_homes
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tools.common import parser_of
from tools.train.cards.loader import CARDS, read_cards
from tools.train.conversations import session_of, two_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tools.train.cards.loader import Card

CARDS_PER_HOME = 60
CARDS_PER_SESSION = 3
FIRST_DAY = dt.date(2024, 1, 1)
Record = dict[str, object]


def main(argv: Sequence[str] | None = None) -> int:
    """Write `OUT/dev/memories.jsonl` and `OUT/dev/queries.jsonl`."""
    args = parser().parse_args(argv)
    rng = Random(args.seed)
    cards = read_cards(args.cards)
    folder = args.out / "dev"
    folder.mkdir(parents=True, exist_ok=True)
    with (
        (folder / "memories.jsonl").open("w", encoding="utf-8") as memories,
        (folder / "queries.jsonl").open("w", encoding="utf-8") as queries,
    ):
        for home in range(args.homes):
            for is_query, record in generate(f"home-{home:03d}", cards, rng):
                if record.get("category") in args.without:
                    continue
                out = queries if is_query else memories
                out.write(json.dumps(record, ensure_ascii=False) + "\n")
    return 0


def generate(space: str, cards: Sequence[Card], rng: Random) -> Iterator[tuple[bool, Record]]:
    """Yield the lines of one home, and its questions: (is a question, record)."""
    people = two_names(rng)
    drawn = rng.sample(cards, min(CARDS_PER_HOME, len(cards)))
    for start in range(0, len(drawn), CARDS_PER_SESSION):
        session = f"S{start // CARDS_PER_SESSION:03d}"
        day = FIRST_DAY + dt.timedelta(days=start * 6 + rng.randrange(12))
        for i, card in enumerate(drawn[start : start + CARDS_PER_SESSION]):
            part = session_of(card, people[i % 2], people[1 - i % 2], rng)
            for line in part.lines:
                yield (
                    False,
                    {
                        "id": f"{space}/{session}.{i}.{line.key}",
                        "text": line.text,
                        "speaker": line.speaker,
                        "occurred_at": day.isoformat(),
                        "session": session,
                        "space": space,
                    },
                )
            for n, (query, category, key) in enumerate(part.questions):
                yield (
                    True,
                    {
                        "id": f"{space}/{session}.{i}.q{n}",
                        "text": query,
                        "space": space,
                        "as_of": None,
                        "category": category,
                        "gold": [f"{space}/{session}.{i}.{key}"],
                        "asker": None,
                        "session": None,
                    },
                )


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = parser_of(__doc__)
    made.add_argument("--out", type=Path, required=True, help="folder to write dev/ into")
    made.add_argument("--homes", type=int, default=60, help="how many (default: 60)")
    made.add_argument("--cards", type=Path, default=CARDS, help="file of conversation cards")
    made.add_argument(
        "--without", nargs="*", default=[], metavar="CATEGORY", help="leave out: question, hint"
    )
    made.add_argument("--seed", type=int, default=17, help="of every draw (default: 17)")
    return made


if __name__ == "__main__":
    sys.exit(main())

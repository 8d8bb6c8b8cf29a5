"""Write the written homes out as a dataset, each home a space.

The dataset is `memories.jsonl` and `queries.jsonl`, as every other set: the pipeline's mistakes on
it become hard negatives, and constants are fitted on the homes that are held out.

Examples:
  python -m tools.train.written_homes --out ~/sets/written
  python -m tools.train.written_homes --homes tools/train/homes/held_out.jsonl \
    --out ~/sets/written_held_out
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tools.common import parser_of
from tools.train.homes.loader import TRAINING, read_homes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from tools.train.homes.loader import Home

FIRST_DAY = dt.date(2024, 1, 1)
LAST_DAY = 780
"""When the questions are asked: after the last memory."""

Record = dict[str, object]


def main(argv: Sequence[str] | None = None) -> int:
    """Write `OUT/dev/memories.jsonl` and `OUT/dev/queries.jsonl`."""
    args = parser().parse_args(argv)
    homes = read_homes(args.homes)
    folder = args.out / "dev"
    folder.mkdir(parents=True, exist_ok=True)
    for name, records_of in (("memories", memories_of), ("queries", queries_of)):
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as out:
            for home in homes:
                for record in records_of(home):
                    out.write(json.dumps(record, ensure_ascii=False) + "\n")
    return 0


def memories_of(home: Home) -> Iterator[Record]:
    """Yield a home's memories; those of one day are turns of one session, minutes apart."""
    turns: Counter[int] = Counter()
    for n, memory in enumerate(home.memories):
        turn = turns[memory.day]
        turns[memory.day] += 1
        day = FIRST_DAY + dt.timedelta(days=memory.day)
        hour = 8 + memory.day % 13  # talk begins at any time of the day
        yield {
            "id": f"{home.name}/{n}",
            "text": memory.text,
            "speaker": memory.speaker,
            "occurred_at": f"{day}T{hour:02d}:{turn:02d}:00",
            "session": f"S{memory.day:03d}",
            "space": home.name,
        }


def queries_of(home: Home) -> Iterator[Record]:
    """Yield a home's questions."""
    for n, question in enumerate(home.questions):
        yield {
            "id": f"{home.name}/q{n}",
            "text": question.text,
            "space": home.name,
            "as_of": (FIRST_DAY + dt.timedelta(days=LAST_DAY)).isoformat(),
            "category": question.kind,
            "gold": [f"{home.name}/{place}" for place in question.gold],
            "stale": [f"{home.name}/{place}" for place in question.stale],
            "asker": question.asker,
            "session": None,
        }


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = parser_of(__doc__)
    made.add_argument("--out", type=Path, required=True, help="folder to write dev/ into")
    made.add_argument("--homes", type=Path, default=TRAINING, help="file of written homes")
    return made


if __name__ == "__main__":
    sys.exit(main())

"""Write the written homes out as a dataset, each home a space; or each as a household of its own.

A dataset is `memories.jsonl` and `queries.jsonl`, as every other set: the pipeline's mistakes on
it become hard negatives, and constants are fitted on the homes that are held out. A household has
its people and who is whose mother besides, so that it can be asked by each of them, and follow-ups
after the question before; in a plain dataset these stand alone.

Examples:
  python -m tools.train.written_homes --out ~/sets/written
  python -m tools.train.written_homes --homes tools/train/homes/held_out.jsonl \
    --out ~/sets/written_held_out
  python -m tools.train.written_homes --homes tools/train/homes/many_hands_held_out.jsonl --each \
    --out ~/sets/many_hands_held_out
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tools.common import parser_of, write_json
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
    """Write `OUT/dev/memories.jsonl` and `OUT/dev/queries.jsonl`, or those of each home."""
    args = parser().parse_args(argv)
    homes = read_homes(args.homes)
    if not args.each:
        write(args.out / "dev", homes)
        return 0
    for home in homes:
        folder = args.out / home.name / "dev"
        write(folder, [home], follow=True)
        write_json(folder / "household.json", household_of(home))
    return 0


def write(folder: Path, homes: Sequence[Home], *, follow: bool = False) -> None:
    """Write the memories and questions of some homes into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    memories = [record for home in homes for record in memories_of(home)]
    queries = [record for home in homes for record in queries_of(home, follow=follow)]
    for name, records in (("memories", memories), ("queries", queries)):
        lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


def household_of(home: Home) -> Record:
    """Return the `household.json` of a home: its people, one shared space, who is whose what."""
    return {
        "now": (FIRST_DAY + dt.timedelta(days=LAST_DAY)).isoformat(),
        "people": [[name.casefold().replace(" ", "_"), name, []] for name in home.people],
        "spaces": {home.name: {"kind": "shared"}},
        "relations": [list(relation) for relation in home.kin],
    }


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


def queries_of(home: Home, *, follow: bool = False) -> Iterator[Record]:
    """Yield a home's questions; with `follow`, what follows another as it was asked."""
    for n, question in enumerate(home.questions):
        yield {
            "id": f"{home.name}/q{n}",
            "text": question.text if follow else question.alone or question.text,
            "space": home.name,
            "as_of": (FIRST_DAY + dt.timedelta(days=LAST_DAY)).isoformat(),
            "category": question.kind,
            "gold": [f"{home.name}/{place}" for place in question.gold],
            "stale": [f"{home.name}/{place}" for place in question.stale],
            "asker": question.asker,
            "session": None,
            "previous": question.after if follow else None,
        }


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = parser_of(__doc__)
    made.add_argument("--out", type=Path, required=True, help="folder to write dev/ into")
    made.add_argument("--homes", type=Path, default=TRAINING, help="file of written homes")
    made.add_argument("--each", action="store_true", help="each home a household of its own")
    return made


if __name__ == "__main__":
    sys.exit(main())

"""Print quality and cost of recall by age and size of households, from a `fleet eval` of them.

Examples:
  python -m tools.fleet.invent --out ./invented --homes 24
  family-recall fleet eval ./invented --ledger ./evaluated
  python -m tools.fleet.ages ./evaluated
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tools.common import parser_of
from tools.fleet.invent import MEMORIES_A_WEEK, YEARS

Row = dict[str, Any]
_TOLD, _OTHER = "told", "of another"


def main(argv: Sequence[str] | None = None) -> int:
    """Print a table by age, one by memories a week, and one line for all."""
    ledger: Path = parser().parse_args(argv).ledger
    from pyarrow import parquet  # noqa: PLC0415 -- the extra [fleet]

    homes = parquet.read_table(ledger / "households").to_pylist()
    asked = parquet.read_table(ledger / "questions").to_pylist()
    print(
        f"{'':<12} {'homes':>6} {'memories':>9} {'kB each':>8} {'found':>6} {'first':>6} "
        f"{'ok':>6} {'right':>6} {'wrong ok':>9} {'p50 ms':>7} {'p95 ms':>7}"
    )
    homes = [home for home in homes if home["error"] is None]
    for years in YEARS:
        line(f"{years:g} years", [h for h in homes if nearest(age(h), YEARS) == years], asked)
    for week in MEMORIES_A_WEEK:
        as_busy = [h for h in homes if nearest(a_week(h), MEMORIES_A_WEEK) == week]
        line(f"{week:g} a week", as_busy, asked)
    line("all", homes, asked)
    return 0


def line(name: str, homes: Sequence[Row], asked: Sequence[Row]) -> None:
    """Print what holds of some of the households.

    ``found`` is the share of answerable questions whose answer is among ten results, ``first`` of
    those where it is the first; ``ok`` the share of them that got this status, ``right`` how many
    of those were right; ``wrong ok`` the share of unanswerable questions that got it.
    """
    chosen = {home["household"]: home for home in homes}
    told = [q for q in asked if q["household"] in chosen and q["category"] == _TOLD]
    other = [q for q in asked if q["household"] in chosen and q["category"] == _OTHER]
    if not told or not other:
        return
    ok = [q for q in told if q["status"] == "ok"]
    times = [q["used_time_ms"] for q in (*told, *other)]
    memories = sum(home["memories"] for home in chosen.values())
    p50, p95 = np.percentile(times, (50, 95))
    right = f"{mean(q['first_is_right'] for q in ok):6.2f}" if ok else f"{'':>6}"
    print(
        f"{name:<12} {len(chosen):6} {memories / len(chosen):9,.0f} "
        f"{sum(home['bytes'] for home in chosen.values()) / memories / 1000:8.2f} "
        f"{mean(q['is_found'] for q in told):6.2f} {mean(q['first_is_right'] for q in told):6.2f} "
        f"{len(ok) / len(told):6.2f} {right} {mean(q['status'] == 'ok' for q in other):9.3f} "
        f"{p50:7.1f} {p95:7.1f}"
    )


def age(home: Row) -> float:
    """Return how many years lie between a household's first memory and its last."""
    return float(home["days"]) / 365.25


def a_week(home: Row) -> float:
    """Return how many memories a household has for each week of its life."""
    return float(home["memories"]) / max(float(home["days"]) / 7.0, 1.0)


def nearest(value: float, of: Sequence[float]) -> float:
    """Return the number that is nearest by ratio."""
    return min(of, key=lambda each: abs(math.log(max(value, 1e-3) / each)))


def mean(values: Any) -> float:
    """Return a mean of numbers, or a share of truths."""
    return float(np.mean(list(values)))


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = parser_of(__doc__)
    made.add_argument("ledger", type=Path, help="the ledger of fleet eval, with its tables")
    return made


if __name__ == "__main__":
    sys.exit(main())

"""Call the whole public surface with right and wrong values: clear errors alone may come of it.

Every public method of a household, of its parts and of what they return, every public class and
`from_json`, every command, every tool for language models, the MCP server and every page and form
get arguments of which some are sound, some of another meaning, and some of a wrong type. Allowed
are the errors of errors.py, a TypeError that Python raises for the call itself, click's errors and
a page's status below 500.

Each round starts from a copy of one household, and ends by opening and checking it: whatever was
accepted must leave a file that opens. A round depends on --seed and its number alone, so a run goes
on where another stopped, and a finding is repeated with --first and --rounds 1.

Examples:
  python -m tools.torture.surface --rounds 20
  python -m tools.torture.surface --rounds 1000 --first 20 --seed 3 --json surface.json
  python -m tools.torture.surface --only api --rounds 5
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from family_recall import Memory, Relation
from family_recall.api import FamilyRecall
from family_recall.errors import FamilyRecallError
from tools.common import parser_of, write_json
from tools.torture.household import HOME, add_family, note, open_home
from tools.torture.surface_calls import CALLERS, Call

CALLS_A_ROUND = 100
_WEIGHTS = {
    "api": 10,
    "open": 1,
    "tool": 4,
    "mcp": 2,
    "form": 3,
    "command": 1,
}  # a command takes as long as fifty calls


@dataclass(slots=True)
class Tally:
    """How calls ended, by surface and class, and what was found."""

    ended: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: list[dict[str, str]] = field(default_factory=list)

    def total(self) -> int:
        """Count the calls."""
        return self.ended.total()


def main(arguments: Sequence[str] | None = None) -> int:
    """Call, and print how calls ended; 1 if anything was found."""
    options = _parser().parse_args(arguments)
    tally = Tally()
    warnings.simplefilter("ignore")
    for number in range(options.first, options.first + options.rounds):
        call_round(tally, options.seed, number, options.only)
        if options.json:
            write_json(options.json, {"seed": options.seed, "next": number + 1, **report(tally)})
    show(tally, Console(width=None if sys.stdout.isatty() else 110))
    return 1 if tally.findings else 0


def report(tally: Tally) -> dict[str, Any]:
    """Return the tally as JSON."""
    ended: dict[str, dict[str, int]] = {}
    for (surface, name), n in sorted(tally.ended.items()):
        ended.setdefault(surface, {})[name] = n
    return {"calls": tally.total(), "ended": ended, "findings": tally.findings}


def call_round(tally: Tally, seed: int, number: int, only: Sequence[str] | None = None) -> None:
    """Make the calls of one round on a household of its own."""
    chance = random.Random(f"{seed}/{number}")
    with _in_scratch_folder() as folder:
        path = folder / "family.db"
        with open_home(path) as home:
            fill(home)
            names = [name for name in CALLERS if not only or name in only]
            callers = {name: CALLERS[name](home, path) for name in names}
            for _ in range(CALLS_A_ROUND):
                (name,) = chance.choices(names, [_WEIGHTS[name] for name in names])
                _make(tally, name, callers[name](chance), number)
        try:
            with open_home(path, create=False) as home:
                wrong = [finding.what for finding in home.maintenance.check() if finding.problem]
                home.recall("Who brought a cake?")
        except Exception:  # noqa: BLE001  what is searched for
            wrong = [traceback.format_exc(limit=-6)]
        if wrong:
            _find(tally, "file", "opening it after the round", "\n".join(wrong), number)


def fill(home: FamilyRecall) -> None:
    """Store a small household."""
    add_family(home)
    home.remember_many([note(f"note-{number}", 0, 1) for number in range(12)])
    home.relations.add(Relation("Priya", "sister of", "Rajesh", HOME, evidence=("note-1",)))
    home.remember(Memory("The code is 4471", HOME, doc_id="code", author="Priya", kind="fact"))
    home.forget("note-11", person_id="priya")


def _make(tally: Tally, surface: str, call: Call, number: int) -> None:
    try:
        ended = call.run()
    except FamilyRecallError as error:
        ended = type(error).__name__
    except click.exceptions.Exit as error:
        ended = f"exit {error.exit_code}"
    except (click.ClickException, click.Abort) as error:
        ended = type(error.__cause__ or error).__name__
    except TypeError as error:
        ended = "TypeError of the call itself"
        if not _is_of_the_call(error):
            ended = "TypeError"
            _find(tally, surface, call.text, traceback.format_exc(limit=-6), number)
    except Exception as error:  # noqa: BLE001  what is searched for
        ended = type(error).__name__
        _find(tally, surface, call.text, traceback.format_exc(limit=-6), number)
    if ended.startswith("status 5"):
        _find(tally, surface, call.text, ended, number)
    tally.ended[surface, ended] += 1


_CALLS_ON = ("checked_arguments", "_run")  # functions of the library that call what was called


def _is_of_the_call(error: TypeError) -> bool:
    """Whether Python refused the arguments before a line of the library ran."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return "family_recall" not in Path(last.filename).parts or last.name in _CALLS_ON


def _find(tally: Tally, surface: str, call: str, error: str, number: int) -> None:
    tally.findings.append(
        {"surface": surface, "round": str(number), "call": call[:600], "error": error[-1500:]}
    )


@contextlib.contextmanager
def _in_scratch_folder() -> Iterator[Path]:
    """Work in a folder of its own, with nothing to read on standard input."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="family_recall_surface_") as scratch:
        os.chdir(scratch)
        try:
            yield Path(scratch)
        finally:
            os.chdir(before)


def show(tally: Tally, console: Console) -> None:
    """Print how calls ended, and each kind of finding once."""
    names = sorted({name for name, _ in tally.ended})
    table = Table("ended", *names, title=f"{tally.total():,} calls")
    for ended in sorted({ended for _, ended in tally.ended}):
        table.add_row(ended, *(f"{tally.ended[name, ended]:,}" for name in names))
    console.print(table)
    kinds: dict[str, dict[str, str]] = {}
    for finding in tally.findings:
        lines = [line.strip() for line in finding["error"].splitlines() if line.strip()]
        places = [line for line in lines if "family_recall" in line and "line" in line]
        kinds.setdefault(f"{places[-1:]} {lines[-1]}"[:200], finding)
    for finding in kinds.values():
        console.print(
            f"{finding['surface']}, round {finding['round']}: {finding['call']}\n"
            f"{finding['error']}\n",
            markup=False, highlight=False,
        )  # fmt: skip
    console.print(f"{len(tally.findings)} findings of {len(kinds)} kinds")


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("--rounds", type=int, default=20, metavar="N", help="of 100 calls each (default: 20)")
    add("--first", type=int, default=0, metavar="N", help="number of the first (default: 0)")
    add("--seed", type=int, default=1, metavar="N", help="of chance (default: 1)")
    add("--only", action="append", choices=tuple(CALLERS), help="this surface alone; repeat")
    add("--json", type=Path, metavar="FILE", help="write the result there after each round")
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""Fill the disk at every write, and cut the power at any moment: a household stays whole.

``full`` makes each call of a household, again and again: the first time its first write fails, and
all that follow, the second time its second write, and so on, until it fails no more. The error must
be one of errors.py, what was stored before must be there, and once there is room the same call and
all checks must pass. Half of the time the disk is full; else it fails, or does when it syncs.

``cut`` records every write, sync, truncation and deletion while a household is written to, and
then puts disks together as a power cut may leave them: everything that was synced, and of the rest
any sectors of 512 bytes. Each must open, pass all checks, and hold what was stored before the last
sync, and then the first few of the steps that followed.

Examples:
  python -m tools.torture.disk full
  python -m tools.torture.disk full --only correct --only forget
  python -m tools.torture.disk cut --cuts 500 --seed 7
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from family_recall import Grant, Memory, Person, RecallContext, Space
from family_recall.api import FamilyRecall
from family_recall.errors import FamilyRecallError, StoreError
from tools.common import parser_of
from tools.torture import damaged
from tools.torture.household import HOME, Disk, note, open_home

MOST_WRITES = 60
"""Failures of one call at most: its first writes, and then some by chance."""
_SECTOR = 512
_FAILURES = (apsw.FullError, apsw.IOError)


@dataclass(slots=True)
class Tally:
    """How calls or cuts ended, by class, and what was found."""

    ended: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    by_call: Counter[tuple[str, str]] = field(default_factory=Counter)

    def find(self, what: str) -> None:
        """Add a finding."""
        self.findings.append(what[-2500:])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the two attacks; 1 if anything was found."""
    options = _parser().parse_args(arguments)
    tally = Tally()
    chance = random.Random(options.seed)
    if options.attack == "full":
        fill_disk(tally, chance, options.only)
    else:
        for _ in range(-(-options.cuts // 50)):
            cut_power(tally, chance, min(50, options.cuts))
    print(f"{tally.ended.total():,}: {dict(tally.ended.most_common())}")  # noqa: T201
    for (name, ended), n in sorted(tally.by_call.items()):
        print(f"  {name}: {ended} {n}")  # noqa: T201
    for finding in tally.findings:
        print(f"\n{finding}")  # noqa: T201
    print(f"{len(tally.findings)} findings")  # noqa: T201
    return 1 if tally.findings else 0


class FailingDisk(Disk):
    """A disk whose writes fail from the n-th on, counted from when it was told to."""

    def __init__(self) -> None:
        """Work as usual at first."""
        super().__init__(self._write)
        self._left: int | None = None
        self._error: type[apsw.Error] = apsw.FullError
        self.failed = False

    def fail_after(self, n: int | None, error: type[apsw.Error] = apsw.FullError) -> None:
        """Let n writes pass; None: all of them."""
        self._left, self._error, self.failed = n, error, False

    def _write(self, data: bytes) -> bytes:
        if self._left is not None:
            if self._left == 0:
                self.failed = True
                raise self._error("the disk of this run is full, or fails")
            self._left -= 1
        return data


def fill_disk(tally: Tally, chance: random.Random, only: Sequence[str] | None = None) -> None:
    """Make each call on a disk that is full from its n-th write on, for every n."""
    disk = FailingDisk()
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "family.db"
            path.write_bytes(damaged.household())
            with open_home(path) as home:
                names = [*damaged.calls_of(home, path), "close", "open"]
        for name in names:
            if only and name not in only:
                continue
            n = 0
            while n < MOST_WRITES and _fails_at(tally, disk, name, n, chance):
                n += 1
    finally:
        disk.leave()


def _fails_at(tally: Tally, disk: FailingDisk, name: str, n: int, chance: random.Random) -> bool:
    """Make a call whose n-th write fails; return whether it came to that."""
    what, error = f"{name}, write {n}", chance.choice(_FAILURES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        path.write_bytes(damaged.household())
        home = open_home(path) if name != "open" else None
        try:
            before = _texts(path)
            disk.fail_after(n, error)
            ended = _made(tally, home, path, name, what)
            failed = disk.failed
            disk.fail_after(None)
            tally.ended[ended] += 1
            tally.by_call[name, ended] += 1
            lost = before - _texts(path)
            if ended != "accepted" and lost:
                tally.find(f"{what}: {ended}, and {sorted(lost)[:3]} are gone")
            if home is None or name == "close":
                home = open_home(path, create=False)
            if name not in {"open", "close"}:
                again = _made(tally, home, path, name, f"{what}, again")
                if again not in {"accepted", "UnknownMemoryError", "UnknownPersonError"}:
                    tally.find(f"{what}: {ended}, and again {again}")
            wrong = [each for each in home.maintenance.check() if each.problem]
            if wrong:
                tally.find(f"{what}: {ended}, {wrong}")
        except Exception:  # noqa: BLE001  what is searched for
            tally.find(f"{what}: {traceback.format_exc(limit=-6)}")
            failed = False
        finally:
            disk.fail_after(None)
            if home is not None:
                home.close()
    return failed


def _made(tally: Tally, home: FamilyRecall | None, path: Path, name: str, what: str) -> str:
    """Make a call; return how it ended."""
    try:
        if home is None:
            open_home(path, create=False).close()
        elif name == "close":
            home.close()
        else:
            damaged.calls_of(home, path)[name]()
    except FamilyRecallError as error:
        return type(error).__name__
    except Exception as error:  # noqa: BLE001  what is searched for
        tally.find(f"{what}: {traceback.format_exc(limit=-7)}")
        return type(error).__name__
    return "accepted"


def _texts(path: Path) -> set[str]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    texts = {str(text) for (text,) in connection.execute("SELECT text FROM memory")}
    connection.close()
    return texts


def cut_power(tally: Tally, chance: random.Random, cuts: int) -> None:
    """Cut."""


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("attack", choices=("full", "cut"), help="what happens to the disk")
    add("--cuts", type=int, default=200, metavar="N", help="power cuts (default: 200)")
    add("--seed", type=int, default=1, metavar="N", help="of chance (default: 1)")
    add("--only", action="append", metavar="CALL", help="this call alone on a full disk; repeat")
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""Fill the disk at every write, and cut the power at any moment: a household stays whole.

``full`` makes each call of a household, again and again: the first time its first write fails, and
all that follow, the second time its second write, and so on, until it fails no more. The error must
be one of errors.py, what was stored before must be there, and once there is room the same call and
all checks must pass. Half of the time the disk is full; else it fails, or does when it syncs.

``cut`` records every write, sync, truncation and deletion while a household is written to, and
then puts disks together as a power cut may leave them: everything that was synced, and of the rest
any sectors of 512 bytes. Each must open, pass all checks, and hold what was stored before the last
sync, and then the first few of the steps that followed; what a receipt says is forgotten is gone.

Examples:
  python -m tools.torture.disk full
  python -m tools.torture.disk full --only correct --only forget
  python -m tools.torture.disk cut --cuts 500 --seed 7
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import apsw

from family_recall.api import FamilyRecall, files
from family_recall.errors import FamilyRecallError
from family_recall.store.file.connection import connect
from family_recall.store.file.encryption import Secret, key_of
from tools.common import parser_of
from tools.torture import damaged
from tools.torture.household import Disk, note, open_home

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
    print(f"{tally.ended.total():,}: {dict(tally.ended.most_common())}")
    for (name, ended), n in sorted(tally.by_call.items()):
        print(f"  {name}: {ended} {n}")
    for finding in tally.findings:
        print(f"\n{finding}")
    print(f"{len(tally.findings)} findings")
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


Change: TypeAlias = tuple[str, str, int, bytes]
"""What was done, to which file, where or how long, and which bytes."""


class RecordingDisk(Disk):
    """A disk that remembers what was done to it: writes, truncations, syncs and deletions."""

    def __init__(self) -> None:
        """Begin with nothing done."""
        super().__init__(bytes)
        self.done: list[Change] = []

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802  apsw's name
        """Open a file whose changes are recorded."""
        text = name.filename() if isinstance(name, apsw.URIFilename) else name
        return _Recorded(self._base, name, flags, Path(text or "temporary").name, self.done)

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: N802  apsw's
        """Record that a file is deleted."""
        self.done.append(("delete", Path(name).name, 0, b""))
        super().xDelete(name, syncdir)


class _Recorded(apsw.VFSFile):
    def __init__(
        self,
        base: str,
        name: str | apsw.URIFilename | None,
        flags: list[int],
        file: str,
        done: list[Change],
    ) -> None:
        self._file, self._done = file, done
        super().__init__(base, name, flags)

    def xLock(self, level: int) -> None:  # noqa: N802  apsw's name
        try:
            super().xLock(level)
        except apsw.IOError:  # as in household.py
            raise apsw.BusyError from None

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802  apsw's name
        self._done.append(("write", self._file, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802  apsw's name
        self._done.append(("truncate", self._file, newsize, b""))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802  apsw's name
        super().xSync(flags)
        self._done.append(("sync", self._file, 0, b""))


def cut_power(tally: Tally, chance: random.Random, cuts: int) -> None:
    """Write to a household, and cut the power at some moments of that."""
    key = chance.choice((None, "a passphrase"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        path.write_bytes(damaged.household())
        if key is not None:
            files.rekey(path, new_key=key)
        before = path.read_bytes()
        states = [_stored(path, key)]
        disk = RecordingDisk()
        try:
            _work(path, key, disk, states, chance)
        finally:
            disk.leave()
        syncs = [at for at, (what, *_) in enumerate(disk.done) if what == "sync"]
        for _ in range(cuts):
            at = chance.choice(syncs) if chance.random() < 0.3 else chance.randrange(len(disk.done))
            at = min(max(at + chance.randrange(-2, 3), 0), len(disk.done))
            where = Path(folder) / "cut" / "family.db"
            where.parent.mkdir()
            _lay_out(where.parent, before, disk.done[:at], chance)
            tally.ended[_after_cut(tally, where, key, disk.done[:at], states, at)] += 1
            shutil.rmtree(where.parent)


def _work(
    path: Path, key: Secret | None, disk: RecordingDisk, states: list[_State], chance: random.Random
) -> None:
    """Write to a household step by step; add what is stored after each to ``states``."""
    for _ in range(3):
        with open_home(path, key=key) as home:
            for _ in range(chance.randrange(2, 7)):
                no, promised = len(states), False
                step = chance.choice(("remember", "remember", "many", "correct", "forget", "empty"))
                here = sorted(name for name, _ in states[-1] if name.startswith("note"))
                if step == "remember":
                    home.remember(note(f"note-{no}-new", 0, 1))
                elif step == "many":
                    home.remember_many([note(f"note-{no}-{each}", 0, 1) for each in range(30)])
                elif step == "correct":
                    text = f"Priya painted the pot in colour {no}"
                    home.correct(chance.choice(here), person_id="priya", text=text)
                elif step == "forget":
                    promised = home.forget(chance.choice(here), person_id="priya").proof is not None
                else:
                    home.maintenance.backup(path.with_name("copy.db"), overwrite=True)
                states.append(_stored(path, key))
                disk.done.append(("step", "promised" if promised else "made", no, b""))


_State: TypeAlias = frozenset[tuple[str, str]]
"""What is stored: ids and texts."""


def _stored(path: Path, key: Secret | None) -> _State:
    connection = connect(path, key_of(key), flags=apsw.SQLITE_OPEN_READONLY)
    with contextlib.closing(connection):
        rows = connection.execute("SELECT doc_id, text FROM memory WHERE superseded_s IS NULL")
        return frozenset((str(doc_id), str(text)) for doc_id, text in rows)


def _lay_out(  # noqa: C901
    folder: Path, before: bytes, done: Sequence[Change], chance: random.Random
) -> None:
    """Write the files that a power cut may leave after some changes."""
    contents: dict[str, bytearray | None] = {"family.db": bytearray(before)}
    last_sync = {name: at for at, (what, name, *_) in enumerate(done) if what == "sync"}
    share = chance.choice((0.0, 0.5, 0.9, 1.0))
    for at, (what, name, where, data) in enumerate(done):
        is_synced = at < last_sync.get(name, -1)
        if not name.startswith("family.db") or what in {"sync", "step"}:
            continue
        if what == "write":
            content = contents.get(name) or bytearray()
            for start in range(0, len(data), _SECTOR):
                if is_synced or chance.random() < share:
                    sector, first = data[start : start + _SECTOR], where + start
                    content.extend(bytes(max(0, first - len(content))))
                    content[first : first + len(sector)] = sector
            if content or is_synced:
                contents[name] = content
        elif is_synced or chance.random() < share:
            if what == "delete":
                contents[name] = None
            elif (shortened := contents.get(name)) is not None:
                del shortened[where:]
    for name, left in contents.items():
        if left is not None:
            (folder / name).write_bytes(left)


def _after_cut(
    tally: Tally,
    path: Path,
    key: Secret | None,
    done: Sequence[Change],
    states: Sequence[_State],
    at: int,
) -> str:
    """Open what a power cut left, and compare it with what must be there."""
    synced = max((no for no, (what, name, *_) in enumerate(done)
                  if what == "sync" and name.endswith("-wal")), default=-1)  # fmt: skip
    steps = [(no, *change[1:3]) for no, change in enumerate(done) if change[0] == "step"]
    promised = max(
        (step for no, kept, step in steps if no < synced or kept == "promised"), default=0
    )
    begun = max((step for *_, step in steps), default=0) + 1
    what = f"cut after {at} changes, key {key!r}"
    try:
        with open_home(path, create=False, key=key) as home:
            wrong = [each for each in home.maintenance.check() if each.problem]
            home.remember(note("after", 0, 1))
            home.recall("Who brought a cake?")
        stored = frozenset(each for each in _stored(path, key) if each[0] != "after")
    except Exception:  # noqa: BLE001  what is searched for
        tally.find(f"{what}: {traceback.format_exc(limit=-6)}")
        return "does not open"
    if wrong:
        tally.find(f"{what}: {wrong}")
        return "damaged"
    if stored not in states[promised : begun + 1]:
        others = [no for no, state in enumerate(states) if state == stored]
        tally.find(f"{what}: steps {promised} to {begun} may be the last, found {others}")
        return "lost" if others else "torn"
    return f"whole, {len(states[promised : begun + 1]) - 1} steps not synced"


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

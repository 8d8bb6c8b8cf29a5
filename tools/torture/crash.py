"""Kill -9 a process that writes, at random points, and check that nothing is lost or incomplete.

Each kill starts a process that imports, re-embeds, rebuilds, migrates, checkpoints, backs up,
exports, restores, forgets, lets memories expire, or (with the extra `crypto`) encrypts, decrypts or
changes the key, and kills it: half of the time after a random delay, half of the time in the middle
of a random write to the disk. Afterwards the file must open with the key of before or after, all
its checks must pass, every acknowledged memory must be there unchanged, and of a batch that was not
acknowledged either nothing or everything. No unfinished file is left, and nobody else may read one.
The exit status is 1 otherwise.

Examples:
  python -m tools.torture.crash
  python -m tools.torture.crash --kills 500 --seed 7 --json crash.json
  build/crypto/bin/python -m tools.torture.crash --only rekey --only encrypt --only decrypt
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import select
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from family_recall import RecallContext
from family_recall.api import FamilyRecall, files
from family_recall.errors import FamilyRecallError, WrongKeyError
from family_recall.stores.file import copies
from family_recall.stores.file.connection import connect
from family_recall.stores.file.encryption import Secret, key_of
from family_recall.stores.file.replacement import leftovers
from tools.common import parser_of, write_json
from tools.torture.crash_work import KEY_WORK, WORK, Task
from tools.torture.household import Disk, add_family, killing_at, note, open_home

MEMORIES = 40  # that a new household has
FRESH_EVERY = 40  # kills before a new household
LONGEST_S = 0.4  # a process is killed at the latest this long after it is ready
MOST_WRITES = 400  # a process is killed at one of this many first writes
START_S = 60.0


@dataclass(slots=True)
class Expected:
    """What the household must hold: texts by doc_id, and a batch that may be there whole or not.

    It opens with one of the keys.
    """

    texts: dict[str, str] = field(default_factory=dict)
    open_batch: dict[str, str] = field(default_factory=dict)
    maybe_gone: set[str] = field(default_factory=set)
    next_batch: int = 0
    keys: list[Secret | None] = field(default_factory=lambda: [None])


@dataclass(slots=True)
class Tally:
    """The result so far."""

    kills: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    failures: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill this many times; return 1 if the file was wrong after any."""
    options = _parser().parse_args(arguments)
    started = time.monotonic()

    def report(tally: Tally) -> None:
        if options.json:
            record = {
                "kills": dict(tally.kills), "total": tally.kills.total(),
                "ended_before": dict(tally.ended), "acknowledged": tally.acknowledged,
                "failures": tally.failures, "seed": options.seed,
                "seconds": round(time.monotonic() - started, 1),
            }  # fmt: skip
            write_json(options.json, record)

    chosen = options.only or sorted(WORK)
    tally = torture(options.kills, options.seed, chosen, options.folder, report)
    seconds = time.monotonic() - started
    for failure in tally.failures:
        print(failure)
    print(
        f"{tally.kills.total():,} kills in {seconds:,.0f} s: "
        + ", ".join(f"{n} {name}" for name, n in sorted(tally.kills.items()))
    )
    print(
        f"{tally.ended.total():,} processes ended before their kill; "
        f"{tally.acknowledged:,} memories acknowledged; {len(tally.failures)} failures"
    )
    return 1 if tally.failures else 0


def torture(
    kills: int,
    seed: int,
    only: Sequence[str],
    folder: Path | None = None,
    report: Callable[[Tally], None] | None = None,
) -> Tally:
    """Kill processes at work ``kills`` times; those that end before their kill do not count.

    ``report`` is called with the tally so far after each.
    """
    chance = random.Random(seed)
    tally = Tally()
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        place, expected = Path(scratch), Expected()
        while tally.kills.total() < kills:
            path = place / "family.db"
            if not path.exists():
                expected = Expected()
                with open_home(path) as home:
                    add_family(home)
                    notes = [note(f"kept-{i}", 0, seed) for i in range(MEMORIES)]
                    home.remember_many(notes)
                expected.texts = {str(memory.doc_id): memory.text for memory in notes}
            work = chance.choice(list(only))
            before = tally.kills.total()
            _change_key(path, work, expected)
            _kill_once(path, work, chance, expected, tally, seed)
            n = tally.kills.total()
            problems = _problems(path, expected, chance)
            if problems:
                tally.failures += [
                    f"kill {n} ({work}, seed {seed}): {problem}" for problem in problems
                ]
            if problems or (n > before and n % FRESH_EVERY == 0):
                for each in place.iterdir():
                    each.unlink()
            if report is not None:
                report(tally)
    return tally


def _change_key(path: Path, work: str, expected: Expected) -> None:
    """Give the household the key that the work begins with; its copies have the one of before."""
    if work not in KEY_WORK:
        return
    (key,), (old, new) = expected.keys, KEY_WORK[work]
    if key != old:
        files.rekey(path, key=key, new_key=old)
    for name in ("backup.db", "restored.db"):
        path.with_name(name).unlink(missing_ok=True)
    expected.keys = [old, new]


def _kill_once(
    path: Path, work: str, chance: random.Random, expected: Expected, tally: Tally, seed: int
) -> None:
    """Start a process, kill it, and record what it had acknowledged."""
    at_write = chance.randrange(MOST_WRITES) if chance.random() < 0.5 else None
    share, after_s = chance.random(), chance.uniform(0.0, LONGEST_S)
    reading, writing = os.pipe()
    task = Task(path, expected.next_batch, seed, expected.keys[0], expected.keys[-1])
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(task, work, writing, None if at_write is None else (at_write, share))
    os.close(writing)
    output = _wait_and_kill(child, reading, after_s if at_write is None else START_S)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        tally.kills[work] += 1
    else:
        tally.ended[work] += 1
        if os.waitstatus_to_exitcode(status) != 0:
            tally.failures.append(f"{work} failed by itself: {output[-2000:]}")
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if word == "try":
            expected.open_batch = json.loads(rest)
            expected.next_batch += 1
        elif word == "ack":
            tally.acknowledged += len(expected.open_batch)
            expected.texts |= expected.open_batch
            expected.open_batch = {}
        elif word == "forget":
            expected.maybe_gone = set(json.loads(rest))
        elif word == "forgotten":
            for doc_id in expected.maybe_gone:
                expected.texts.pop(doc_id, None)
            expected.maybe_gone = set()


def _wait_and_kill(child: int, reading: int, after_s: float) -> str:
    """Read what a process sends, kill it ``after_s`` after it was ready, and return all of it."""
    output, until = b"", time.monotonic() + START_S
    ready = False
    with open(reading, "rb", buffering=0) as pipe:
        while True:
            left = until - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                os.kill(child, signal.SIGKILL)
                until = time.monotonic() + START_S
            chunk = pipe.read(65536)
            if not chunk:
                return output.decode()
            output += chunk
            if not ready and b"ready\n" in output:
                ready, until = True, time.monotonic() + after_s


def _work(task: Task, work: str, pipe: int, kill: tuple[int, float] | None) -> None:
    """Do one kind of work in a process of its own until it is killed or done; never returns."""
    status = 0
    try:

        def send(line: str) -> None:
            os.write(pipe, line.encode() + b"\n")

        disk = None if kill is None else Disk(killing_at(*kill))
        send("ready")
        WORK[work](task, send)
        del disk
    except BaseException:  # noqa: BLE001  sent to the parent, which fails
        os.write(pipe, traceback.format_exc().encode())
        status = 1
    finally:
        os._exit(status)


def _problems(path: Path, expected: Expected, chance: random.Random) -> list[str]:
    """Open the file after a kill and compare it with what is expected."""
    problems = _opens_without_its_key(path, expected)
    try:
        with _opened(path, expected, chance) as home:
            problems += [
                f"{finding.what}: {finding.problem}"
                for finding in home.maintenance.check()
                if finding.problem
            ]
            problems += _wrong_texts(path, expected)
            problems += _not_found(home, expected, chance)
        problems += _wrong_copies(path, expected)
        problems += [f"{file.name} is left" for file in leftovers(path.parent)]
        problems += [
            f"{file.name} may be read by others"
            for file in path.parent.iterdir()
            if file.stat().st_mode & 0o077
        ]
    except (FamilyRecallError, apsw.Error, OSError) as error:
        problems.append(f"{type(error).__name__}: {error}")
    return problems


def _opened(path: Path, expected: Expected, chance: random.Random) -> FamilyRecall:
    """Open the file with whichever key it has; the error of the last one where none opens it."""
    chance.shuffle(expected.keys)
    while True:
        try:
            home = open_home(path, create=False, key=expected.keys[0])
        except WrongKeyError:
            if len(expected.keys) == 1:
                raise
            del expected.keys[0]
        else:
            del expected.keys[1:]
            return home


def _opens_without_its_key(path: Path, expected: Expected) -> list[str]:
    """Try a wrong key first: it must be refused, and change nothing that the right one needs."""
    if not hasattr(apsw, "mc_version"):
        return []
    wrong: list[Secret | None] = ["wrong", *([] if None in expected.keys else [None])]
    problems = []
    for key in wrong:
        with contextlib.suppress(WrongKeyError):
            open_home(path, create=False, key=key).close()
            problems.append(f"opens with the key {key!r}")
    return problems


def _wrong_texts(path: Path, expected: Expected) -> list[str]:
    """Compare the texts with those acknowledged; a batch under way may be there whole or not."""
    connection = connect(path, key_of(expected.keys[0]), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute("SELECT doc_id, text FROM memory WHERE superseded_s IS NULL")
    here = {str(doc_id): str(text) for doc_id, text in rows.fetchall()}
    connection.close()
    problems = []
    whole = all(here.get(doc_id) == text for doc_id, text in expected.open_batch.items())
    if expected.open_batch and whole:
        expected.texts |= expected.open_batch
    elif any(
        here.get(doc_id) == text and expected.texts.get(doc_id) != text
        for doc_id, text in expected.open_batch.items()
    ):
        problems.append(f"part of a batch: {sorted(expected.open_batch)}")
    expected.open_batch = {}
    if gone := expected.maybe_gone - here.keys():
        if gone != expected.maybe_gone:
            problems.append(f"partly forgotten: {sorted(gone)} of {sorted(expected.maybe_gone)}")
        for doc_id in gone:
            expected.texts.pop(doc_id, None)
    expected.maybe_gone = set()
    lost = [doc_id for doc_id, text in expected.texts.items() if here.get(doc_id) != text]
    if lost:
        problems.append(f"{len(lost)} acknowledged memories are missing or changed: {lost[:5]}")
    if strangers := sorted(here.keys() - expected.texts.keys()):
        problems.append(f"{len(strangers)} memories that were never written: {strangers[:5]}")
    return problems


def _not_found(home: FamilyRecall, expected: Expected, chance: random.Random) -> list[str]:
    """Ask for one memory by its own words."""
    if not expected.texts:
        return []
    doc_id = chance.choice(sorted(expected.texts))
    text = expected.texts[doc_id]
    answer = home.recall(text, RecallContext(time_budget_ms=60_000, top_k=10))
    if any(result.doc_id == doc_id and result.text == text for result in answer.results):
        return []
    return [f"{doc_id} is not found by its own words"]


def _wrong_copies(path: Path, expected: Expected) -> list[str]:
    """Check backups, exports and migrated files: one that has its final name is complete."""
    for name in ("backup.db", "restored.db"):
        if path.with_name(name).exists():
            copies.verify(path.with_name(name), key_of(expected.keys[0]))
    if path.with_name("export.jsonl").exists():
        with (
            tempfile.TemporaryDirectory(dir=path.parent.parent) as folder,
            open_home(Path(folder) / "imported.db") as home,
        ):
            home.maintenance.import_from(path.with_name("export.jsonl"))
    problems = []
    for migrated in path.parent.glob("migrated-*.db"):
        with open_home(migrated, create=False) as home:
            wrong = [finding for finding in home.maintenance.check() if finding.problem]
            problems += [f"{migrated.name}: {finding.what}: {finding.problem}" for finding in wrong]
        with contextlib.suppress(OSError):
            migrated.unlink()
    return problems


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--kills", type=int, default=20, metavar="N", help="kills wanted (default: 20)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of chance (default: 1)")
    parser.add_argument(
        "--only", action="append", choices=sorted(WORK), help="this work alone; repeat"
    )
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="where files are made (default: the system's)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what came of it there")
    return parser


if __name__ == "__main__":
    sys.exit(main())

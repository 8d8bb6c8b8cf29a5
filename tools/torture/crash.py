"""Kill -9 a process that writes, at random points, and check that nothing is lost or incomplete.

Each kill starts a process that imports, re-embeds, rebuilds, migrates, checkpoints, backs up,
exports, restores, forgets, lets memories expire, encrypts, decrypts or changes the key, and kills
it: half of the time after a random delay, half of the time in the middle of a random write to the
disk. Afterwards the file must open with the key of before or after, all its checks must pass, every
acknowledged memory must be there unchanged, and of a batch that was not acknowledged either nothing
or everything. No unfinished file is left, and nobody else may read one. The exit status is 1
otherwise.

Examples:
  python -m tools.torture.crash
  python -m tools.torture.crash --kills 500 --seed 7 --json crash.json
  python -m tools.torture.crash --only rekey --only encrypt --only decrypt
"""

from __future__ import annotations

import argparse
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

from family_recall.api import files
from tools.common import parser_of, write_json
from tools.torture.crash_checks import Expected, problems_of
from tools.torture.crash_work import KEY_WORK, WORK, Task
from tools.torture.household import add_family, die_at, note, open_home

MEMORIES = 40  # that a new household has
FRESH_EVERY = 40  # kills before a new household
LONGEST_S = 0.4  # a process is killed at the latest this long after it is ready
MOST_STEPS = 400  # a process is killed at one of this many first writes, renames and deletions
START_S = 60.0


@dataclass(frozen=True, slots=True)
class Kill:
    """When a process dies: at a step, having done a share of that, or after seconds."""

    at_step: int | None
    share: float = 0.5
    after_s: float = 0.0


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
                expected = new_household(path, seed)
            work = chance.choice(list(only))
            before = tally.kills.total()
            at_step = chance.randrange(MOST_STEPS) if chance.random() < 0.5 else None
            kill = Kill(at_step, chance.random(), chance.uniform(0.0, LONGEST_S))
            problems = kill_once(path, work, kill, expected, tally, seed)
            n = tally.kills.total()
            if problems or (n > before and n % FRESH_EVERY == 0):
                for each in place.iterdir():
                    each.unlink()
            if report is not None:
                report(tally)
    return tally


def new_household(path: Path, seed: int) -> Expected:
    """Create a household with a family and some memories."""
    notes = [note(f"kept-{i}", 0, seed) for i in range(MEMORIES)]
    with open_home(path) as home:
        add_family(home)
        home.remember_many(notes)
    return Expected({str(memory.doc_id): memory.text for memory in notes})


def kill_once(
    path: Path, work: str, kill: Kill, expected: Expected, tally: Tally, seed: int
) -> list[str]:
    """Start a process, kill it, and return what is wrong with the household afterwards."""
    _change_key(path, work, expected)
    reading, writing = os.pipe()
    task = Task(path, expected.next_batch, seed, expected.keys[0], expected.keys[-1])
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(task, work, writing, kill)
    os.close(writing)
    output = _wait_and_kill(child, reading, kill.after_s if kill.at_step is None else START_S)
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
    n = tally.kills.total()
    problems = problems_of(path, expected, random.Random(n))
    tally.failures += [f"kill {n} ({work}, seed {seed}): {problem}" for problem in problems]
    return problems


def _change_key(path: Path, work: str, expected: Expected) -> None:
    """Set the key that the work begins with, and delete copies, which have the one of before."""
    if work not in KEY_WORK:
        return
    (key,), (old, new) = expected.keys, KEY_WORK[work]
    if key != old:
        files.rekey(path, key=key, new_key=old)
    for name in ("backup.db", "restored.db"):
        path.with_name(name).unlink(missing_ok=True)
    expected.keys = [old, new]


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


def _work(task: Task, work: str, pipe: int, kill: Kill) -> None:
    """Do one kind of work in a process of its own until it is killed or done; never returns."""
    status = 0
    try:

        def send(line: str) -> None:
            os.write(pipe, line.encode() + b"\n")

        disk = None if kill.at_step is None else die_at(kill.at_step, kill.share)
        send("ready")
        WORK[work](task, send)
        del disk
    except BaseException:  # noqa: BLE001  sent to the parent, which fails
        os.write(pipe, traceback.format_exc().encode())
        status = 1
    finally:
        os._exit(status)


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

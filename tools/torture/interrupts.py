"""Interrupt calls at random points, and check that the next call works and nothing is half done.

Each interrupt stops one call of an open household: remember, correct, forget, feedback, an import,
a recall, a copy, a new key, opening, closing and others. Half of them come at one of the points
where Python delivers a signal, chosen among all that the call passes: the begin of a function, or
the return from one written in C. The other half are real signals after a random time.

While the exception is still held, with all that its traceback holds, the same call and others
follow in the same thread and in another one. All must end within seconds. What was acknowledged
must be there unchanged, of what was interrupted either all or nothing, and nothing may be lent,
running or counted any more. The exit status is 1 otherwise.

Examples:
  python -m tools.torture.interrupts
  python -m tools.torture.interrupts --interrupts 20000 --seed 7 --json interrupts.json
  python -m tools.torture.interrupts --only remember --only rekey
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TextIO

from tools.common import parser_of, write_json
from tools.torture.interrupts_work import WORK, Household

PER_PROCESS = 100  # interrupts before a new process and household
CHECKED_EVERY = 20  # interrupts between two checks of the whole file
STUCK_S = 12.0  # the longest time of a call and the checks after it
_REPEAT_S = 0.0002  # a signal comes again until it has stopped the call
# Nobody gets what a callback raises: of a weak reference, or hypothesis's of garbage collections.
_PASSED_OVER = __name__, "_weakrefset", "hypothesis.internal.conjecture.junkdrawer"


class Interrupted(BaseException):
    """What the interrupts raise, as Ctrl-C raises KeyboardInterrupt."""


@dataclass(slots=True)
class Tally:
    """The result so far: interrupts and calls that ended before theirs, by work."""

    interrupts: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Interrupt this many times; return 1 if anything was wrong after one."""
    options = _parser().parse_args(arguments)
    started = time.monotonic()

    def report(tally: Tally) -> None:
        if options.json:
            record = {
                "interrupts": dict(tally.interrupts), "total": tally.interrupts.total(),
                "ended_before": dict(tally.ended), "failures": tally.failures,
                "seed": options.seed, "seconds": round(time.monotonic() - started, 1),
            }  # fmt: skip
            write_json(options.json, record)

    tally = torture(options.interrupts, options.seed, options.only or sorted(WORK), report)
    for failure in tally.failures:
        print(failure)
    counts = ", ".join(f"{n} {name}" for name, n in sorted(tally.interrupts.items()))
    seconds = time.monotonic() - started
    print(
        f"{tally.interrupts.total():,} interrupts in {seconds:,.0f} s ({counts});"
        f" {tally.ended.total():,} calls ended before theirs; {len(tally.failures)} failures"
    )
    return 1 if tally.failures else 0


def torture(
    interrupts: int,
    seed: int,
    only: Sequence[str],
    report: Callable[[Tally], None] | None = None,
) -> Tally:
    """Interrupt calls ``interrupts`` times, a hundred in each of several processes."""
    tally, number = Tally(), 0
    while (left := interrupts - tally.interrupts.total()) > 0:
        _run_process(tally, f"{seed}/{number}", min(left, PER_PROCESS), only)
        number += 1
        if report is not None:
            report(tally)
    return tally


def _run_process(tally: Tally, seed: str, interrupts: int, only: Sequence[str]) -> None:
    """Interrupt in a process of its own, which ends by itself if a call gets stuck."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as output:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                interrupt_calls(Path(folder), seed, interrupts, only, output)
                status = 0
            except BaseException:  # noqa: BLE001  sent to the parent, which fails
                print(traceback.format_exc(), file=output, flush=True)
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        output.seek(0)
        rest, work = [], ""
        for line in output:
            kind, _, text = line.rstrip("\n").partition(" ")
            if kind == "begin":
                work = text
            elif kind == "interrupted":
                tally.interrupts[text.split(" ")[0]] += 1
            elif kind == "ended":
                tally.ended[text] += 1
            elif kind == "wrong":
                tally.failures.append(f"{work} (seed {seed}): {json.loads(text)}")
            else:
                rest.append(line)
        if status != 0:
            tally.interrupts["ended process"] += 1
            tally.failures.append(f"{work} (seed {seed}): stuck, or raised:\n{''.join(rest)}")


def interrupt_calls(
    folder: Path, seed: str, interrupts: int, only: Sequence[str], output: TextIO
) -> None:
    """Interrupt calls on one household in this process, and write what came of each."""
    chance, household = random.Random(seed), Household(folder / "family.db", seed)
    lengths: dict[str, tuple[int, float]] = {}
    done = 0

    def say(kind: str, text: str) -> None:
        print(kind, text, file=output, flush=True)

    while done < interrupts:
        name = chance.choice(list(only))
        faulthandler.dump_traceback_later(STUCK_S, exit=True, file=output)
        if name not in lengths:
            say("begin", f"{name}, not interrupted")
            lengths[name] = _measure(household, name)
            say("ended", name)
        n_points, seconds = lengths[name]
        at = chance.randrange(n_points) if chance.random() < 0.5 else None
        after_s = chance.uniform(1e-6, seconds)
        say("begin", f"{name} at {f'point {at}' if at is not None else f'{after_s:.6f} s'}")
        try:
            call = household.prepare(name)
            with Points(at) if at is not None else Signal(after_s):
                call()
            say("ended", name)
            household.acknowledge()
        except Interrupted:
            done += 1
            say("interrupted", name)
            # The exception is held meanwhile, as a console and a test runner hold it.
            wrong = household.problems(name, thoroughly=done % CHECKED_EVERY == 0)
            for each in wrong:
                say("wrong", json.dumps(each))
    faulthandler.dump_traceback_later(STUCK_S, exit=True, file=output)
    say("begin", "closing, without an exception that is held")
    for each in household.close():
        say("wrong", json.dumps(each))
    faulthandler.cancel_dump_traceback_later()


def _measure(household: Household, name: str) -> tuple[int, float]:
    """Return the points and the seconds of a call that is not interrupted."""
    call = household.prepare(name)
    with Points(None) as points:
        call()
    household.acknowledge()
    call = household.prepare(name)
    began = time.perf_counter()
    call()
    household.acknowledge()
    return max(points.passed, 1), time.perf_counter() - began


class Points:
    """Raise at the n-th point of a block where Python delivers signals; None counts alone."""

    def __init__(self, at: int | None) -> None:
        self.at, self.passed = at, 0

    def __enter__(self) -> Self:
        """Begin to count."""
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        sys.setprofile(None)

    def _count(self, frame: Any, event: str, argument: object) -> None:  # noqa: ARG002  Python's
        if event in {"call", "c_return"} and frame.f_globals.get("__name__") not in _PASSED_OVER:
            self.passed += 1
            if self.passed - 1 == self.at:
                sys.setprofile(None)
                raise Interrupted


class Signal:
    """Send signals from some time on until one has stopped the block."""

    def __init__(self, after_s: float) -> None:
        self._after_s = after_s

    def __enter__(self) -> None:
        """Set the timer."""
        self._before = signal.signal(signal.SIGALRM, self._stop)
        signal.setitimer(signal.ITIMER_REAL, self._after_s)

    def __exit__(self, *_: object) -> None:
        """Stop the timer."""
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self._before)

    def _stop(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        raise Interrupted


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("--interrupts", type=int, default=200, metavar="N", help="wanted (default: 200)")
    add("--seed", type=int, default=1, metavar="N", help="of chance (default: 1)")
    add("--only", action="append", choices=sorted(WORK), help="this work alone; repeat")
    add("--json", type=Path, metavar="FILE", help="write the result there after each process")
    return parser


if __name__ == "__main__":
    sys.exit(main())

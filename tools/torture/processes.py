"""Read and write one household from many processes and threads at once, and kill some of them.

Each writer owns a set of memories and replaces all of them in one transaction, with the number of
the round in every text. Readers ask for a writer's set: one answer must never hold two rounds,
and a round must never be older than one the same reader has seen. Every second a writer is killed
with kill -9 and another takes its place; the others must go on. `locked` errors, exceptions and
waits longer than SQLite's busy timeout are failures, and at the end the file must pass its checks.
The exit status is 1 otherwise.

Examples:
  python -m tools.torture.processes --seconds 20
  python -m tools.torture.processes --readers 4 --writers 4 --seconds 600 --json processes.json
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from family_recall import Filters, Memory, RecallContext
from family_recall.api import FamilyRecall
from family_recall.store.file.connection import BUSY_TIMEOUT_MS
from tools.common import parser_of, write_json
from tools.torture.household import HOME, add_family, open_home

SET = 6  # memories a writer replaces at once
THREADS = 2  # in each reader
KILL_EVERY_S = 1.0
_ROUND = re.compile(r"writer (\d+) round (\d+) ")


@dataclass(slots=True)
class Tally:
    """The result so far."""

    counts: Counter[str] = field(default_factory=Counter)
    longest_ms: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run for the time given; return 1 if anything was wrong."""
    options = _parser().parse_args(arguments)
    tally = torture(options.readers, options.writers, options.seconds, options.seed)
    for failure in tally.failures[:20]:
        print(failure)
    counts = ", ".join(f"{n:,} {name}" for name, n in sorted(tally.counts.items()))
    waited = ", ".join(f"{name} {ms:,.0f} ms" for name, ms in sorted(tally.longest_ms.items()))
    print(f"{options.seconds:g} s: {counts}; longest: {waited}; {len(tally.failures)} failures")
    if options.json:
        record = {
            "seconds": options.seconds,
            "readers": options.readers,
            "writers": options.writers,
            **dict(tally.counts),
            "longest_ms": {name: round(ms, 1) for name, ms in tally.longest_ms.items()},
            "failures": tally.failures,
        }
        write_json(options.json, record)
    return 1 if tally.failures else 0


def torture(readers: int, writers: int, seconds: float, seed: int) -> Tally:
    """Read and write one file from several processes for a time, then check the file."""
    tally, chance = Tally(), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        with open_home(path) as home:
            add_family(home)
        until = time.time() + seconds
        reports = Path(folder) / "reports"
        reports.mkdir()
        running: dict[int, tuple[str, int]] = {}
        for number in range(writers):
            running[_start(_write, path, reports, number, until)] = ("writer", number)
        for number in range(readers):
            running[_start(_read, path, reports, number, until, writers)] = ("reader", number)
        while time.time() < until:
            time.sleep(min(KILL_EVERY_S, max(until - time.time(), 0.0)))
            if until - time.time() > 2 * KILL_EVERY_S and writers:
                pids = [pid for pid, (kind, _) in running.items() if kind == "writer"]
                victim = chance.choice(sorted(pids))
                os.kill(victim, signal.SIGKILL)
                os.waitpid(victim, 0)
                writer = running.pop(victim)
                running[_start(_write, path, reports, writer[1], until)] = writer
                tally.counts["kills"] += 1
        for pid, (kind, number) in running.items():
            _, status = os.waitpid(pid, 0)
            if os.waitstatus_to_exitcode(status):
                tally.failures.append(f"{kind} {number} ended with {status}")
        for report in sorted(reports.iterdir()):
            _add(tally, json.loads(report.read_text(encoding="utf-8") or "{}"))
        _check_file(path, tally)
    return tally


def _check_file(path: Path, tally: Tally) -> None:
    """Run the checks of the file that is left, count what is in it, and check the longest waits."""
    with open_home(path, create=False) as home:
        tally.failures += [
            f"{finding.what}: {finding.problem}"
            for finding in home.maintenance.check()
            if finding.problem
        ]
        stats = home.maintenance.stats()
    tally.counts.update({name: stats[name] for name in ("memories", "superseded")})
    tally.counts["rounds"] = (stats["memories"] + stats["superseded"]) // SET
    for name, ms in tally.longest_ms.items():
        if ms > BUSY_TIMEOUT_MS:
            tally.failures.append(f"a {name} waited {ms:,.0f} ms")
    if not tally.counts["rounds"] or not tally.counts["answers"]:
        tally.failures.append("nothing was written, or nothing was asked")


def _start(work: Any, path: Path, reports: Path, *arguments: Any) -> int:
    child = os.fork()
    if child:
        return child
    status, report = 0, _Report(reports / f"{os.getpid()}.json")
    try:
        work(path, report, *arguments)
    except BaseException:  # noqa: BLE001  in the report
        report.failures.append(traceback.format_exc())
        status = 1
    finally:
        report.write()
        os._exit(status)


class _Report:
    """What one process has to tell: counts, longest waits, failures."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.counts: Counter[str] = Counter()
        self.longest_ms: dict[str, float] = {}
        self.failures: list[str] = []
        self.lock = threading.Lock()

    @contextlib.contextmanager
    def timed(self, name: str) -> Any:
        started = time.monotonic()
        yield
        ms = (time.monotonic() - started) * 1000
        with self.lock:
            self.longest_ms[name] = max(ms, self.longest_ms.get(name, 0.0))

    def write(self) -> None:
        record = {
            "counts": self.counts, "longest_ms": self.longest_ms, "failures": self.failures,
        }  # fmt: skip
        made = self._path.with_suffix(".partial")
        made.write_text(json.dumps(record), encoding="utf-8")
        made.replace(self._path)


def _write(path: Path, report: _Report, number: int, until: float) -> None:
    with open_home(path, create=False) as home:
        start = time.time_ns() // 1_000_000
        for turn in range(start, 2**62):  # rounds of a writer in a writer's place come later
            if time.time() > until:
                return
            texts = [
                Memory(
                    f"writer {number} round {turn} tells thing{slot} of the family",
                    HOME,
                    doc_id=f"writer-{number}-{slot}",
                    author="Priya",
                    source=f"writer {number}",
                    session_id=f"session {number}",
                )
                for slot in range(SET)
            ]
            with report.timed("write"):
                home.remember_many(texts, batch_size=SET)
            if turn % 20 == 0:
                report.write()  # a kill must not take everything along


def _read(path: Path, report: _Report, number: int, until: float, writers: int) -> None:
    del number
    with open_home(path, create=False) as home:
        threads = [
            threading.Thread(target=_ask, args=(home, report, until, writers, seed))
            for seed in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _ask(home: FamilyRecall, report: _Report, until: float, writers: int, seed: int) -> None:
    chance, newest = random.Random(seed), Counter[int]()
    try:
        while time.time() < until:
            writer = chance.randrange(writers)
            context = RecallContext(
                person_id="priya", top_k=2 * SET, time_budget_ms=2 * BUSY_TIMEOUT_MS,
                filters=Filters(sources=(f"writer {writer}",)),
            )  # fmt: skip
            with report.timed("answer"):
                answer = home.recall(f"what does writer {writer} tell of the family?", context)
            matches = [_ROUND.match(result.text) for result in answer.results]
            rounds = {int(match.group(2)) for match in matches if match}
            whole = {result.doc_id for result in answer.results}
            with report.lock:
                report.counts["answers"] += 1
                report.counts["empty answers"] += not rounds
                if answer.degraded:
                    report.failures.append(f"degraded: {answer.degraded}")
                if len(rounds) > 1 or (rounds and len(whole) != SET):
                    report.failures.append(f"writer {writer}: {sorted(whole)} of {sorted(rounds)}")
                if rounds and min(rounds) < newest[writer]:
                    report.failures.append(f"writer {writer}: went back to {sorted(rounds)}")
            newest[writer] = max(rounds | {newest[writer]})
    except BaseException:  # noqa: BLE001  in the report
        with report.lock:
            report.failures.append(traceback.format_exc())


def _add(tally: Tally, report: dict[str, Any]) -> None:
    tally.counts.update(report.get("counts", {}))
    for name, ms in report.get("longest_ms", {}).items():
        tally.longest_ms[name] = max(ms, tally.longest_ms.get(name, 0.0))
    tally.failures += report.get("failures", [])


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    for name, default in (("readers", 4), ("writers", 4)):
        parser.add_argument(
            f"--{name}", type=int, default=default, metavar="N",
            help=f"processes (default: {default})",
        )  # fmt: skip
    parser.add_argument(
        "--seconds", type=float, default=20.0, metavar="S", help="how long (default: 20)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of chance (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there")
    return parser


if __name__ == "__main__":
    sys.exit(main())

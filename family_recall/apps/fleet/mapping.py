"""A resumable map: one step over every household of a catalogue, with a ledger.

A household is done at least once, and has one row in the results; what is in the ledger is not
done again. Steps may be repeated, so a worker that dies costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from family_recall.apps.evaluation.checkpoint import Checkpoint, code_and_models
from family_recall.apps.fleet.places import Entry
from family_recall.apps.fleet.steps import STEPS, Options, Row, options_record
from family_recall.errors import DatasetError, StoreBusyError
from family_recall.types.aliases import ProgressCallback

TRANSIENT = (OSError, StoreBusyError)
"""Errors that may be gone at the next try: of a disk, a network, or a file that is in use."""
_RUN = "run"
_MOMENT = "moment"


@dataclass(frozen=True, slots=True)
class Task:
    """A household, and what is to be done to it."""

    entry: Entry
    step: str
    options: Options
    memory_mib: int | None = None


Engine = Callable[[Iterable[Task]], Iterator[Row]]
"""Does tasks, and yields the row of each as it is done, in any order."""


@dataclass(frozen=True, slots=True)
class FleetRun:
    """What a run came to: a row of each household, by id; how many earlier runs had done."""

    rows: tuple[Row, ...]
    done_before: int

    @property
    def failures(self) -> list[Row]:
        """The rows of the households where the step failed."""
        return [row for row in self.rows if row["error"] is not None]


def run(
    catalogue: str,
    entries: Sequence[Entry],
    step: str,
    options: Options,
    *,
    ledger: Path,
    engine: Engine,
    now: str,
    memory_mib: int | None = None,
    progress: ProgressCallback | None = None,
) -> FleetRun:
    """Do a step to every household that the ledger does not have as done.

    Args:
        catalogue: The catalogue's name; a ledger is of one catalogue.
        entries: Its households.
        step: The name of the step.
        options: What it is done with.
        ledger: A folder, which is made. With one of an interrupted run, or of one in which
            households failed, only the rest is done.
        engine: What does it.
        now: The moment, ISO 8601; a run that is continued keeps the one it began with.
        memory_mib: What a household may make a worker allocate, at most.
        progress: Called with households done, earlier ones included, and households in all.

    Raises:
        DatasetError: If the ledger is one of another step, catalogue, version or options.
    """
    settings = {
        "step": step,
        "catalogue": catalogue,
        **options_record(options),
        **code_and_models(options.models),
    }
    with Checkpoint.open(ledger, settings) as done:
        moment = done.once(str, _RUN, _MOMENT, lambda: now)
        options = dataclasses.replace(options, moment=moment)
        waiting = [
            entry
            for entry in entries
            if (row := _row(done, step, entry)) is None or row["error"] is not None
        ]
        finished = done_before = len(entries) - len(waiting)
        if progress is not None:
            progress(finished, len(entries))
        tasks = (Task(entry, step, options, memory_mib) for entry in waiting)
        for row in engine(tasks):
            done.keep(step, row["household"], row)
            finished += 1
            if progress is not None:
                progress(finished, len(entries))
        rows = tuple(filter(None, (_row(done, step, entry) for entry in entries)))
    return FleetRun(rows, done_before)


def _row(done: Checkpoint, step: str, entry: Entry) -> Row | None:
    """Return a household's row in the ledger.

    Raises:
        DatasetError: If it is none.
    """
    row: Row | None = done.record(step, entry.household_id)
    if row is None or (isinstance(row, dict) and {"household", "place", "error"} <= set(row)):
        return row
    raise DatasetError(
        f"the ledger's row of {entry.household_id!r} is not as it was written; delete the ledger "
        "and begin again"
    )


def in_process(tasks: Iterable[Task]) -> Iterator[Row]:
    """Do one task after another in this process, which needs no other package."""
    for task in tasks:
        try:
            yield attempt(task)
        except TRANSIENT as error:
            yield failed(task, error)


def attempt(task: Task) -> Row:
    """Do a task, and return its row; what fails for good is a row that says so.

    Raises:
        OSError, StoreBusyError: What may succeed at the next try.
    """
    started_s, started_cpu_s = time.perf_counter(), time.process_time()
    try:
        with memory_limit(task.memory_mib):
            values = STEPS[task.step](task.entry, task.options)
    except TRANSIENT:
        raise
    except Exception as error:  # noqa: BLE001  a household's failure is a row, whatever it is
        return failed(task, error)
    return {
        "household": task.entry.household_id,
        "place": task.entry.place,
        "error": None,
        "seconds": round(time.perf_counter() - started_s, 4),
        "cpu_seconds": round(time.process_time() - started_cpu_s, 4),
        "worker_mib": round(resident_mib(), 1),
        **values,
    }


def failed(task: Task, error: BaseException) -> Row:
    """Return the row of a household where the step failed."""
    return {
        "household": task.entry.household_id,
        "place": task.entry.place,
        "error": f"{type(error).__name__}: {error}",
    }


try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]  # absent there

_MIB = 1024 * 1024


@contextlib.contextmanager
def memory_limit(mib: int | None) -> Iterator[None]:
    """Limit the block to allocating this many MiB more; None sets no limit.

    What asks for more raises ``MemoryError``, or what a library makes of it; a native library may
    end the process instead, and the household counts as one whose worker died.
    """
    used = _status("VmData")
    if mib is None or used is None or resource is None:
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = used + mib * _MIB
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


def resident_mib() -> float:
    """Return the memory that this process holds now, in MiB; 0 where that is not known."""
    value = _status("VmRSS")
    return 0.0 if value is None else value / _MIB


def _status(name: str) -> int | None:
    """Return a size of /proc/self/status in bytes; None where there is none."""
    try:
        lines = Path("/proc/self/status").read_text("ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), None)

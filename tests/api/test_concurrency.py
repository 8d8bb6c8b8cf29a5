"""Threads, processes and a full disk: nothing is lost."""

from __future__ import annotations

import asyncio
import concurrent.futures
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from family_recall import FamilyRecall, Memory
from family_recall.errors import ClosedError, StoreFullError
from tests.conftest import (
    HOME,
    TinyEncoder,
    found,
    move_in,
    open_home,
    recall,
    remember,
    store_of,
    stories,
    written,
)


def test_a_full_disk_keeps_what_was_stored(path: Path) -> None:
    """When the disk fills up during an import, earlier batches stay and the file is sound.

    Once there is room, the same import stores the rest and no memory twice.
    """
    memories = [
        Memory(f"Story {n}: " + " ".join(f"w{n}x{i}" for i in range(60)), HOME, doc_id=f"story-{n}")
        for n in range(400)
    ]
    with open_home(path) as home:
        move_in(home)
        home.remember_many(memories[:20])
        with store_of(home)._connections.writing() as writer:
            writer.pragma("max_page_count", int(writer.pragma("page_count")) + 60)
        stored: list[int] = []
        with pytest.raises(StoreFullError, match="disk is full"):
            home.remember_many(memories, batch_size=20, progress=stored.append)
        n_stored = home.maintenance.stats()["memories"]

        assert stored
        assert 20 < n_stored < 400
        assert n_stored >= stored[-1]
        assert found(recall(home, "w5x7", "mia"))[0] == "story-5"

        with store_of(home)._connections.writing() as writer:
            assert writer.pragma("integrity_check") == "ok"
            writer.pragma("max_page_count", 1_000_000)
        outcomes = {remembered.outcome for remembered in home.remember_many(memories)}
        assert outcomes == {"created", "unchanged"}
        home.flush()
        assert home.maintenance.stats()["memories"] == 400
        assert found(recall(home, "w399x7", "mia"))[0] == "story-399"


def test_threads_read_and_write_one_household(path: Path) -> None:
    """Four readers and two writers on one object: no exception, and nothing is lost."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())
        done = threading.Event()

        def write(name: str) -> int:
            for n in range(15):
                remember(home, f"{name} says {n} about the key", author=name,
                         doc_id=f"{name}-{n}", session_id=f"{name}-{n // 5}")  # fmt: skip
            return 15

        def read(person_id: str) -> int:
            n = 0
            while not done.is_set() or n == 0:
                answer = recall(home, "who says what about the key?", person_id, top_k=20)
                assert answer.degraded == ()
                assert len(set(found(answer))) == len(answer.results)
                n += 1
            return n

        with concurrent.futures.ThreadPoolExecutor(6) as threads:
            readers = [threads.submit(read, who) for who in ("mia", "priya", "rajesh", "mia")]
            writers = [threads.submit(write, name) for name in ("Otto", "Hanna")]
            try:
                assert sum(writer.result() for writer in writers) == 30
            finally:
                done.set()
            assert all(reader.result() for reader in readers)
        during = written(recall(home, "what does Otto say of the key?", "mia"))
        assert home.maintenance.stats()["memories"] == 37
    with open_home(path) as home:
        assert written(recall(home, "what does Otto say of the key?", "mia")) == during


_WRITER = """
import sys
from pathlib import Path
from family_recall import FamilyRecall, Memory, Space
from family_recall.types import RecallContext
name = sys.argv[2]
with FamilyRecall.open(sys.argv[1], models=Path("none")) as home:
    home.spaces.add(Space("shared:home", "shared"))
    for n in range(25):
        home.remember(Memory(f"{name} counts to {n}", "shared:home", doc_id=f"{name}-{n}"))
        assert home.recall(name, RecallContext(time_budget_ms=60_000)).results
"""


def test_two_processes_share_a_file(path: Path) -> None:
    """Two processes make, write and read one file at once: no exception, and nothing is lost."""
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(path), name], stderr=subprocess.PIPE)
        for name in ("alpha", "beta")
    ]
    errors = [writer.communicate(timeout=60)[1].decode() for writer in writers]

    assert errors == ["", ""]
    with open_home(path, encoder=None) as home:
        assert home.maintenance.stats()["memories"] == 50
        assert len(recall(home, "counts", top_k=100).results) == 50


def test_one_process_sees_what_another_wrote(path: Path) -> None:
    """A second object on the same file finds a memory, and its vector, once it is written."""
    with open_home(path) as writer, open_home(path) as reader:
        move_in(writer)
        writer.remember_many(stories())
        assert "otto" not in found(recall(reader, "plumber", "mia", top_k=50))
        remember(writer, "Otto is our plumber", doc_id="otto")
        answer = recall(reader, "plumber", "mia")

        assert found(answer)[0] == "otto"
        assert "otto" in answer.trace.runs["vector"]
        assert written(answer) == written(recall(writer, "plumber", "mia"))


CALLS: tuple[Callable[[FamilyRecall], object], ...] = (
    lambda home: recall(home, "What did I tell Priya about vacation?", "rajesh"),
    lambda home: home.opening(person_id="rajesh"),
    lambda home: home.explain("vacation?", "grandma", person_id="rajesh"),
    lambda home: home.warmup(),
    lambda home: home.memories.page(person_id="rajesh"),
    lambda home: home.remember("The key is under the pot", author="Priya", space_id=HOME),
    lambda home: asyncio.run(home.arecall("vacation?", person_id="rajesh")),
)


@pytest.mark.parametrize("call", CALLS)
def test_what_runs_while_the_household_is_closed_ends_or_is_refused(
    path: Path, call: Callable[[FamilyRecall], object]
) -> None:
    """Until it is closed a call answers; from then on it raises ClosedError, and nothing else."""
    with open_home(path, encoder=TinyEncoder()) as home:
        move_in(home)
        home.remember_many(stories())
    for _ in range(2):
        home = open_home(path, encoder=TinyEncoder())
        answered = threading.Barrier(4)

        def ask(home: FamilyRecall = home, answered: threading.Barrier = answered) -> None:
            call(home)
            answered.wait()
            while True:
                call(home)

        with concurrent.futures.ThreadPoolExecutor(3) as threads:
            asking = [threads.submit(ask) for _ in range(3)]
            answered.wait()
            home.close()
            raised = [future.exception(timeout=30) for future in asking]

        assert [type(error) for error in raised] == [ClosedError] * 3


def test_closing_waits_for_a_recall_that_runs(home: FamilyRecall) -> None:
    """The file is closed after the last reader is done, not under it."""
    with store_of(home).reading() as reading:
        closing = threading.Thread(target=home.close)
        closing.start()
        while not store_of(home)._connections._closed:
            pass
        assert closing.is_alive()
        assert reading.info("schema") is None
    closing.join()

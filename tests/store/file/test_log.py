"""The write-ahead log: how long it gets, and who is waited for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from family_recall.store.file import connections
from family_recall.store.file.connections import Connections

PAGE = 4096


@contextlib.contextmanager
def nonstop_readers(file: Connections) -> Iterator[None]:
    """Read on two threads, each of which begins again before the other ends: nobody ever pauses."""
    first, second = threading.Semaphore(0), threading.Semaphore(0)
    stopped = threading.Event()

    def read(own: threading.Semaphore, other: threading.Semaphore) -> None:
        if own is second:
            own.acquire()
        while not stopped.is_set():
            with file.reading() as connection:
                connection.execute("SELECT count(*) FROM info").fetchall()
                other.release()
                own.acquire()  # until the other one has begun again

    pairs = ((first, second), (second, first))
    threads = [threading.Thread(target=read, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopped.set()
        first.release()
        second.release(2)
        for thread in threads:
            thread.join()


def filled(file: Connections, n: int) -> int:
    """Write n transactions of 20 pages, and return how long the log got at most."""
    longest = 0
    for number in range(n):
        with file.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO info VALUES('filler', ?)", (f"{number:x}" * 20 * PAGE,)
            )
        longest = max(longest, Path(f"{file.path}-wal").stat().st_size)
    return longest


def test_the_log_stays_bounded_while_somebody_always_reads(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much is written (here ten megabytes): about as much as the limit, 400 kB."""
    limit = 100 * PAGE
    monkeypatch.setattr(connections, "MAX_LOG_BYTES", limit)
    file = Connections(path, create=True)
    try:
        with nonstop_readers(file):
            longest = filled(file, 120)
    finally:
        file.close()

    assert longest < 4 * limit


def test_a_reader_that_does_not_end_is_not_waited_for_at_each_commit(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit waits for readers only after the log has grown by its limit again."""
    waits: list[int] = []
    monkeypatch.setattr(connections, "MAX_LOG_BYTES", 100 * PAGE)
    monkeypatch.setattr(connections, "_EMPTY_LOG_TIMEOUT_MS", 1)
    file = Connections(path, create=True)
    empty = file._empty_log

    def counted() -> bool:
        waits.append(1)
        return empty()

    monkeypatch.setattr(file, "_empty_log", counted)
    with contextlib.closing(apsw.Connection(str(path))) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM info").fetchall()
        written = filled(file, 30)
        assert 1 <= len(waits) <= written // (100 * PAGE)
        assert not file.empty_log()
    assert file.empty_log()
    file.close()

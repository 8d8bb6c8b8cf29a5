"""A connection: what it stands that no caller should do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CURSORS_DROPPED_BY_ANOTHER_THREAD = """
import pathlib, queue, sys, threading
from family_recall.store.file.connection import connect

connection = connect(pathlib.Path(sys.argv[1]), None)
connection.execute("CREATE TABLE t AS SELECT value FROM json_each('[1,2,3,4,5,6,7,8]')")
cursors = queue.SimpleQueue()

def drop():
    while cursors.get() is not None:
        pass

thread = threading.Thread(target=drop)
thread.start()
for n in range(3_000):
    cursor = connection.execute("SELECT value FROM t WHERE value > ?", (n % 5,))
    next(cursor)
    cursors.put(cursor)
    del cursor
    connection.execute("SELECT max(value) FROM t WHERE value % 5 = ?", (n % 5,)).fetchall()
cursors.put(None)
thread.join()
print("whole")
"""


def test_a_cursor_may_be_dropped_by_any_thread(tmp_path: Path) -> None:
    """An exception that an application keeps holds a cursor; freeing it later ends no process."""
    run = subprocess.run(
        [sys.executable, "-c", CURSORS_DROPPED_BY_ANOTHER_THREAD, str(tmp_path / "t.db")],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (run.returncode, run.stdout) == (0, "whole\n"), run.stderr

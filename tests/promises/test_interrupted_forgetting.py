"""Interrupted forgetting: what was to be forgotten is there whole, or gone whole."""

from __future__ import annotations

import datetime as dt
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from family_recall import Memory, Relation
from family_recall.types.erasure import Receipt
from tests.conftest import HOME, Wall, found, move_in, open_home, recall, store_of, stories

PARTS = ("memory", "embedding", "mention", "identifier", "mentioned_time", "edge", "relation")

FORGET = """
import os, signal, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.conftest import Wall, open_home

home = open_home(Path(sys.argv[1]))
home.recall("wake up")
steps = 0

def count(cursor, sql, values):
    global steps
    steps += 1
    if steps == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return True

home._engine.store._connections._writer.exec_trace = count
home.forget(["march", "goa"], person_id="rajesh")
print("steps", steps, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def furnished(path: Path) -> None:
    """Make a household whose session, relation and words depend on what is to be forgotten."""
    with open_home(path, wall=Wall()) as home:
        move_in(home)
        home.remember_many(stories())
        home.relations.add(Relation("Priya", "plans", "Goa", HOME, evidence=("goa",)))
        home.remember(
            Memory(
                "I told Priya we can do May",
                HOME,
                doc_id="march",
                author="Rajesh",
                session_id="talk-1",
                occurred_at=dt.datetime(2025, 2, 1, 18, tzinfo=dt.UTC),
            )
        )


def whole_or_gone(path: Path) -> str:
    """Return whether an interruption left all or nothing; anything in between fails."""
    with open_home(path, wall=Wall()) as home:
        home.erasure.apply_rules()  # as opening a household does: cleans bytes that were left
        receipts = home.erasure.receipts()
        ids = found(recall(home, "What did I tell Priya about May and the Goa trip?", "rajesh"))
        if not receipts:
            assert {"march", "goa"} <= set(ids)
            assert home.maintenance.stats()["relations"] == 1
            assert home.maintenance.stats()["superseded"] == 1
            return "whole"
        assert not {"march", "goa"} & set(ids)
        proven = home.erasure.verify(receipts[0])
        assert proven.forgotten, proven
        assert home.maintenance.stats()["relations"] == home.maintenance.stats()["superseded"] == 0
        home.maintenance.rebuild()
        return "gone"


def test_at_every_statement_it_is_whole_or_gone(tmp_path: Path) -> None:
    """Whichever statement was the last, the files then hold all of it or none."""
    path = tmp_path / "home" / "home.db"
    path.parent.mkdir()
    furnished(path)
    moments: list[Path] = []

    with open_home(path, wall=Wall()) as home:
        writer = store_of(home)._connections._writer

        def keep(*_: object) -> bool:
            to = tmp_path / str(len(moments))
            to.mkdir()
            for file in path.parent.iterdir():
                # Not the index of the log: SQLite makes it again after a crash.
                if not file.name.endswith("-shm"):
                    shutil.copy(file, to)
            moments.append(to / path.name)
            return True

        writer.exec_trace = keep
        home.forget(["march", "goa"], person_id="rajesh")
        writer.exec_trace = None
    ends = [whole_or_gone(moment) for moment in moments[:: max(len(moments) // 25, 1)]]
    ends.append(whole_or_gone(moments[-1]))

    turning = ends.index("gone")
    assert set(ends[:turning]) == {"whole"}
    assert set(ends[turning:]) == {"gone"}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no process can be killed outright here")
def test_a_killed_process_leaves_it_whole_or_gone() -> None:
    """A process killed at a random statement, or right after the last, leaves all or none."""
    root = Path(__file__).parents[2]
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "first.db"
        furnished(first)
        n_steps = forget_until_killed(root, shutil.copy(first, Path(folder) / "whole.db"), 0)
        chosen = random.Random(7).sample(range(1, n_steps), 4)
        ends = []
        for step in sorted(chosen):
            path = Path(shutil.copy(first, Path(folder) / f"{step}.db"))
            forget_until_killed(root, path, step)
            ends.append(whole_or_gone(path))

        assert whole_or_gone(Path(folder) / "whole.db") == "gone"
        assert ends == sorted(ends, reverse=True)  # whole first, then gone


def forget_until_killed(root: Path, path: str | Path, step: int) -> int:
    """Forget in a process of its own, killed before a statement; 0 lets it end first."""
    done = subprocess.run(
        [sys.executable, "-c", FORGET.format(root=str(root)), str(path), str(step)],
        capture_output=True, text=True, check=False, timeout=200, cwd=root,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    return int(done.stdout.split()[-1]) if step == 0 else step


def test_a_receipt_is_read_as_it_was_written(tmp_path: Path) -> None:
    """A receipt survives its way through JSON."""
    path = tmp_path / "home.db"
    furnished(path)
    with open_home(path, wall=Wall()) as home:
        receipt = home.forget("march", person_id="rajesh")

        assert Receipt.from_json(receipt.to_json()) == receipt == home.erasure.receipts()[0]

"""At a terminal: bars, colours, and Ctrl-C; none of them in a pipe."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest
from click.testing import CliRunner

from family_recall import FamilyRecall
from family_recall.api.maintenance import Maintenance
from family_recall.apps import evaluation
from family_recall.apps.cli import main
from family_recall.apps.evaluation import timing
from tests.conftest import NO_MODELS

pty = pytest.importorskip("pty", reason="pseudo-terminals are a thing of Unix")

FAMILY_RECALL = [sys.executable, "-m", "family_recall"]
WAIT_S = 120.0
WORDS = "grandma key pot garden school boiler plumber sunday trip alarm bike cake doctor".split()


def many(path: Path, n: int) -> Path:
    """Write n memories as JSON Lines."""
    texts = (" ".join(WORDS[(at + i * i) % len(WORDS)] for i in range(14)) for at in range(n))
    records = ({"id": f"m{at}", "text": f"{text} {at}"} for at, text in enumerate(texts))
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Return a household of alice, with nothing in it."""
    path = tmp_path / "family.db"
    done = CliRunner().invoke(main, ["init", "--db", str(path), "--person", "alice"])
    assert done.exit_code == 0, done.output
    return path


def at_a_terminal(*args: str | Path, env: Mapping[str, str] | None = None) -> str:
    """Run the command with a terminal for output and errors; gives all that it wrote there."""
    ours, its = pty.openpty()
    terminal = {"TERM": "xterm-256color", "COLUMNS": "120", **os.environ, **(env or {})}
    process = subprocess.Popen(
        [*FAMILY_RECALL, *map(str, args)], stdout=its, stderr=its, env=terminal
    )
    os.close(its)
    written = b""
    begun = time.monotonic()
    with contextlib.suppress(OSError):  # Linux says EIO at the end
        while time.monotonic() - begun < WAIT_S:
            if select.select([ours], [], [], 1.0)[0]:
                part = os.read(ours, 65536)
                if not part:
                    break
                written += part
    os.close(ours)
    assert process.wait(WAIT_S) == 0, written
    return written.decode(errors="replace")


def test_a_bar_tells_rate_and_time_left(db: Path, tmp_path: Path) -> None:
    """What import does stands on a line with done, total, rate, and time left; in a pipe nothing.

    The bar is gone at the end: the last line is what was created.
    """
    notes = many(tmp_path / "notes.jsonl", 300)

    shown = at_a_terminal("import", "--db", db, notes, "--batch", "20")

    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert re.search(r"storing .* \d+/300 +[\d,]+/s +\d:\d\d:\d\d", plain), plain
    assert plain.rstrip().endswith("300 created")
    piped = subprocess.run(
        [*FAMILY_RECALL, "import", "--db", str(db), str(notes)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (piped.stdout, piped.stderr) == ("300 unchanged\n", "")


def test_colour_is_left_out_where_nobody_wants_it(db: Path) -> None:
    """A terminal gets styles, and none of any kind with NO_COLOR."""
    question = ("recall", "--db", db, "x", "--person", "alice", "--no-rerank")

    assert "\x1b[1" in at_a_terminal(*question)
    assert "\x1b" not in at_a_terminal(*question, env={"NO_COLOR": "1"})


def stopped(args: list[str], when: Callable[[], bool]) -> subprocess.CompletedProcess[str]:
    """Run a process, press Ctrl-C once ``when`` is true, and return how it ended.

    The default handler is restored first: a shell ignores Ctrl-C in background jobs.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [*FAMILY_RECALL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    begun = time.monotonic()
    while not when() and process.poll() is None and time.monotonic() - begun < WAIT_S:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=WAIT_S)
    return subprocess.CompletedProcess(args, process.returncode, out, err)


def stored(db: Path) -> int:
    """Count what is in the file, from outside, waiting for no lock: 0 while it is locked."""
    file = apsw.Connection(str(db), flags=apsw.SQLITE_OPEN_READONLY)
    with contextlib.closing(file), contextlib.suppress(apsw.BusyError):
        ((n,),) = file.execute("SELECT count(*) FROM memory")
        return int(str(n))
    return 0


def test_an_interrupted_import_is_whole_and_goes_on(db: Path, tmp_path: Path) -> None:
    """Ctrl-C ends it with 130 and a line; the file is sound, and the same command ends the work.

    Interrupted once some of it is stored, whatever it is at then.
    """
    notes = many(tmp_path / "notes.jsonl", 1500)
    line = ["import", "--db", str(db), str(notes), "--batch", "16"]

    ended = stopped(line, lambda: stored(db) > 0)

    assert ended.returncode == 130, ended
    assert ended.stdout == ""
    (said,) = ended.stderr.splitlines()
    kept = re.fullmatch(r"Interrupted: ([\d,]+) of 1,500 lines or more are stored; .*", said)
    assert kept is not None, said
    with FamilyRecall.open(db, create=False, models=NO_MODELS) as home:
        n = home.maintenance.stats()["memories"]
        assert 0 < n < 1500
        assert int(kept[1].replace(",", "")) <= n
        assert [one for one in home.maintenance.check() if one.problem] == []
    again = CliRunner().invoke(main, line)
    assert again.stdout == f"{1500 - n:,} created, {n:,} unchanged\n"
    stats = json.loads(CliRunner().invoke(main, ["stats", "--db", str(db), "--json"]).stdout)
    assert set(stats["vectors"].values()) == {1500}


class Pressed(KeyboardInterrupt):
    """Ctrl-C at a moment of our choosing."""


def press(*_: Any, **__: Any) -> Any:
    """Press Ctrl-C."""
    raise Pressed


@pytest.mark.parametrize(
    ("line", "where", "said"),
    [
        (["stats"], (Maintenance, "stats"), "stopped; what was acknowledged before is stored"),
        (["rebuild"], (Maintenance, "rebuild"), "nothing is changed; run the same command again"),
        (["reembed"], (Maintenance, "reembed"), "0 of 0 vectors are stored; the same"),
        (["import", "{notes}"], (FamilyRecall, "remember_many"), "0 of 3 lines or more are stored"),
        (["import", "{export}"], (Maintenance, "import_from"), "nothing of it is stored; run the"),
        (
            ["import", "{export}"],
            (FamilyRecall, "flush"),
            "all of it is stored; family-recall reem",
        ),
        (["eval", "{folder}"], (evaluation, "evaluate"), "start: 0 of 0; nothing of it is saved"),
        (
            ["eval", "{folder}", "--checkpoint", "done"],
            (evaluation, "evaluate"),
            "start: 0 of 0; saved in done; the same command continues from there",
        ),
        (["bench"], (timing, "time_household"), "nothing is saved; run it again, or with fewer"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_ctrl_c_says_what_is_done_and_how_to_go_on(
    line: list[str],
    where: tuple[Any, str],
    said: str,
    db: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One line on stderr, no traceback, and exit code 130."""
    notes, export = many(tmp_path / "notes.jsonl", 3), tmp_path / "export.jsonl"
    assert CliRunner().invoke(main, ["export", "--db", str(db), str(export)]).exit_code == 0
    target = db if "{export}" not in line else tmp_path / "new.db"
    monkeypatch.setattr(*where, press)

    args = [part.format(notes=notes, export=export, folder=tmp_path) for part in line]
    result = CliRunner().invoke(main, args, env={"FAMILY_RECALL_DB": str(target)})

    assert result.exit_code == 130, result.output
    assert result.stderr.startswith(f"Interrupted: {said}"), result.stderr
    assert result.stderr.count("\n") == 1

"""``family-recall browse``: what it refuses to start with, and that it opens the link it says."""

from __future__ import annotations

import signal
import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from family_recall.apps.cli import main
from family_recall.apps.web import Reader

START_S = 60.0


@pytest.fixture
def db(path: Path) -> Path:
    """Return a household of Alice."""
    done = CliRunner().invoke(main, ["init", "--person", "alice", "--db", str(path)])
    assert done.exit_code == 0, done.output
    return path


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--db", "{db}"), 2, "person"),
        (("--db", "{db}", "--person", "zoe"), 1, "zoe"),
        (("--db", "nowhere.db", "--person", "alice"), 1, "no such file"),
        (("--db", "{db}", "--person", "alice", "--port", "70000"), 2, "0<=x<=65535"),
        (("--db", "{db}", "--person", "alice", "--budget-ms", "0"), 1, "--budget-ms must"),
    ],
)
def test_what_cannot_be_served_is_refused_at_once(
    db: Path, args: tuple[str, ...], code: int, message: str
) -> None:
    """On stderr, with nothing on stdout, and no server."""
    result = CliRunner().invoke(main, ["browse", *(arg.format(db=db) for arg in args)])

    assert result.exit_code == code, result.output
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("no_open", [True, False])
def test_the_link_is_said_and_opened(
    db: Path, no_open: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this machine's browser, unless --no-open is given."""
    opened: list[str] = []
    served: list[tuple[str | None, bool, int]] = []
    was_opened = threading.Event()

    def open_(link: str) -> None:
        opened.append(link)
        was_opened.set()

    def serve(reader: Reader, port: int, ready: Callable[[str], None]) -> None:
        served.append((reader.ctx.person_id, reader.read_only, port))
        ready("http://127.0.0.1:1/?token=x")
        if not no_open:
            assert was_opened.wait(START_S)

    monkeypatch.setattr(webbrowser, "open", open_)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr("family_recall.apps.web.serve", serve)
    more = ["--no-open"] if no_open else ["--read-only", "--port", "8788"]

    result = CliRunner().invoke(main, ["browse", "--db", str(db), "--person", "alice", *more])

    assert result.exit_code == 0, result.output
    assert result.stderr == "open http://127.0.0.1:1/?token=x\n"
    assert opened == ([] if no_open else ["http://127.0.0.1:1/?token=x"])
    assert served == [("alice", not no_open, 0 if no_open else 8788)]


def test_without_the_extra_it_says_how_to_add_it(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing package is named, with the command that brings it."""
    ours = "family_recall.apps.web"
    for name in [name for name in sys.modules if name.startswith(ours)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("family_recall.apps.web", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)

    result = CliRunner().invoke(main, ["browse", "--db", str(db), "--person", "alice"])

    assert result.exit_code == 1
    assert result.stderr == (
        "Error: uvicorn is not installed; add it with: pip install 'family-recall[browse]'\n"
    )

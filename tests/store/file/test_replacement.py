"""Files that take their name in one step, private from their first byte, and leave no trace."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from family_recall import FamilyRecall
from family_recall.api import files
from family_recall.apps.evaluation import timing
from family_recall.errors import StoreError
from family_recall.store.file.replacement import (
    leftovers,
    remove_leftovers,
    replacing,
    scratch_folder,
    write_text,
)
from tests.apps.cli.runner import call, done
from tests.conftest import open_home
from tools.torture.interrupts import Interrupted, Points

forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are forked")


def mode_of(path: Path) -> int:
    """Return who may read and write a file."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def _open_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


def killed_in(work: Callable[[], object]) -> None:
    """Do something in a process that is killed when it gets to its end."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def write_half(target: Path) -> None:
    """Begin to write a file, and be killed."""
    with replacing(target) as partial:
        partial.write_text("The spare key is under the blue pot", encoding="utf-8")
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.usefixtures("_open_umask")
def test_whatever_holds_memories_is_private(tmp_path: Path) -> None:
    """Household, log, export, backup and page: their owner's alone, whatever the umask says."""
    path = tmp_path / "family.db"
    done("init", "--db", path, "--person", "alice")
    with open_home(path, create=False) as home:
        home.remember("The spare key is under the blue pot", space_id="shared:household")
        assert mode_of(Path(f"{path}-wal")) == 0o600
        home.maintenance.backup(tmp_path / "copy.db")
        home.maintenance.export_to(tmp_path / "family.jsonl")
    done("inspect", "--db", path, "where is the key?", "-o", tmp_path / "page.html")
    files.restore(tmp_path / "second.db", tmp_path / "copy.db")

    for name in ("family.db", "copy.db", "family.jsonl", "page.html", "second.db"):
        assert mode_of(tmp_path / name) == 0o600, name


@pytest.mark.usefixtures("_open_umask")
def test_a_file_is_private_while_it_is_written(tmp_path: Path) -> None:
    """From its first byte, not from its last."""
    with replacing(tmp_path / "family.jsonl") as partial:
        assert mode_of(partial) == 0o600
        assert partial.stat().st_size == 0
    with scratch_folder(tmp_path / "family.db") as folder:
        assert mode_of(folder) == 0o700
    assert [each.name for each in tmp_path.iterdir()] == ["family.jsonl"]


def test_a_restored_household_is_read_by_whom_it_was(home: FamilyRecall, path: Path) -> None:
    """A family that shares its file in a group of the system goes on doing so."""
    home.maintenance.backup(path.with_name("copy.db"))
    home.close()
    path.chmod(0o640)

    files.restore(path, path.with_name("copy.db"))

    assert mode_of(path) == 0o640


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    """A name that leads elsewhere is written there."""
    (tmp_path / "far").mkdir()
    (tmp_path / "page.html").symlink_to(tmp_path / "far" / "page.html")

    write_text(tmp_path / "page.html", "new")

    assert (tmp_path / "page.html").is_symlink()
    assert (tmp_path / "far" / "page.html").read_text(encoding="utf-8") == "new"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of files' ends
def test_an_interrupt_at_any_point_is_what_comes_out(tmp_path: Path) -> None:
    """No error takes its place, and nothing is left beside the file."""
    path = tmp_path / "page.html"
    with Points(None) as points, replacing(path):
        pass
    for at in range(points.passed):
        with contextlib.suppress(Interrupted), Points(at), replacing(path):
            pass
        remove_leftovers(tmp_path)
        assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_file_of_before_and_nothing_else(tmp_path: Path) -> None:
    """What was half written is gone."""
    target = tmp_path / "family.jsonl"
    target.write_text("before", encoding="utf-8")

    with pytest.raises(UnicodeEncodeError), replacing(target) as partial:
        partial.write_text("half \ud800", encoding="utf-8")

    assert target.read_text(encoding="utf-8") == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["family.jsonl"]
    with pytest.raises(StoreError, match="cannot be written"), replacing(tmp_path / "no" / "a"):
        pass


@forking
@pytest.mark.parametrize("next_run", ["write", "open", "doctor"])
def test_what_a_killed_export_left_is_removed_by_the_next_run(
    home: FamilyRecall, path: Path, next_run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what next writes into the folder, opens the household, or examines it, which names it."""
    home.close()
    monkeypatch.setenv("FAMILY_RECALL_MODELS", str(path.with_name("none")))
    killed_in(lambda: write_half(path.with_name("family.jsonl")))
    (left,) = leftovers(path.parent)
    assert b"spare key" in (left / "partial").read_bytes()
    (left / "partial-journal").write_bytes(b"its pages")

    if next_run == "write":
        write_text(path.with_name("other.html"), "page")
    elif next_run == "open":
        open_home(path, create=False).close()
    else:
        assert f"{left}: left by a command that was killed; removed" in call(
            "doctor", "--db", path
        ).stdout.replace("\n", "")

    assert not list(path.parent.glob(".*"))


@forking
def test_the_doctor_looks_in_the_working_folder_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where `export family.jsonl` would have written."""
    monkeypatch.setenv("FAMILY_RECALL_MODELS", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)
    killed_in(lambda: write_half(tmp_path / "family.jsonl"))

    assert "left by a command that was killed" in call("doctor").stdout
    assert not list(tmp_path.iterdir())


@forking
def test_a_killed_folder_is_removed_with_what_is_in_it(tmp_path: Path) -> None:
    """The doctor's repair writes its export into one."""

    def repair() -> None:
        with scratch_folder(tmp_path / "family.db") as folder:
            (folder / "exported.jsonl").write_text("memories", encoding="utf-8")
            os.kill(os.getpid(), signal.SIGKILL)

    killed_in(repair)

    assert len(remove_leftovers(tmp_path)) == 1
    assert not list(tmp_path.iterdir())


@forking
@pytest.mark.parametrize("next_run", ["bench", "doctor"])
def test_the_copy_that_a_killed_bench_left_is_removed_by_the_next_run(
    home: FamilyRecall,
    path: Path,
    tmp_path: Path,
    next_run: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It lies among the system's temporary files, private from the start; doctor names it."""
    home.close()
    monkeypatch.setenv("FAMILY_RECALL_MODELS", str(tmp_path / "none"))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def dies(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def bench() -> None:
        with mock.patch.object(timing, "_time", dies):
            call("bench", "--db", path, "--person", "rajesh")

    killed_in(bench)
    (left,) = leftovers(temporary)
    assert (left / "copy.db").exists()
    assert stat.S_IMODE(left.stat().st_mode) == 0o700

    output = call(next_run, "--db", path, *["--person", "rajesh"] * (next_run == "bench")).stdout
    assert not list(temporary.iterdir())
    named = f"{left}: left by a command that was killed; removed" in output.replace("\n", "")
    assert named == (next_run == "doctor")


def test_what_a_living_process_writes_is_no_leftover(tmp_path: Path) -> None:
    """Two exports into one folder do not remove each other's files."""
    with (
        replacing(tmp_path / "a.jsonl") as first,
        replacing(tmp_path / "b.jsonl") as second,
        scratch_folder(tmp_path / "a") as folder,
    ):
        assert remove_leftovers(tmp_path) == []
        assert first.exists()
        assert second.exists()
        assert folder.exists()

    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl"]


def test_other_programs_files_are_left_alone(tmp_path: Path) -> None:
    """Only names of ours are removed."""
    names = [".family.db.4711.partial", "a.family-recall-partial", ".a.family-recall-partial"]
    for name in names:
        (tmp_path / name).write_text("mine", encoding="utf-8")

    assert remove_leftovers(tmp_path) == []
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(names)

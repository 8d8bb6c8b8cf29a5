"""Durable: what was acknowledged is there, whole, or an error says why it cannot be read."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from family_recall import FamilyRecall, Memory
from family_recall.errors import FamilyRecallError, StoreError, StoreFullError
from tests.conftest import (
    HOME,
    found,
    move_in,
    open_home,
    recall,
    remember,
    stories,
    written,
)
from tools.torture.household import Disk

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "where is the spare key?"
NOBODY = 65534


def tool(name: str, *arguments: str, tmp_path: Path) -> dict[str, object]:
    """Run a torture tool and return its report; it must find nothing."""
    report = tmp_path / "report.json"
    done = subprocess.run(
        [sys.executable, "-m", f"tools.torture.{name}", *arguments, "--json", str(report)],
        cwd=ROOT,
        capture_output=True, text=True, check=False, timeout=220,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    read: dict[str, object] = json.loads(report.read_text(encoding="utf-8"))
    return read


def sound(path: Path) -> FamilyRecall:
    """Open a household that must pass every check."""
    home = open_home(path, create=False)
    assert [one for one in home.maintenance.check() if one.problem] == []
    return home


@contextlib.contextmanager
def disk(before_write: Callable[[bytes], bytes]) -> Iterator[None]:
    """Put a simulated disk under every file that is opened meanwhile."""
    shim = Disk(before_write)
    try:
        yield
    finally:
        shim.leave()


class FillingUp:
    """A disk that is full after some writes, until there is room again."""

    def __init__(self, after: int) -> None:
        """Leave room for some writes."""
        self.left = float(after)

    def __call__(self, data: bytes) -> bytes:
        """Pass a write on, or raise that the disk is full."""
        self.left -= 1
        if self.left < 0:
            raise apsw.FullError
        return data

    def make_room(self) -> None:
        """Accept every write from now on."""
        self.left = float("inf")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the tool forks")
def test_twenty_killed_processes_lose_nothing(tmp_path: Path) -> None:
    """Killed at random points, a file opens, is sound, and has all that was acknowledged."""
    report = tool("crash", "--kills", "20", "--seed", "11", tmp_path=tmp_path)

    assert sum(report["kills"].values()) >= 20  # type: ignore[attr-defined]  # counts by name


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the tool forks")
def test_processes_that_read_write_and_die_see_one_state_each(tmp_path: Path) -> None:
    """Two readers and two writers, one killed a second: no lock error, no answer of two states."""
    report = tool(
        "processes", "--seconds", "6", "--readers", "2", "--writers", "2",
        tmp_path=tmp_path,
    )  # fmt: skip

    assert report["kills"]


@pytest.mark.parametrize("after", [0, 1, 2, 5, 9, 14, 20, 33])
def test_a_full_disk_undoes_the_step_and_says_so(path: Path, after: int) -> None:
    """What did not fit is not stored at all; the rest is, and with room writing goes on."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())
        before = written(recall(home, QUESTION, "rajesh"))
    stored, full, said = 0, FillingUp(after), ""
    with disk(full):
        try:
            with open_home(path, create=False) as home:
                try:
                    for number in range(100):
                        remember(home, f"number {number} of many", doc_id=f"n{number}")
                        stored += 1
                finally:
                    full.make_room()
        except StoreFullError as error:
            said = str(error)
    assert stored < 100

    with sound(path) as home:
        n_stored = home.maintenance.stats()["memories"] - 7
        assert n_stored in {stored, stored + 1}
        assert "the disk is full" in said
        assert ("the memories are stored" in said) == (n_stored == stored + 1)
        if stored == 0 and home.maintenance.stats()["memories"] == 7:
            assert written(recall(home, QUESTION, "rajesh")) == before
        remember(home, "the lamp is in the attic", doc_id="lamp")
        assert found(recall(home, "where is the lamp?", "rajesh"))[0] == "lamp"


def test_a_full_disk_leaves_no_half_backup(path: Path, tmp_path: Path) -> None:
    """A backup that did not fit leaves no file behind."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())
        with (
            disk(FillingUp(3)),
            pytest.raises(StoreFullError, match=r"copy\.db: the disk is full"),
        ):
            home.maintenance.backup(tmp_path / "copy.db")

    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@contextlib.contextmanager
def forbidden(folder: Path, mode: int) -> Iterator[None]:
    """Remove rights from a path, and root's power to ignore them."""
    as_root = os.geteuid() == 0
    before = folder.stat().st_mode
    folder.chmod(mode)
    if as_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if as_root:
            os.seteuid(0)
        folder.chmod(before)


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """Create a folder that a user without rights can reach, with a household in it."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    with open_home(folder / "family.db") as home:
        move_in(home)
        home.remember_many(stories())
    (folder / "family.db").chmod(0o666)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX rights")
def test_a_file_that_may_only_be_read_is_refused_in_words(open_to_all: Path) -> None:
    """Without the right to write, an error says why, and nothing changes."""
    path = open_to_all / "family.db"
    content = path.read_bytes()

    with (
        forbidden(path, 0o444),
        pytest.raises(StoreError, match=r"family\.db: may only be read"),
        open_home(path, create=False) as home,
    ):
        remember(home, "this cannot be kept")

    assert path.read_bytes() == content


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX rights")
def test_a_folder_that_may_only_be_read_is_refused_in_words(open_to_all: Path) -> None:
    """SQLite's log needs a place beside the file: where there is none, opening says so."""
    path = open_to_all / "family.db"

    with forbidden(open_to_all, 0o555), pytest.raises(StoreError, match=r"its folder"):
        open_home(path, create=False)

    sound(path).close()


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be deleted there")
def test_a_file_that_vanished_accepts_nothing_more(home: FamilyRecall, path: Path) -> None:
    """Writes to a file without a name would be lost: reading and writing both stop."""
    path.unlink()

    with pytest.raises(StoreError, match="was deleted, moved or replaced"):
        remember(home, "this would be lost")
    with pytest.raises(StoreError, match="was deleted, moved or replaced"):
        recall(home, QUESTION)


def household(tmp_path: Path) -> tuple[Path, list[str]]:
    """Create a household, and return its answers."""
    path = tmp_path / "sound.db"
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())
        home.remember_many([Memory(f"note {n} about the garden", HOME) for n in range(80)])
        return path, answers(home)


def answers(home: FamilyRecall) -> list[str]:
    """Ask some questions, and return the texts of the results."""
    asked = (QUESTION, "what did I tell Priya about vacation?", "note 7 about the garden")
    return ["\n".join(one.text for one in recall(home, question).results) for question in asked]


def silent_and_wrong(path: Path, right: list[str]) -> str | None:
    """Describe a wrong answer of a damaged file without any error; None if there is none."""
    try:
        with open_home(path, create=False) as home:
            if answers(home) == right:
                return None
            wrong = [one for one in home.maintenance.check() if one.problem]
            return None if wrong else "another answer, and every check passes"
    except FamilyRecallError:
        return None


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.4, 0.7, 0.95, 0.999])
def test_a_file_cut_short_is_refused_or_says_what_is_wrong(tmp_path: Path, share: float) -> None:
    """A truncated file raises, or its checks fail: it never gives another answer in silence."""
    path, right = household(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])

    assert silent_and_wrong(path, right) is None


@pytest.mark.parametrize("seed", range(12))
def test_flipped_bytes_are_met_by_an_error_or_by_the_checks(tmp_path: Path, seed: int) -> None:
    """Pages overwritten in part raise, or fail the checks, or do not matter to the answers."""
    chance = random.Random(seed)
    path, right = household(tmp_path)
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 4, 30))):
        at = chance.randrange(100, len(content)) if chance.random() < 0.9 else chance.randrange(100)
        content[at : at + 8] = chance.randbytes(8)[: len(content) - at]
    path.write_bytes(content)

    assert silent_and_wrong(path, right) is None


@pytest.mark.parametrize("seed", range(6))
def test_a_flipped_log_loses_its_end_and_nothing_else(tmp_path: Path, seed: int) -> None:
    """Frames of the log carry checksums: from a flipped one on the log is left out, as a whole."""
    chance = random.Random(seed)
    path, _ = household(tmp_path)
    with open_home(path, create=False) as home:
        for number in range(10):
            remember(home, f"late number {number}", doc_id=f"late-{number}")
        copy = tmp_path / "copy.db"
        shutil.copyfile(path, copy)
        log = bytearray(Path(f"{path}-wal").read_bytes())
    log[chance.randrange(32, len(log))] ^= 0xFF
    Path(f"{copy}-wal").write_bytes(log)

    with sound(copy) as home:
        late = {one.doc_id for one in recall(home, "late number", top_k=50).results}
        kept = {f"late-{number}" for number in range(10)} & late
        assert kept == {f"late-{number}" for number in range(len(kept))}


def test_a_damaged_index_is_found_and_rebuilt(path: Path) -> None:
    """Words, counts and vectors that disagree with the texts are derived from them again."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())
        right = answers(home)
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE word_count SET n = n + 1; DELETE FROM mention; DELETE FROM edge")
    connection.close()

    with open_home(path, create=False) as home:
        assert {one.what for one in home.maintenance.check() if one.problem} >= {"word counts"}
        home.maintenance.rebuild()
        assert [one for one in home.maintenance.check() if one.problem] == []
        assert answers(home) == right


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_cannot_harm_the_file(path: Path) -> None:
    """In a forked child the household refuses to work, and closing it leaves the parent's alone."""
    program = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from tools.torture.household import add_family, note, open_home
home = open_home(Path({str(path)!r}))
add_family(home)
home.remember(note("before", 0, 1))
child = os.fork()
if child == 0:
    try:
        home.remember(note("in the child", 0, 1))
    except Exception as error:
        said = str(error)
    home._engine.store.close()
    os._exit(0 if "before a fork" in said else 3)
_, status = os.waitpid(child, 0)
home.remember(note("after", 0, 1))
wrong = [one for one in home.maintenance.check() if one.problem]
print(os.waitstatus_to_exitcode(status), wrong, home.maintenance.stats()["memories"])
home.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )

    assert done.stdout.split() == ["0", "[]", "2"], done.stdout + done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("ending", ["", "home.close()", "del home"])
def test_a_child_forked_right_after_a_recall_ends(path: Path, ending: str) -> None:
    """While the parent writes its log of recalls, a forked child ends, and says nothing.

    The child is forked with every lock of the log held, as at the worst moment.
    """
    program = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from tools.torture.household import add_family, note, open_home
home = open_home(Path({str(path)!r}))
add_family(home)
home.remember(note("before", 0, 1))
home.recall("before?")
log = home._engine.audit_log
with log._writing, log._lock:
    child = os.fork()
    if child == 0:
        {ending or "pass"}
        sys.exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
home.close()
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (done.stdout.split(), done.stderr) == (["0"], "")


def test_threads_still_recalling_at_exit_do_not_abort(path: Path) -> None:
    """A program that ends without closing, in the middle of recalls, ends with its own status."""
    program = f"""
import sys, threading
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from tools.torture.household import add_family, note, open_home
threading.excepthook = lambda raised: sys.stdout.write(raised.exc_type.__name__ + " ")
home = open_home(Path({str(path)!r}))
add_family(home)
home.remember_many([note(f"note-{{n}}", 0, 1) for n in range(50)])
started = threading.Barrier(4)
def ask():
    started.wait()
    while True:
        home.recall("What did Priya say?")
for _ in range(3):
    threading.Thread(target=ask, daemon=True).start()
started.wait()
home.recall("note?")
sys.exit(7)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )

    assert (done.returncode, done.stderr) == (7, "")
    assert {*done.stdout.split()} <= {"ClosedError"}  # one that is stopped may say nothing


def test_an_interrupted_backup_keeps_the_one_before(home: FamilyRecall, tmp_path: Path) -> None:
    """A backup takes its name when it is whole; until then the one before has it."""
    copy = tmp_path / "copy.db"
    home.maintenance.backup(copy)
    content = copy.read_bytes()
    remember(home, "something new")

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        home.maintenance.backup(copy, overwrite=True, progress=interrupt)

    assert copy.read_bytes() == content
    assert not list(tmp_path.glob(".*partial*"))

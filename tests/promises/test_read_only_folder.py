"""A folder in which nothing may be written: each command says so clearly, and nothing is lost."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from family_recall.api import files
from family_recall.apps.cli.doctor import examine
from family_recall.errors import FamilyRecallError
from family_recall.store.file.schema import SCHEMA_VERSION
from tests.apps.cli.runner import call
from tests.conftest import HOME, found, move_in, open_home, recall, remember, stories

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="drops root's right to write")

COMMANDS = (
    ("add", "another note", "--space", HOME),
    ("recall", "where is the spare key?"),
    ("stats",),
    ("forget", "key", "--person", "rajesh"),
    ("backup", "{folder}/copy2.db"),
    ("export", "{folder}/family.jsonl"),
    ("restore", "{folder}/copy.db"),
    ("migrate",),
    ("rebuild",),
    ("rekey", "--no-key"),
    ("doctor",),
    ("doctor", "--repair"),
    ("inspect", "where is the spare key?", "-o", "{folder}/page.html"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a household, its backup, and another one."""
    place = tmp_path / "family"
    place.mkdir()
    with open_home(place / "family.db") as home:
        move_in(home)
        home.remember_many(stories())
        home.maintenance.backup(place / "copy.db")
    shutil.copy(place / "family.db", place / "old.db")
    return place


def without_rights(work: Callable[[], object]) -> int:
    """Do something in a process that may write only what file modes allow; return its status."""
    child = os.fork()
    if child == 0:
        status = 70
        try:
            header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # linux/capability.h, version 3
            ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)())
            status = int(bool(work()))
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_says_so_and_loses_nothing(folder: Path, command: tuple[str, ...]) -> None:
    """Whether it succeeds or not there is no traceback, and every file is as it was."""
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    folder.chmod(0o500)
    args = [part.format(folder=folder) for part in command]

    def work() -> bool:
        result = call("--db", folder / "family.db", *args, env={"FAMILY_RECALL_MODELS": "none"})
        clear = result.exit_code in {0, 1} and "Traceback" not in result.output
        crashed = result.exception is not None and not isinstance(result.exception, SystemExit)
        return not clear or crashed

    status = without_rights(work)
    folder.chmod(0o700)

    assert status == 0
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before
    with open_home(folder / "family.db", create=False) as home:
        assert found(recall(home, "where is the spare key?"))[0] == "key"


@pytest.mark.parametrize("what", ["open", "restore", "rekey", "migrate", "backup", "copy"])
def test_a_call_raises_an_error_of_this_library(folder: Path, what: str) -> None:
    """The message names the file; nothing is written half."""
    path, old, copy = folder / "family.db", folder / "old.db", folder / "copy.db"
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    calls: dict[str, Callable[[], object]] = {
        "open": lambda: remember(open_home(path, create=False), "more"),
        "restore": lambda: files.restore(path, copy),
        "rekey": lambda: files.rekey(path),
        "migrate": lambda: files.migrate(old),
        "backup": lambda: files.copy_file(path, folder / "copy2.db"),
        "copy": lambda: files.copy_file(old, folder / "copy2.db"),
    }
    folder.chmod(0o500)

    def work() -> bool:
        try:
            calls[what]()
        except FamilyRecallError as error:
            return str(folder) not in str(error)
        return True

    status = without_rights(work)
    folder.chmod(0o700)

    assert status == 0
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before
    assert files.migrate(old) == (SCHEMA_VERSION, SCHEMA_VERSION)


def test_the_doctor_says_what_has_to_be_allowed_before_it_repairs(folder: Path) -> None:
    """Where nothing may be written, ``--repair`` alone is no way out: the folder is named first."""
    path = folder / "family.db"
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        connection.execute("UPDATE word_count SET n = n + 1")

    def fixes() -> list[str]:
        return [
            check.fix or "" for check in examine(path).checks if "--repair" in (check.fix or "")
        ]

    assert fixes()
    assert not any("allow" in fix for fix in fixes())
    folder.chmod(0o500)
    expected = f"allow this user to write to {folder}, or copy {path} into a folder where they may"
    status = without_rights(lambda: not fixes() or not all(expected in fix for fix in fixes()))
    folder.chmod(0o700)
    assert status == 0

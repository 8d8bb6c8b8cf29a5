"""What a file may be written over, decided alike for every command and method that writes one."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from family_recall import FamilyRecall
from family_recall.api import files
from family_recall.apps import evaluation
from family_recall.errors import FamilyRecallError, InvalidRequestError, NotAStoreError
from family_recall.store.file.identity import check_destination
from tests.apps.cli.runner import call, done
from tests.conftest import found, open_home, recall

QUESTION = "where is the spare key?"
OUTPUTS = (
    ("inspect", QUESTION, "-o"),
    ("export", "--force"),
    ("backup", "--force"),
    ("bench", "--questions", "1", "--report"),
    ("migrate", "--backup"),
)
"""Commands of a household that write a file, which comes last."""


@pytest.fixture
def closed(home: FamilyRecall, path: Path) -> Path:
    """Return a household that nobody has open."""
    home.close()
    return path


def other_of(household: Path) -> Path:
    """Copy a closed household: another one, which nobody has open either."""
    return Path(shutil.copy(household, household.with_name("other.db")))


def special_files(folder: Path) -> dict[str, Path]:
    """Make what is no regular file, by what it is called; a device where that is allowed.

    Never the system's own: a test that fails would replace it.
    """
    made = {"a pipe": folder / "pipe", "a folder": folder / "folder", "a device": folder / "null"}
    os.mkfifo(made["a pipe"])
    made["a folder"].mkdir()
    try:
        os.mknod(made["a device"], stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except OSError:
        del made["a device"]
    return made


@pytest.mark.parametrize("command", OUTPUTS, ids=lambda command: str(command[0]))
def test_no_command_writes_over_a_household(closed: Path, command: tuple[str, ...]) -> None:
    """Neither its own, nor another that is closed, nor through a link: its bytes stay."""
    other = other_of(closed)
    link = closed.with_name("link.html")
    link.symlink_to(other)
    before = other.read_bytes()

    for target in (closed, other, link):
        refused = call("--db", closed, *command, target)
        assert refused.exit_code == 1, refused.output
        assert "household" in refused.stderr
        assert "Traceback" not in refused.stderr
    assert other.read_bytes() == before
    with open_home(closed, create=False) as home:
        assert found(recall(home, QUESTION))[0] == "key"


@pytest.mark.parametrize("command", OUTPUTS, ids=lambda command: str(command[0]))
def test_no_command_writes_over_what_is_no_regular_file(
    closed: Path, command: tuple[str, ...]
) -> None:
    """A device stays a device, a pipe a pipe."""
    for kind, target in special_files(closed.parent).items():
        refused = call("--db", closed, *command, target)
        assert refused.exit_code == (2 if kind == "a folder" else 1), refused.output
        assert f"is {kind}" in refused.stderr or kind == "a folder"
        assert target.exists()
        assert not target.is_file()


@pytest.mark.parametrize("flag", ["--run", "--qrels", "--save", "--report"])
def test_an_evaluation_writes_over_nothing_it_reads(
    closed: Path, tmp_path: Path, flag: str
) -> None:
    """Its dataset, a household and a device are refused before the first question is asked."""
    dataset = tmp_path / "set"
    dataset.mkdir()
    queries = dataset / "queries.jsonl"
    queries.write_text("not read yet", encoding="utf-8")

    pipe = special_files(tmp_path)["a pipe"]

    for target, why in ((queries, "are read"), (closed, "household"), (pipe, "a pipe")):
        refused = call("eval", dataset, flag, target)
        assert (refused.exit_code, why in refused.stderr) == (1, True), refused.output
    assert queries.read_text(encoding="utf-8") == "not read yet"


def test_a_key_or_config_file_is_not_written_over(closed: Path) -> None:
    """Without its key file a household could not be opened again."""
    config = closed.with_name("config.toml")
    config.write_text(f'db = "{closed}"\n', encoding="utf-8")

    refused = call("--config", config, "export", "--force", config)

    assert (refused.exit_code, "are read" in refused.stderr) == (1, True)
    assert config.read_text(encoding="utf-8").startswith("db =")


def test_methods_decide_as_commands_do(home: FamilyRecall, path: Path, tmp_path: Path) -> None:
    """Export, backup and the files of an evaluation, from Python."""
    home.maintenance.backup(tmp_path / "other.db")
    open_home(tmp_path / "other.db", create=False).close()

    special = special_files(tmp_path)

    for target in (path, tmp_path / "other.db", *special.values()):
        with pytest.raises(InvalidRequestError):
            home.maintenance.export_to(target, overwrite=True)
        with pytest.raises(InvalidRequestError):
            home.maintenance.backup(target, overwrite=True)
        with pytest.raises(InvalidRequestError):
            evaluation.write_run(target, [])
        with pytest.raises(InvalidRequestError):
            evaluation.write_qrels(target, [])
    assert found(recall(home, QUESTION))[0] == "key"


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_a_household_s_log_is_a_part_of_it(closed: Path, suffix: str) -> None:
    """A name that SQLite would read beside a household is refused, whether or not it is there."""
    with pytest.raises(InvalidRequestError, match=r"a part of the household family\.db"):
        check_destination(Path(f"{closed}{suffix}"))
    check_destination(closed.with_name(f"notes{suffix}"))


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_a_name_with_a_log_beside_it_is_refused(tmp_path: Path, suffix: str) -> None:
    """SQLite would read the log of what was there before into the new file."""
    (tmp_path / f"copy.db{suffix}").write_bytes(b"log")

    with pytest.raises(InvalidRequestError, match=f"beside it is copy.db{suffix}"):
        check_destination(tmp_path / "copy.db")


def test_a_backup_replaces_a_backup_until_that_is_used_as_a_household(
    home: FamilyRecall, tmp_path: Path
) -> None:
    """Opening one makes it a household, over which nothing is written."""
    copy = tmp_path / "copy.db"
    home.maintenance.backup(copy)
    home.maintenance.backup(copy, overwrite=True)
    with pytest.raises(InvalidRequestError, match="is a household"):
        home.maintenance.export_to(copy, overwrite=True)

    open_home(copy, create=False).close()

    with pytest.raises(InvalidRequestError, match="is a household"):
        home.maintenance.backup(copy, overwrite=True)


def test_a_restored_household_is_no_backup(home: FamilyRecall, tmp_path: Path) -> None:
    """Though nobody has opened it yet, no backup is written over it."""
    copy = tmp_path / "copy.db"
    home.maintenance.backup(copy)
    files.restore(tmp_path / "second.db", copy)

    with pytest.raises(InvalidRequestError, match="is a household"):
        home.maintenance.backup(tmp_path / "second.db", overwrite=True)


def test_a_regular_file_is_replaced(closed: Path, tmp_path: Path) -> None:
    """What is neither household nor input may be, where that is wanted."""
    page = tmp_path / "page.html"
    page.write_text("yesterday's", encoding="utf-8")

    done("inspect", "--db", closed, QUESTION, "-o", page)

    assert "<html" in page.read_text(encoding="utf-8")
    with pytest.raises(InvalidRequestError, match="exists"):
        check_destination(page, overwrite=False)


def test_a_household_is_opened_through_a_link(home: FamilyRecall, path: Path) -> None:
    """What the link leads to is read, with its log."""
    link = path.with_name("link.db")
    link.symlink_to(path)

    with open_home(link, create=False) as linked:
        assert found(recall(linked, QUESTION)) == found(recall(home, QUESTION))


def test_only_a_regular_file_is_opened_as_a_household(tmp_path: Path) -> None:
    """Neither a device, a folder nor a pipe becomes a household, or is restored over."""
    with open_home(tmp_path / "family.db") as home:
        home.maintenance.backup(tmp_path / "copy.db")

    for kind, place in special_files(tmp_path).items():
        with pytest.raises(NotAStoreError, match=f"expected a family_recall file, found {kind}"):
            open_home(place)
        with pytest.raises(FamilyRecallError, match="expected a household's file"):
            files.restore(place, tmp_path / "copy.db")
        with pytest.raises(NotAStoreError):
            files.rekey(place)

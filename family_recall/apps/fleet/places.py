"""Where the households of a fleet lie: catalogues, files of this machine and of object stores.

A place is a path, or a URL of fsspec. An object has to appear whole or not at all when it is
written, as it does in S3, Google Cloud Storage and Azure, and in folders of this machine. A
catalogue is a folder, a place in an object store (``s3://bucket/homes``), or a manifest: JSON Lines
with ``id`` and ``place`` of each household.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from family_recall.api.files import replacing, temporary_folder
from family_recall.errors import DatasetError, StoreError

FILES = ".db"
"""How the name of a household's file ends in a folder or an object store."""
QUESTIONS = "queries.jsonl"
"""The file that makes a folder a dataset."""
MANIFEST = ".jsonl"

_ID = re.compile(r"[^\W_][\w.\-]*(?:/[^\W_][\w.\-]*)*")
_EXPECTED_ID = "letters, digits and . _ -, in parts divided by /, each beginning with no sign"


@dataclass(frozen=True, slots=True)
class Entry:
    """A household: its id, and the path or URL of its file, or of its dataset's folder."""

    household_id: str
    place: str


def read_catalogue(catalogue: str, *, datasets: bool = False) -> list[Entry]:
    """List the households of a catalogue, sorted by id.

    Args:
        catalogue: A folder, a URL or a manifest. In a folder, a household is every file whose name
            ends in ``.db``, at any depth, and its id the path without that. Relative places in a
            manifest begin at its folder.
        datasets: Whether a household is a folder with ``queries.jsonl`` instead, to evaluate.

    Raises:
        DatasetError: If it cannot be read, names a household wrongly or twice, or names none.
    """
    if catalogue.endswith(MANIFEST):
        entries = list(_listed(catalogue))
    else:
        entries = list(_contained(catalogue, datasets))
    if not entries:
        wanted = f"folders with {QUESTIONS}" if datasets else f"files that end in {FILES}"
        raise DatasetError(f"{catalogue}: expected {wanted}, found none; name another place")
    _check_entries(catalogue, entries)
    return sorted(entries, key=lambda entry: entry.household_id)


def _contained(catalogue: str, datasets: bool) -> Iterator[Entry]:
    ending = f"/{QUESTIONS}" if datasets else FILES
    for path in files_under(catalogue):
        hidden = any(part.startswith(".") for part in path.split("/"))
        if path.endswith(ending) and not hidden:
            household_id = path.removesuffix(ending)
            place = household_id if datasets else path
            yield Entry(household_id, joined(catalogue, place))


def _listed(manifest: str) -> Iterator[Entry]:
    """Yield the lines of a manifest."""
    folder = manifest.rpartition("/")[0] if is_remote(manifest) else str(Path(manifest).parent)
    for number, line in enumerate(read_text(manifest).splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            household_id, place = record["id"], record["place"]
        except (ValueError, KeyError, TypeError):
            household_id = place = None
        if not isinstance(household_id, str) or not isinstance(place, str):
            raise DatasetError(
                f'{manifest}:{number}: expected {{"id": …, "place": …}}, got {line[:80]!r}'
            )
        relative = not is_remote(place) and not Path(place).is_absolute()
        yield Entry(household_id, joined(folder, place) if relative else place)


def _check_entries(catalogue: str, entries: Iterable[Entry]) -> None:
    places: dict[str, str] = {}
    owners: dict[str, str] = {}
    for entry in entries:
        if not _ID.fullmatch(entry.household_id):
            raise DatasetError(
                f"{catalogue}: {entry.household_id!r} is no id of a household: expected "
                f"{_EXPECTED_ID}; rename it"
            )
        if entry.household_id in places:
            raise DatasetError(
                f"{catalogue}: {entry.household_id!r} is there twice, as "
                f"{places[entry.household_id]} and {entry.place}; remove or rename one"
            )
        places[entry.household_id] = entry.place
        place = entry.place if is_remote(entry.place) else os.path.realpath(entry.place)
        # Each would work on a copy of its own, and the last to put it back would win.
        if (other := owners.setdefault(place, entry.household_id)) != entry.household_id:
            raise DatasetError(
                f"{catalogue}: {entry.place} is there twice, as {other!r} and "
                f"{entry.household_id!r}; remove one"
            )


SCRATCH = "family_recall_fleet"
"""The name that folders for working copies begin with; killed workers' are removed by the next."""
_COPY = "household.db"


def is_remote(place: str) -> bool:
    """Return whether a place is a URL, and no path of this machine."""
    return "://" in place


def joined(folder: str, name: str) -> str:
    """Return the place of a name in a folder."""
    return f"{folder.rstrip('/')}/{name}" if is_remote(folder) else str(Path(folder) / name)


def files_under(folder: str) -> list[str]:
    """List the files in a folder at any depth, by their paths in it, sorted.

    Raises:
        DatasetError: If the folder cannot be read.
    """
    if not is_remote(folder):
        root = Path(folder)
        if not root.is_dir():
            raise DatasetError(f"{folder}: no such folder; name a folder, a URL or a .jsonl file")
        return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())
    filesystem, root_path = _filesystem(folder)
    with _translated(folder):
        root_path = root_path.rstrip("/")
        return sorted(
            path.removeprefix(root_path).lstrip("/") for path in filesystem.find(root_path)
        )


def read_text(place: str) -> str:
    """Read a text file.

    Raises:
        DatasetError: If it cannot be read.
    """
    with _translated(place):
        if not is_remote(place):
            return Path(place).read_text("utf-8")
        filesystem, path = _filesystem(place)
        return str(filesystem.cat_file(path).decode("utf-8"))


def fetch(place: str, destination: Path) -> None:
    """Copy a file from a URL to this machine.

    Raises:
        FileNotFoundError, OSError: If it cannot be read.
    """
    filesystem, path = _filesystem(place)
    filesystem.get_file(path, str(destination))


def put(source: Path, place: str) -> None:
    """Copy a closed household's file of this machine to a place, which then has the whole of it.

    Raises:
        StoreError: If others still have it open, so that part of it may be in its log.
        OSError: If it cannot be written.
    """
    log = source.with_name(f"{source.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StoreError(f"{source}: expected a closed household, found its log {log.name}")
    if is_remote(place):
        filesystem, path = _filesystem(place)
        filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
        filesystem.put_file(str(source), path)
        return
    Path(place).parent.mkdir(parents=True, exist_ok=True)
    with replacing(Path(place)) as partial:
        shutil.copyfile(source, partial)


def delete(place: str) -> None:
    """Delete a file; one that is gone already is no error."""
    with contextlib.suppress(FileNotFoundError):
        if is_remote(place):
            filesystem, path = _filesystem(place)
            filesystem.rm_file(path)
        else:
            Path(place).unlink()


@contextlib.contextmanager
def working_copy(place: str, *, writes: bool) -> Iterator[Path]:
    """Yield a household's file on this machine: itself, or a private copy of what a URL names.

    A copy that was changed is put back at the end of the block, whole, if ``writes``; after an
    error it is not.
    """
    if not is_remote(place):
        yield Path(place)
        return
    with temporary_folder(SCRATCH) as folder:
        copy = folder / _COPY
        fetch(place, copy)
        before = _digest(copy)
        yield copy
        if writes and _digest(copy) != before:
            put(copy, place)


@contextlib.contextmanager
def working_folder(place: str, names: tuple[str, ...]) -> Iterator[Path]:
    """Yield a folder on this machine with those of some files that a place has."""
    if not is_remote(place):
        yield Path(place)
        return
    with temporary_folder(SCRATCH) as scratch:
        folder = scratch / place.rstrip("/").rpartition("/")[2]
        folder.mkdir()
        for name in set(names) & set(files_under(place)):
            fetch(joined(place, name), folder / name)
        yield folder


def _filesystem(place: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it.

    Raises:
        DatasetError: If fsspec, or what it needs for this kind of URL, is not installed.
    """
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 -- the extra

        opened: Callable[[str], tuple[Any, str]] = url_to_fs
        return opened(place)
    except (ImportError, ValueError) as error:
        raise DatasetError(
            f"{place}: cannot be used ({error}); pip install 'family-recall[fleet]', and what "
            "fsspec needs for this kind of place (s3fs, gcsfs, adlfs)"
        ) from None


@contextlib.contextmanager
def _translated(place: str) -> Iterator[None]:
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{place}: cannot be read ({error}); check the name") from None


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()

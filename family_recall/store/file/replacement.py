"""A file that takes its name in one step, when it is whole, and is private from its first byte.

It is written beside its place, under a name that begins with a dot and ends in ``SUFFIX``. A killed
process leaves that behind. What next writes into that folder, or opens a household there, removes
what no living process holds.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import apsw

from family_recall.errors import StoreError, StoreFullError
from family_recall.store.file.disk_files import SUFFIXES, sidecars
from family_recall.store.file.identity import check_destination

try:
    import fcntl
except ImportError:  # Windows, which deletes no file that is open
    fcntl = None  # type: ignore[assignment]  # absent there

SUFFIX = ".family-recall-partial"
PRIVATE = 0o600
"""Of files that hold memories: their owner reads and writes them, and nobody else."""

_LEFTOVER = re.compile(rf"(\..*\.[0-9a-f]{{8}}{re.escape(SUFFIX)})(?:{'|'.join(SUFFIXES)})?")
_CANNOT_WRITE = (
    "{path}: cannot be written ({error}); does its folder exist, and may it be written to?"
)
_NAME_SHOWN = 40  # characters; a name has at most 255 bytes


@contextlib.contextmanager
def writing_to(
    path: Path, *, overwrite: bool = True, inputs: Iterable[Path] = (), over_copies: bool = False
) -> Iterator[Path]:
    """Yield an empty file to write to; at the end it takes the name ``path``, if it may.

    Raises:
        InvalidRequestError: As :func:`check_destination`, before and again at the end.
        StoreError: As :func:`replacing`.
    """
    check = functools.partial(
        check_destination,
        path,
        overwrite=overwrite,
        inputs=tuple(inputs),
        over_copies=over_copies,
    )
    check()
    with replacing(path) as partial:
        yield partial
        check()


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8, with the line ends it has; a file that is there is replaced.

    Raises:
        As :func:`writing_to`.
    """
    with writing_to(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


@contextlib.contextmanager
def replacing(path: Path, *, keep_mode: bool = False) -> Iterator[Path]:
    """Yield an empty file to write to; at the end it is synced and replaces what is at ``path``.

    With ``keep_mode`` it may then be read by whom the file before could be.

    Raises:
        StoreError: If it cannot be written, ``StoreFullError`` where the disk is full; other
            errors of the block pass through.
    """
    place = Path(os.path.realpath(path))
    try:
        remove_leftovers(place.parent)
        with _beside(place, _create) as (partial, handle):
            yield partial
            if keep_mode:
                _take_mode(place, partial)
            sync(partial)
            # First: closing a file drops every lock of SQLite's that this process has on it.
            _close(handle)
            partial.replace(place)
        sync(place.parent)
    except (apsw.FullError, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENOSPC:
            raise StoreError(_CANNOT_WRITE.format(path=path, error=error.strerror)) from error
        raise StoreFullError(
            f"{path}: the disk is full; nothing was written, free some space and repeat"
        ) from None
    except apsw.CantOpenError as error:
        raise StoreError(_CANNOT_WRITE.format(path=path, error=error)) from error


@contextlib.contextmanager
def scratch_folder(beside: Path) -> Iterator[Path]:
    """Yield a private folder beside a file, which is removed at the end.

    Raises:
        StoreError: If it cannot be made.
    """
    with contextlib.ExitStack() as stack:
        try:
            folder, _ = stack.enter_context(_beside(beside, lambda path: path.mkdir(mode=0o700)))
        except OSError as error:
            raise StoreError(_CANNOT_WRITE.format(path=beside, error=error.strerror)) from error
        yield folder


@contextlib.contextmanager
def temporary_folder(name: str) -> Iterator[Path]:
    """Yield a private folder for copies of memories in the system's folder for temporary files.

    It is removed at the end; what interrupted processes left there is removed before.

    Raises:
        StoreError: If it cannot be made.
    """
    place = Path(tempfile.gettempdir()) / name
    remove_leftovers(place.parent)
    with scratch_folder(place) as folder:
        yield folder


def leftovers(folder: Path) -> list[Path]:
    """List what interrupted processes left in a folder; what a living one holds is left out."""
    return [partial for partial in _partials(folder) if _if_abandoned(partial, lambda _: None)]


def remove_leftovers(folder: Path) -> list[Path]:
    """Delete what interrupted processes left in a folder; return those that are gone."""
    removed = [partial for partial in _partials(folder) if _if_abandoned(partial, _discard)]
    return [partial for partial in removed if not partial.exists()]


def sync(path: Path) -> None:
    """Sync a file's content, or a folder's names, so that they survive a power cut."""
    if path.is_file():
        with path.open("r+b") as file:
            os.fsync(file.fileno())
    elif os.name != "nt":  # Windows syncs no folders
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def create_private(path: Path) -> None:
    """Create an empty file that only its owner reads; one that is there stays as it is.

    SQLite gives a database's log and journal the mode of the database.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, PRIVATE))


@contextlib.contextmanager
def _beside(place: Path, create: Callable[[Path], None]) -> Iterator[tuple[Path, list[int]]]:
    """Create a file or folder beside a place, held by this process; discard it at the end.

    The handle that holds it is in a list, and may be closed earlier.
    """
    while True:
        partial = place.with_name(f".{place.name[:_NAME_SHOWN]}.{secrets.token_hex(4)}{SUFFIX}")
        create(partial)
        handle = _hold(partial)
        if handle is not None:
            break
    try:
        yield partial, handle
    finally:
        _discard(partial)
        _close(handle)


def _create(path: Path) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))


def _hold(path: Path) -> list[int] | None:
    """Lock a file or folder, in another way than SQLite does; None where it has just been deleted.

    On a file system without such locks nothing is held, and nothing that is left is deleted.
    """
    if fcntl is None:
        return []
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    with contextlib.suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX)
    if path.exists():
        return [handle]
    os.close(handle)
    return None


def _close(handles: list[int]) -> None:
    while handles:
        os.close(handles.pop())


def _partials(folder: Path) -> list[Path]:
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
    matches = filter(None, map(_LEFTOVER.fullmatch, names))
    return [folder / name for name in dict.fromkeys(match[1] for match in matches)]


def _if_abandoned(partial: Path, action: Callable[[Path], None]) -> bool:
    """Do something with what no living process holds; return whether that is so."""
    if fcntl is None or not partial.exists():
        action(partial)
        return True
    try:
        handle = os.open(partial, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        action(partial)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _take_mode(place: Path, partial: Path) -> None:
    """Set a file's mode and, where that is allowed, its owner to those of the one it replaces."""
    with contextlib.suppress(FileNotFoundError):
        status = place.stat()
        if os.name != "nt":
            with contextlib.suppress(OSError):
                os.chown(partial, status.st_uid, status.st_gid)
        partial.chmod(status.st_mode & 0o777)


def _discard(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    for each in (path, *sidecars(path)):
        with contextlib.suppress(OSError):
            each.unlink(missing_ok=True)

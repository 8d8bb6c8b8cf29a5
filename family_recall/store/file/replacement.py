"""Write files atomically and privately.

A file is written in a private folder beside its destination, named with a dot and ``SUFFIX``, and
then renamed. A killed process leaves the folder behind; the next process that writes beside it, or
opens a household there, removes folders that no living process holds.
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
from family_recall.store.file.identity import check_destination

try:
    import fcntl
except ImportError:  # Windows, which does not delete open files
    fcntl = None  # type: ignore[assignment]  # absent there

SUFFIX = ".family-recall-partial"
PRIVATE = 0o600
"""Mode of files that hold memories: only the owner reads and writes them."""

_LEFTOVER = re.compile(rf"\..*\.[0-9a-f]{{8}}{re.escape(SUFFIX)}")
_NAME_SHOWN = 40  # characters; a name has at most 255 bytes


@contextlib.contextmanager
def writing_to(
    path: Path, *, overwrite: bool = True, inputs: Iterable[Path] = (), over_copies: bool = False
) -> Iterator[Path]:
    """Yield an empty file that is renamed to ``path`` at the end.

    Raises:
        InvalidRequestError: As :func:`check_destination`, which runs before and after.
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
    """Write a text as UTF-8, with unchanged line ends, as :func:`writing_to` does."""
    with writing_to(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


@contextlib.contextmanager
def replacing(path: Path, *, keep_mode: bool = False) -> Iterator[Path]:
    """Yield an empty file that is synced and replaces ``path`` at the end.

    With ``keep_mode`` it gets the mode and owner of the old file.

    Raises:
        StoreError: If it cannot be written, ``StoreFullError`` if the disk is full; other errors
            of the block pass through.
    """
    place = Path(os.path.realpath(path))
    try:
        with scratch_folder(place) as folder:
            partial = folder / "partial"
            create_private(partial)
            yield partial
            if keep_mode:
                _take_mode(place, partial)
            sync(partial)
            partial.replace(place)
        sync(place.parent)
    except (apsw.FullError, apsw.CantOpenError, OSError) as error:
        raise _cannot_write(path, error) from error


@contextlib.contextmanager
def scratch_folder(beside: Path) -> Iterator[Path]:
    """Yield a private folder beside a file, and remove it at the end.

    Leftovers of interrupted processes are removed first.

    Raises:
        StoreError: If it cannot be created.
    """
    remove_leftovers(beside.parent)
    with contextlib.ExitStack() as stack:
        while True:
            name = f".{beside.name[:_NAME_SHOWN]}.{secrets.token_hex(4)}{SUFFIX}"
            folder = beside.with_name(name)
            try:
                folder.mkdir(mode=0o700)
                stack.enter_context(_held(folder))
            except FileNotFoundError as error:
                if not beside.parent.exists():
                    raise _cannot_write(beside, error) from error
                continue  # another process has just removed it
            except OSError as error:
                raise _cannot_write(beside, error) from error
            if folder.exists():
                break
        stack.callback(_remove, folder)
        yield folder


@contextlib.contextmanager
def temporary_folder(name: str) -> Iterator[Path]:
    """Yield a :func:`scratch_folder` among the system's temporary files."""
    with scratch_folder(Path(tempfile.gettempdir()) / name) as folder:
        yield folder


def leftovers(folder: Path) -> list[Path]:
    """List folders that interrupted processes left behind; none that a living process holds."""
    return _abandoned(folder, lambda _: None)


def remove_leftovers(folder: Path) -> list[Path]:
    """Delete the leftovers in a folder; return those deleted."""
    removed = _abandoned(folder, functools.partial(shutil.rmtree, ignore_errors=True))
    return [partial for partial in removed if not partial.exists()]


def sync(path: Path) -> None:
    """Sync a file's content or a folder's entries, so that they survive a power cut."""
    if path.is_file():
        with path.open("r+b") as file:
            os.fsync(file.fileno())
    elif os.name != "nt":  # Windows does not sync folders
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def create_private(path: Path) -> None:
    """Create an empty file that only its owner reads, unless it exists.

    SQLite gives the log and journal the mode of the database.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, PRIVATE))


@contextlib.contextmanager
def _held(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Lock a folder, so that other processes do not take it for a leftover.

    A file system without locks holds nothing, and leftovers there are not deleted.

    Raises:
        OSError: If it does not exist; without ``wait``, also if another process holds it.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            if not wait:
                raise
        yield
    finally:
        os.close(handle)


def _abandoned(folder: Path, action: Callable[[Path], object]) -> list[Path]:
    """Call ``action`` with each folder that no living process holds; return them."""
    try:
        partials = sorted(path for path in folder.iterdir() if _LEFTOVER.fullmatch(path.name))
    except OSError:
        return []
    abandoned = []
    for partial in partials:
        with contextlib.suppress(OSError), _held(partial, wait=False):
            action(partial)
            abandoned.append(partial)
    return abandoned


def _remove(folder: Path) -> None:
    """Remove a folder of this process, as far as that is possible.

    Where an exception of a signal handler comes after shutil.rmtree has closed a descriptor, it
    closes it again: another thread's, or with an error that hides the exception.
    """
    for place, _, names in os.walk(folder, topdown=False):
        for name in names:
            with contextlib.suppress(OSError):
                Path(place, name).unlink()
        with contextlib.suppress(OSError):
            Path(place).rmdir()


def _take_mode(place: Path, partial: Path) -> None:
    """Copy the mode and, if allowed, the owner of the file to be replaced."""
    with contextlib.suppress(FileNotFoundError):
        status = place.stat()
        if os.name != "nt":
            with contextlib.suppress(OSError):
                os.chown(partial, status.st_uid, status.st_gid)
        partial.chmod(status.st_mode & 0o777)


def _cannot_write(path: Path, error: Exception) -> StoreError:
    if isinstance(error, apsw.FullError) or getattr(error, "errno", None) == errno.ENOSPC:
        return StoreFullError(
            f"{path}: the disk is full; nothing was written, free some space and repeat"
        )
    why = error.strerror if isinstance(error, OSError) else error
    return StoreError(
        f"{path}: cannot be written ({why}); does its folder exist, and may it be written to?"
    )

"""The text of files and of the one chat in a zip archive, and libraries that read formats."""

from __future__ import annotations

import codecs
import importlib
import zipfile
from pathlib import Path
from typing import Any

from family_recall.errors import DatasetError

MAX_FILE_BYTES = 512 * 1024 * 1024
"""The largest file read at once; mailboxes are read message by message."""

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def text_of(path: Path) -> str:
    r"""Return the text of a file, its lines ended by ``\n``.

    Raises:
        DatasetError: If it cannot be read, is too large, or is not UTF-8 or UTF-16.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: of a path with a lone surrogate
        raise _unreadable(path, error) from None
    return decoded(content, str(path))


def zipped_text(path: Path) -> tuple[str, str]:
    """Return the one text file of a zip archive, and its name behind the archive's.

    Raises:
        DatasetError: If there is none, or more than one, or the archive cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            texts = [info for info in archive.infolist() if info.filename.endswith(".txt")]
            top = [info for info in texts if info.filename == "_chat.txt"] or texts
            if len(top) != 1:
                names = ", ".join(info.filename for info in texts[:5]) or "none"
                raise DatasetError(
                    f"{path}: expected one chat (.txt) in the archive, got {names}; unpack it and "
                    "import the one that you mean"
                )
            name = f"{path}/{top[0].filename}"
            with archive.open(top[0]) as file:
                return decoded(file.read(MAX_FILE_BYTES + 1), name), name
    except (OSError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile) as error:
        if isinstance(error, DatasetError):
            raise
        if isinstance(error, OSError):
            raise _unreadable(path, error) from None
        raise DatasetError(
            f"{path}: expected a zip archive that can be read, got: {error}"
        ) from None


def decoded(content: bytes, name: str) -> str:
    r"""Return the text of some bytes, its lines ended by ``\n``.

    Raises:
        DatasetError: If they are too many, or not UTF-8 or UTF-16.
    """
    if len(content) > MAX_FILE_BYTES:
        raise DatasetError(f"{name}: expected at most {MAX_FILE_BYTES:,} bytes, got more; split it")
    encoding = next((e for mark, e in _BYTE_ORDER_MARKS if content.startswith(mark)), None)
    if encoding is None:
        # Without a mark, UTF-16 of western text has a zero in every other byte.
        zeros = [content[start:4096:2].count(0) * 4 > min(len(content), 4096) for start in (0, 1)]
        encoding = {(True, False): "utf-16-be", (False, True): "utf-16-le"}.get(
            (zeros[0], zeros[1]), "utf-8"
        )
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line_no = content.count(b"\n", 0, error.start) + 1
        raise DatasetError(
            f"{name}:{line_no}: expected UTF-8 or UTF-16, got byte 0x{content[error.start]:02x}; "
            "save the file as UTF-8"
        ) from None
    if "\0" in text:
        line_no = text.count("\n", 0, text.index("\0")) + 1
        raise DatasetError(f"{name}:{line_no}: expected text, got the character 0; is it text?")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _unreadable(path: Path, error: OSError | ValueError) -> DatasetError:
    why = error.strerror if isinstance(error, OSError) else error
    return DatasetError(f"{path}: cannot be read ({why}); check the path")


def library(name: str) -> Any:
    """Return a module of the extra ``import``.

    Raises:
        DatasetError: If it is not installed; the message says how to.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise DatasetError(
            f"this format needs {error.name}, which is not installed; "
            "pip install 'family-recall[import]'"
        ) from None

"""Reading of model files that may be hostile: nothing is parsed, or allocated, beyond a bound."""

from __future__ import annotations

import json
import tokenize
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from family_recall.errors import ModelError

MAX_JSON_BYTES = 4 * 1024**2
"""The largest JSON file read; a manifest of the shipped models has some kilobytes."""

_MALFORMED = (
    OSError, ValueError, RecursionError, MemoryError, EOFError, zipfile.BadZipFile, SyntaxError,
    tokenize.TokenError,
)  # fmt: skip


def read_json(path: Path, *, way_out: str = "") -> Any:
    """Return the content of a JSON file; ``way_out`` ends the message.

    Raises:
        ModelError: If it cannot be read, is larger than :data:`MAX_JSON_BYTES`, is no JSON in
            UTF-8, or is nested too deeply.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_JSON_BYTES + 1)
        if len(content) > MAX_JSON_BYTES:
            raise ValueError(f"expected at most {MAX_JSON_BYTES:,} bytes, got more")
        return json.loads(content.decode("utf-8"))
    except _MALFORMED as error:
        raise ModelError(f"{path}: {error}{way_out}") from error


def read_array(path: Path) -> npt.NDArray[Any]:
    """Return the array of a ``.npy`` file.

    Raises:
        ModelError: If it cannot be read, or says that it is larger than the file.
    """
    try:
        with path.open("rb") as file:
            return _array(file, path.stat().st_size)
    except _MALFORMED as error:
        raise ModelError(f"{path}: {error}") from error


def read_arrays(path: Path, names: tuple[str, ...]) -> tuple[npt.NDArray[Any], ...]:
    """Return arrays of an uncompressed ``.npz`` file, by name.

    Raises:
        ModelError: If one is missing, compressed, cannot be read, or says that it is larger than
            it is.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return tuple(_member(archive, f"{name}.npy") for name in names)
    except (*_MALFORMED, KeyError) as error:
        raise ModelError(f"{path}: {error}") from error


def _member(archive: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    member = archive.getinfo(name)
    # What is stored is as long as it says; what is compressed may be a thousand times longer.
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{name} is compressed, expected it stored as np.savez does")
    with archive.open(member) as file:
        return _array(file, member.compress_size)


def _array(file: IO[bytes], n_bytes: int) -> npt.NDArray[Any]:
    """Read an array from its header on, if its data are within a number of bytes."""
    version = np.lib.format.read_magic(file)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read_header is None:
        raise ValueError(f"format {version}, expected (1, 0) or (2, 0)")
    shape, fortran_order, dtype = read_header(file)
    count = 1
    for length in shape:
        count *= length  # of any size, where numpy's would overflow
    if dtype.hasobject or min(shape, default=0) < 0 or count * dtype.itemsize > n_bytes:
        raise ValueError(f"{dtype} {shape} is more than its {n_bytes:,} bytes hold")
    content = file.read(count * dtype.itemsize)
    array = np.frombuffer(content, dtype, count)
    return array.reshape(shape, order="F" if fortran_order else "C")

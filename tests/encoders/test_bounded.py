"""Arrays of model files: as large as the file says at most, and never more than it holds."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from family_recall.encoders.bounded import read_array, read_arrays
from family_recall.errors import ModelError


def npy(header: str) -> bytes:
    """Return the start of a file of format 1.0 with a header, and 64 bytes."""
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_is_read_as_numpy_reads_it(tmp_path: Path, dtype: str, order: str) -> None:
    """Shape, type and values are the same."""
    array = np.asarray(np.arange(12).reshape(3, 4).astype(dtype), order=order)  # type: ignore[call-overload]  # a name
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", a=array)

    for read in (read_array(tmp_path / "a.npy"), *read_arrays(tmp_path / "a.npz", ("a",))):
        assert read.dtype == array.dtype
        assert np.array_equal(read, array)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 2), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (17,), }",
        "(" * 100,
        "nonsense",
    ],
)
def test_a_header_that_promises_too_much_is_refused(tmp_path: Path, header: str) -> None:
    """Nothing is allocated for it: a terabyte would fail."""
    (tmp_path / "a.npy").write_bytes(npy(header))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", npy(header))

    with pytest.raises(ModelError, match=r"a\.npy"):
        read_array(tmp_path / "a.npy")
    with pytest.raises(ModelError, match=r"a\.npz"):
        read_arrays(tmp_path / "a.npz", ("a",))


def test_a_compressed_array_is_refused(tmp_path: Path) -> None:
    """A kilobyte may hold a gigabyte of zeros; the library's own files are not compressed."""
    content = io.BytesIO()
    np.savez_compressed(content, a=np.zeros(10_000_000, np.int8))
    (tmp_path / "a.npz").write_bytes(content.getvalue())

    with pytest.raises(ModelError, match="compressed"):
        read_arrays(tmp_path / "a.npz", ("a",))
    with pytest.raises(ModelError):
        read_arrays(tmp_path / "a.npz", ("b",))

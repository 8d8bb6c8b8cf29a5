"""The byte prefilter: the runs that are looked for pass, wherever they stand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from family_recall.store.erase import byte_search
from family_recall.store.erase.byte_search import EVERY_BIT, BytePrefilter, runs_of


def prefilter_for(runs: list[bytes], mask: np.uint64 = EVERY_BIT) -> BytePrefilter:
    """Make a prefilter for some runs of 8 bytes."""
    return BytePrefilter(np.frombuffer(b"".join(runs), "<u8").astype(np.uint64), mask)


@given(
    data=st.integers(0, 400).flatmap(lambda n: st.binary(min_size=n, max_size=n)),
    sought=st.lists(st.binary(min_size=8, max_size=8), max_size=5),
    at=st.lists(st.integers(0, 392), max_size=4),
    mask=st.sampled_from([EVERY_BIT, np.uint64((1 << 48) - 1)]),
    block=st.sampled_from([64, 128, 1 << 16]),
)
def test_what_is_looked_for_passes_and_nothing_else(
    data: bytes, sought: list[bytes], at: list[int], mask: np.uint64, block: int
) -> None:
    """Of all runs, those looked for pass, as in a plain search, in blocks of any size."""
    sought = sought + [data[place : place + 8] for place in at if len(data) >= place + 8]
    wanted = {int.from_bytes(run, "little") & int(mask) for run in sought}
    here = {
        int.from_bytes(data[place : place + 8], "little") & int(mask)
        for place in range(len(data) - 7)
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(byte_search, "_BLOCK", block)
        passed = prefilter_for(sought, mask).passing(data).tolist()

    assert passed == sorted(set(passed))
    assert set(passed) == wanted & here


def test_a_run_across_two_blocks_is_found() -> None:
    """Every place in more than two blocks is read, the first and the last one too."""
    run = b"quicksil"
    prefilter = prefilter_for([run])
    size = byte_search._BLOCK
    for place in (0, 1, size - 8, size - 7, size - 1, size, 2 * size - 3, 2 * size + 99 - 8):
        data = bytearray(2 * size + 99)
        data[place : place + 8] = run
        assert prefilter.passing(bytes(data)).tolist() == [int.from_bytes(run, "little")]


def test_runs_are_the_numbers_that_bytes_begin() -> None:
    """Nine bytes begin two runs of eight; seven begin none."""
    assert runs_of(b"\1" + bytes(7) + b"\2").tolist() == [1, 2 << 56]
    assert runs_of(bytes(7)).tolist() == []

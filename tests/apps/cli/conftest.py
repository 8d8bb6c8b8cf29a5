"""Households that the tests of the command line share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.apps.cli.runner import done, done_in


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a household of alice and bob that remembers one thing."""
    path = tmp_path_factory.mktemp("household") / "family.db"
    done("init", "--db", path, "--person", "alice", "--person", "bob=Robert", "--timezone", "UTC")
    done(
        *("add", "--db", path, "Grandma will land on Sunday at 6:40", "--author", "alice"),
        *("--id", "landing", "--at", "2026-01-08T13:00"),
    )
    return path


@pytest.fixture
def db(household: Path, tmp_path: Path) -> Path:
    """Return a household of one's own to change."""
    return shutil.copytree(household.parent, tmp_path / "home") / household.name


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    """Return alice and bob five days with three notes, one of them bob's own."""
    path = tmp_path / "family.db"
    done_in(path, "init", "--person", "alice", "--person", "bob", "--timezone", "UTC")
    for name, day, text, *more in (
        ("gate", "2026-01-09T10:30", "Bob mended the gate", "--author", "bob"),
        ("cake", "2026-01-07", "Alice baked a cake", "--author", "alice"),
        ("diary", "2026-01-08T21:00", "Bob's secret: zqxj", "--space", "private:bob"),
        ("old", "2025-06-01", "The roof was painted"),
    ):
        done_in(path, "add", text, "--id", name, "--at", day, *more)
    return path

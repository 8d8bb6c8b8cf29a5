"""A household of two, of whom one has something private."""

from __future__ import annotations

from pathlib import Path

import pytest

from family_recall import FamilyRecall, Grant, Memory, Person, Space


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a closed file: green and amber shared memories, and a private one of Alice."""
    path = tmp_path / "family.db"
    with FamilyRecall.open(path) as home:
        home.spaces.add(Space("shared:household", "household"))
        for name in ("Alice", "Bob"):
            home.people.add(Person(name.lower(), name))
            home.spaces.grant(Grant(name.lower(), "shared:household", "adult"))
        home.spaces.add(Space("private:alice", "private"))
        home.spaces.grant(Grant("alice", "private:alice", "owner"))
        home.remember_many(
            [
                Memory("The spare key is under the blue pot", "shared:household", author="alice"),
                Memory("The safe code is 4711", "shared:household", band="amber"),
                Memory("The ring for Bob is in the desk", "private:alice", author="alice"),
            ]
        )
    return path

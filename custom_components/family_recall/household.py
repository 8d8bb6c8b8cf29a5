"""The household's file: opened with its people, and recovered after a backup was restored.

Nothing here knows Home Assistant. Every function blocks, so it is called in an executor.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, Unpack

from family_recall import FamilyRecall, Grant, Person, Space
from family_recall.api.files import restore
from family_recall.errors import FamilyRecallError, NotAStoreError, StoreBusyError, StoreError

HOUSEHOLD = "shared:household"
BUSY_TIMEOUT_MS = 5_000
MODEL_LOADS_MS = 60_000.0


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody who lives here: their id in the file, their name, and their role."""

    person_id: str
    name: str
    role: str


class Place(TypedDict):
    """Where a household lives; see ``FamilyRecall.open``."""

    timezone: str
    country: str | None
    hemisphere: str


def opened(path: Path, members: Iterable[Member], **place: Unpack[Place]) -> FamilyRecall:
    """Open or make the file with these people in it, ready to answer.

    Raises:
        StoreError: As ``FamilyRecall.open``; the file is closed then.
    """
    recover(path)
    home = FamilyRecall.open(path, busy_timeout_ms=BUSY_TIMEOUT_MS, **place)
    try:
        _add(home, members)
        home.warmup()
    except BaseException:
        home.close()
        raise
    return home


def is_damaged(path: Path, error: FamilyRecallError) -> bool:
    """Return whether opening failed for what the file holds, not for its key or its rights."""
    return type(error) in {StoreError, NotAStoreError} and os.access(path, os.R_OK | os.W_OK)


def has_model(home: FamilyRecall) -> bool:
    """Return whether questions are understood by their meaning, not by their words alone."""
    return not home.recall("Is there a model?", time_budget_ms=MODEL_LOADS_MS).degraded


def shared_space(home: FamilyRecall) -> str:
    """Return the space of the whole household, made if there is none."""
    spaces = home.spaces.all()
    for kind in ("household", "shared"):
        ids = [space.space_id for space in spaces if space.kind == kind]
        if HOUSEHOLD in ids:
            return HOUSEHOLD
        if ids and kind == "household":
            return ids[0]
    home.spaces.add(Space(HOUSEHOLD, "household"))
    return HOUSEHOLD


def copy_of(path: Path) -> Path:
    """Return where the copy for a backup lies."""
    return path.with_name(f"{path.name}.backup")


def recover(path: Path) -> None:
    """Put the file right where a copy for a backup lies beside it.

    That is so after a backup was restored, or one was interrupted. A backup reads the file while it
    is in use, so it may hold halves of two states; the copy is sound. A sound file has all that
    the copy has, and stays.
    """
    copy = copy_of(path)
    if not copy.exists():
        return
    if not _is_sound(path):
        restore(path, copy)
    copy.unlink()


def _is_sound(path: Path) -> bool:
    try:
        with FamilyRecall.open(path, create=False, busy_timeout_ms=BUSY_TIMEOUT_MS) as home:
            return all(finding.problem is None for finding in home.maintenance.check())
    except StoreBusyError:
        raise
    except StoreError:
        return False


def _add(home: FamilyRecall, members: Iterable[Member]) -> None:
    """Add who is not in the file yet, and give each a role in the household and a private space."""
    household = shared_space(home)
    known = {person.person_id for person in home.people.all()}
    granted = {(grant.person_id, grant.space_id): grant.role for grant in home.spaces.grants()}
    for member in members:
        if member.person_id not in known:
            home.people.add(Person(member.person_id, member.name))
        if granted.get((member.person_id, household)) not in {member.role, "owner"}:
            home.spaces.grant(Grant(member.person_id, household, member.role))
        home.spaces.private(member.person_id)

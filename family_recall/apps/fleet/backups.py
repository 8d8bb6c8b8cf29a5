"""Dated backups of households in a folder or an object store.

One is ``PLACE/ID/20260301T183000.250000Z.db``. The key of an encrypted household is in none.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from pathlib import Path

from family_recall.api import files
from family_recall.api.files import Restored, Secret
from family_recall.apps.fleet.places import (
    delete,
    files_under,
    is_remote,
    joined,
    put,
    working_copy,
)
from family_recall.errors import DatasetError, InvalidRequestError

_NAME = "%Y%m%dT%H%M%S.%fZ"
_ENDING = ".db"


def store(copy: Path, place: str, household_id: str, moment: str) -> str:
    """Put a checked copy beside a household's earlier ones; return where it is.

    The same moment has the same name: done twice, there is one.
    """
    named = joined(joined(place, household_id), f"{_utc(moment):{_NAME}}{_ENDING}")
    put(copy, named)
    return named


def listed(place: str, household_id: str) -> dict[dt.datetime, str]:
    """Return where each backup of a household is, by its moment in UTC, the oldest first."""
    folder = joined(place, household_id)
    if not is_remote(folder) and not Path(folder).is_dir():
        return {}
    try:
        names = files_under(folder)
    except DatasetError:  # an object store has no empty folders
        return {}
    moments = {name: _moment_of(name) for name in names}
    dated = sorted((moment, name) for name, moment in moments.items() if moment is not None)
    return {moment: joined(folder, name) for moment, name in dated}


def expire(
    place: str,
    household_id: str,
    *,
    now: str,
    keep_days: float | None = None,
    forgotten: Iterable[str] = (),
) -> int:
    """Delete a household's backups that are too old; return how many.

    The newest stays in any case.

    Args:
        place: Where the backups are.
        household_id: Whose.
        now: The moment to count days from.
        keep_days: How many days one is kept; None keeps all.
        forgotten: Moments at which something was forgotten: backups up to the last are deleted.
            A backup has the moment at which its run began, and was made later.
    """
    earlier = list(listed(place, household_id).items())[:-1]
    oldest = None if keep_days is None else _utc(now) - dt.timedelta(days=keep_days)
    last_forgotten = max(map(_utc, forgotten), default=None)
    expired = [
        at
        for moment, at in earlier
        if (oldest is not None and moment < oldest)
        or (last_forgotten is not None and moment <= last_forgotten)
    ]
    for at in expired:
        delete(at)
    return len(expired)


def restore(
    place: str,
    household_id: str,
    path: Path,
    *,
    at: dt.datetime | None = None,
    key: Secret | None = None,
) -> tuple[dt.datetime, Restored]:
    """Put the last backup up to a moment in a household's place, and keep the file before it.

    Args:
        place: Where the backups are.
        household_id: Whose.
        path: The household's file on this machine; it may be missing.
        at: The moment; the last backup of all, when left out.
        key: What the household is encrypted with.

    Returns:
        The backup's moment, and what the household holds now.

    Raises:
        InvalidRequestError: If there is no backup up to that moment.
        StoreError: As ``files.restore``.
    """
    backups = listed(place, household_id)
    chosen = [moment for moment in backups if at is None or moment <= at]
    if not chosen:
        first = f"; the first is of {min(backups).isoformat()}" if backups else ""
        until = "" if at is None else f" up to {at.isoformat()}"
        raise InvalidRequestError(f"{place}: no backup of {household_id!r}{until}{first}")
    with working_copy(backups[max(chosen)], writes=False) as backup:
        return max(chosen), files.restore(path, backup, key=key)


def _moment_of(name: str) -> dt.datetime | None:
    """Return the moment that a backup's name says; None for any other file."""
    try:
        moment = dt.datetime.fromisoformat(name.removesuffix(_ENDING))
    except ValueError:
        return None
    return moment if name.endswith(_ENDING) and moment.tzinfo is not None else None


def _utc(moment: str) -> dt.datetime:
    """Read a moment with its offset."""
    return dt.datetime.fromisoformat(moment).astimezone(dt.UTC)

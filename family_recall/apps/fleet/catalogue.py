"""A catalogue of households: which there are, and where the file of each lies.

A catalogue is a folder, a place in an object store as fsspec names it (``s3://bucket/homes``), or
a manifest: JSON Lines with ``id`` and ``place`` of each household.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from family_recall.apps.fleet.places import files_under, is_remote, joined, read_text
from family_recall.errors import DatasetError

FILES = ".db"
"""How the name of a household's file ends in a folder or an object store."""
QUESTIONS = "queries.jsonl"
"""The file that makes a folder a dataset."""
MANIFEST = ".jsonl"

_ID = re.compile(r"[^\W_][\w.\-]*(?:/[^\W_][\w.\-]*)*")
_EXPECTED_ID = "letters, digits and . _ -, in parts divided by /, each beginning with no sign"


@dataclass(frozen=True, slots=True)
class Entry:
    """A household: its id, and the path or URL of its file, or of its dataset's folder."""

    household_id: str
    place: str


def read_catalogue(catalogue: str, *, datasets: bool = False) -> list[Entry]:
    """List the households of a catalogue, sorted by id.

    Args:
        catalogue: A folder, a URL or a manifest. In a folder, a household is every file whose name
            ends in ``.db``, at any depth, and its id the path without that. Relative places in a
            manifest begin at its folder.
        datasets: Whether a household is a folder with ``queries.jsonl`` instead, to evaluate.

    Raises:
        DatasetError: If it cannot be read, names a household wrongly or twice, or names none.
    """
    if catalogue.endswith(MANIFEST):
        entries = list(_listed(catalogue))
    else:
        entries = list(_contained(catalogue, datasets))
    if not entries:
        wanted = f"folders with {QUESTIONS}" if datasets else f"files that end in {FILES}"
        raise DatasetError(f"{catalogue}: expected {wanted}, found none; name another place")
    _check_ids(catalogue, entries)
    return sorted(entries, key=lambda entry: entry.household_id)


def _contained(catalogue: str, datasets: bool) -> Iterator[Entry]:
    ending = f"/{QUESTIONS}" if datasets else FILES
    for path in files_under(catalogue):
        hidden = any(part.startswith(".") for part in path.split("/"))
        if path.endswith(ending) and not hidden:
            household_id = path.removesuffix(ending)
            place = household_id if datasets else path
            yield Entry(household_id, joined(catalogue, place))


def _listed(manifest: str) -> Iterator[Entry]:
    """Yield the lines of a manifest."""
    folder = manifest.rpartition("/")[0] if is_remote(manifest) else str(Path(manifest).parent)
    for number, line in enumerate(read_text(manifest).splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            household_id, place = record["id"], record["place"]
        except (ValueError, KeyError, TypeError):
            household_id = place = None
        if not isinstance(household_id, str) or not isinstance(place, str):
            raise DatasetError(
                f'{manifest}:{number}: expected {{"id": …, "place": …}}, got {line[:80]!r}'
            )
        relative = not is_remote(place) and not Path(place).is_absolute()
        yield Entry(household_id, joined(folder, place) if relative else place)


def _check_ids(catalogue: str, entries: Iterable[Entry]) -> None:
    places: dict[str, str] = {}
    for entry in entries:
        if not _ID.fullmatch(entry.household_id):
            raise DatasetError(
                f"{catalogue}: {entry.household_id!r} is no id of a household: expected "
                f"{_EXPECTED_ID}; rename it"
            )
        if entry.household_id in places:
            raise DatasetError(
                f"{catalogue}: {entry.household_id!r} is there twice, as "
                f"{places[entry.household_id]} and {entry.place}; remove or rename one"
            )
        places[entry.household_id] = entry.place

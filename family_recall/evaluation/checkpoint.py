"""Checkpoint: each answer of an evaluation in; the same after a stop, without asking again, out.

A folder holds the filled household and ``done.jsonl``: a line that says what is evaluated, then a
line for each question of each leg (``full``, ``without graph``, …), written as it is answered.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, Self, TypeVar

from family_recall.errors import DatasetError
from family_recall.types.json_lines import read_jsonl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

DONE = "done.jsonl"


class Kept(Protocol):
    """What can be kept: it is written as JSON, and reads the same again."""

    def to_json(self) -> dict[str, Any]:
        """Write it."""
        ...

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Read it; raises ``KeyError`` or ``TypeError`` for anything else."""
        ...


_Kept = TypeVar("_Kept", bound=Kept)


class Checkpoint:
    """What is done of an evaluation, by leg and question; with no folder, in memory alone."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[str, Any]] = {}
        self._path: Path | None = None
        self._file: BinaryIO | None = None

    @classmethod
    def open(cls, folder: Path, settings: Mapping[str, str]) -> Checkpoint:
        """Go on in a folder, or begin in one that is empty or not there yet.

        Raises:
            DatasetError: If the folder holds something else, or what is done there was done with
                other settings; the message names the first that differs, and both its values.
        """
        kept = cls()
        kept._path = folder / DONE
        first = _line({"family_recall": "evaluation", "settings": dict(settings)})
        content = kept._path.read_bytes() if kept._path.is_file() else b""
        begun = content == first or not first.startswith(content)
        if begun:
            kept._read(settings, n_lines=content.count(b"\n"))
        else:
            _see_that_it_is_empty(folder)
        kept._file = kept._path.open("ab", buffering=0)
        # A process that was killed may have left half a line.
        kept._file.truncate(content.rfind(b"\n") + 1)
        if not begun:
            kept._file.write(first)
        return kept

    def __enter__(self) -> Self:
        """Keep what is done within a ``with`` block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file; all of it has been written."""
        if self._file is not None:
            self._file.close()

    def knows(self, leg: str, of: str) -> bool:
        """Whether that has been done."""
        return (leg, of) in self._known

    def keep(self, leg: str, of: str, record: Mapping[str, Any]) -> None:
        """Keep what has been done, from this moment on whatever happens to the process."""
        self._known[leg, of] = dict(record)
        if self._file is not None:
            self._file.write(_line({"leg": leg, "of": of, "record": record}))

    def once(self, kind: type[_Kept], leg: str, of: str, do: Callable[[], _Kept]) -> _Kept:
        """Give what has been done, or do it and keep it.

        Raises:
            DatasetError: If what was kept cannot be read.
        """
        if not self.knows(leg, of):
            self.keep(leg, of, do().to_json())
        try:
            return kind.from_json(self._known[leg, of])
        except (LookupError, TypeError, ValueError):
            raise DatasetError(
                f"{self._path}: {of!r} of leg {leg!r} is not as it was written; delete the folder "
                "and begin anew"
            ) from None

    def _read(self, settings: Mapping[str, str], *, n_lines: int) -> None:
        assert self._path is not None  # noqa: S101 - only a checkpoint with a folder reads
        lines = (record for _, record in itertools.islice(read_jsonl(self._path), n_lines))
        begun_with = next(lines, {}).get("settings")
        if not isinstance(begun_with, dict):
            raise DatasetError(
                f"{self._path}: expected the settings of an evaluation in its first line; name "
                "an empty folder"
            )
        for name in dict.fromkeys([*begun_with, *settings]):
            was, now = begun_with.get(name, "nothing"), settings.get(name, "nothing")
            if was != now:
                raise DatasetError(
                    f"{self._path.parent}: begun with {name} {was}, and this is {name} {now}; go "
                    "on with what it was begun with, or begin in another folder"
                )
        for line in lines:
            try:
                self._known[line["leg"], line["of"]] = line["record"]
            except (KeyError, TypeError):
                raise DatasetError(
                    f"{self._path}: expected lines with leg, of and record, got "
                    f"{', '.join(line)}; delete the folder and begin anew"
                ) from None


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _see_that_it_is_empty(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        empty = {one.name for one in folder.iterdir()} <= {DONE}
    except OSError as error:
        raise DatasetError(
            f"{folder}: cannot be used as a folder ({error.strerror}); name another"
        ) from None
    if not empty:
        raise DatasetError(
            f"{folder}: expected an empty folder or one with {DONE}, and it holds other files; "
            "name another"
        )

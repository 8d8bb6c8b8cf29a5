"""Write each answer of an evaluation to a file, to continue where it was interrupted.

A folder holds the filled household and ``done.jsonl``: a line with what is evaluated, then a line
for each question of each leg (``full``, ``without graph``, …), written as it is answered.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeVar

import msgspec

import family_recall
from family_recall.api.files import check_destination, create_private
from family_recall.api.models import ROLES, read_manifest
from family_recall.apps.evaluation.outcomes import plain
from family_recall.config import RecallConfig
from family_recall.errors import DatasetError, ModelError
from family_recall.types import RecallContext
from family_recall.types.json_lines import read_jsonl

DONE = "done.jsonl"
DATASET_FILES = ("memories.jsonl", "queries.jsonl", "household.json")
DIGITS = 12
"""Of a SHA-256 that stands for files."""


_R = TypeVar("_R")


class Checkpoint:
    """The results of an evaluation so far, by leg and question; without a folder, in memory."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], Any] = {}
        self._path: Path | None = None
        self._file: BinaryIO | None = None

    @classmethod
    def open(cls, folder: Path, settings: Mapping[str, str]) -> Checkpoint:
        """Continue in a folder, or begin in one that is empty or not there yet.

        Raises:
            DatasetError: If the folder holds something else, or results of other settings; the
                message names the first setting that differs, and both its values.
        """
        checkpoint, path = cls(), folder / DONE
        check_destination(path)
        first = _line({"family_recall": "evaluation", "settings": dict(settings)})
        content = path.read_bytes() if path.is_file() else b""
        begun = content == first or not first.startswith(content)
        if begun:
            checkpoint._read(path, settings, n_lines=content.count(b"\n"))
        else:
            _check_empty(folder)
            create_private(path)
        checkpoint._path, checkpoint._file = path, path.open("ab", buffering=0)
        # A process that was killed may have left half a line.
        checkpoint._file.truncate(content.rfind(b"\n") + 1)
        if not begun:
            checkpoint._file.write(first)
        return checkpoint

    def __enter__(self) -> Self:
        """Return the checkpoint itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; all of it has been written."""
        if self._file is not None:
            self._file.close()

    def record(self, leg: str, of: str) -> Any:
        """Return a result as JSON has it; None where there is none."""
        return self._records.get((leg, of))

    def keep(self, leg: str, of: str, record: Any) -> None:
        """Add a result, and write it before returning."""
        self._records[leg, of] = record
        if self._file is not None:
            self._file.write(_line({"leg": leg, "of": of, "record": record}))

    def once(self, kind: type[_R], leg: str, of: str, compute: Callable[[], _R]) -> _R:
        """Return a result of a kind; computed and written where there is none yet.

        Raises:
            DatasetError: If what was written is none of this kind.
        """
        if (leg, of) not in self._records:
            self.keep(leg, of, plain(compute()))
        try:
            return msgspec.convert(self._records[leg, of], kind)
        except msgspec.ValidationError:
            raise DatasetError(
                f"{self._path}: {of!r} of leg {leg!r} is not as it was written; delete the folder "
                "and begin again"
            ) from None

    def _read(self, path: Path, settings: Mapping[str, str], *, n_lines: int) -> None:
        lines = (record for _, record in itertools.islice(read_jsonl(path), n_lines))
        begun_with = next(lines, {}).get("settings")
        if not isinstance(begun_with, dict):
            raise DatasetError(
                f"{path}: expected the settings of an evaluation in its first line; name "
                "an empty folder"
            )
        for name in dict.fromkeys([*begun_with, *settings]):
            was, now = begun_with.get(name, "nothing"), settings.get(name, "nothing")
            if was != now:
                raise DatasetError(
                    f"{path.parent}: begun with {name} {was}, and this is {name} {now}; continue "
                    "with what it was begun with, or begin in another folder"
                )
        for line in lines:
            try:
                self._records[line["leg"], line["of"]] = line["record"]
            except (KeyError, TypeError):
                raise DatasetError(
                    f"{path}: expected lines with leg, of and record, got "
                    f"{', '.join(line)}; delete the folder and begin again"
                ) from None


def fingerprint(
    folder: Path,
    context: RecallContext,
    *,
    limit: int | None,
    config: RecallConfig,
    models: Path | None,
) -> dict[str, str]:
    """Return what an answer of an evaluation depends on, files by the start of their SHA-256.

    Further legs, and the seed of intervals and draws, are not in it: they may change from one run
    to the next.

    Raises:
        OSError: If the dataset cannot be read.
    """
    defaults, files = RecallConfig(), (folder / name for name in DATASET_FILES)
    changed = {
        setting.name: value
        for setting in dataclasses.fields(config)
        if (value := getattr(config, setting.name)) != getattr(defaults, setting.name)
    }
    return {
        **code_and_models(models),
        "dataset": f"{folder.resolve().name} {_digest(filter(Path.exists, files))}",
        "profile": context.profile,
        "budget": f"{context.time_budget_ms:.12g} ms",
        "top_k": str(context.top_k),
        "limit": "none" if limit is None else str(limit),
        "cross-encoder": "allowed" if context.allow_cross_encoder else "left out",
        "configuration": json.dumps(
            changed,
            default=lambda value: sorted(value) if isinstance(value, frozenset) else dict(value),
            sort_keys=True,
        ),
    }


def code_and_models(folder: Path | None) -> dict[str, str]:
    """Return the version of the code and the models of a folder, as :func:`fingerprint` does."""
    return {"version": f"{family_recall.__version__} {_code()}", **_models(folder)}


def _models(folder: Path | None) -> dict[str, str]:
    """Return the model of each role, with the start of its file's digest."""
    try:
        entries = {role: read_manifest(folder).find_entry(role) for role in ROLES}
    except ModelError:
        return {}
    return {
        role: f"{entry.model_id} {entry.model.sha256[:DIGITS]}"
        for role, entry in entries.items()
        if entry is not None
    }


def _code() -> str:
    """Return the digest of the package's files: a version may be under development."""
    package = Path(family_recall.__file__).parent
    return _digest(
        path
        for path in sorted(package.rglob("*"))
        if path.suffix in {".py", ".json"} and "models" not in path.relative_to(package).parts
    )


def _digest(paths: Iterable[Path]) -> str:
    hashes = (hashlib.sha256(path.read_bytes()).digest() for path in paths)
    return hashlib.sha256(b"".join(hashes)).hexdigest()[:DIGITS]


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _check_empty(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        empty = {entry.name for entry in folder.iterdir()} <= {DONE}
    except OSError as error:
        raise DatasetError(
            f"{folder}: cannot be used as a folder ({error.strerror}); name another"
        ) from None
    if not empty:
        raise DatasetError(
            f"{folder}: expected an empty folder or one with {DONE}, and it holds other files; "
            "name another"
        )

"""The doctor: a household's file and this installation in, what is wrong and what mends it out."""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from family_recall import __version__
from family_recall.api import FamilyRecall
from family_recall.encoders import read_manifest
from family_recall.encoders.checks import check
from family_recall.encoders.session import available_providers
from family_recall.errors import FamilyRecallError, ModelError, WrongKeyError
from family_recall.stores.file import copies
from family_recall.stores.file.encryption import Secret, key_of
from family_recall.stores.file.integrity import versions
from family_recall.stores.health.checks import CHECKSUMS
from family_recall.types import Memory, RecallContext, Space

Progress = Callable[[str], None]
"""Called with what is looked at next."""

_TOLD, _ASKED = "The spare key is under the blue pot", "Where is the spare key?"
_SPACE = "shared:doctor"
_PLENTY_MS = 60_000.0

_REBUILD = "family-recall doctor --db {path} --repair makes it anew from the texts"
_REWRITE = (
    "family-recall doctor --db {path} --repair rewrites the file from its texts; "
    "or family-recall restore BACKUP --db {path}"
)
_TAKE_OUT = (
    "family-recall doctor --db {path} --repair leaves them out, and keeps this file; "
    "tell them again, or family-recall restore BACKUP --db {path}"
)
_MODELS = "family-recall models verify; then fetch or import the model again, or reinstall"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: what was found, whether it is well, and what mends it where not."""

    name: str
    ok: bool
    found: str
    mend: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """All that was looked at, and what was mended before."""

    checks: tuple[Check, ...]
    repaired: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all is well."""
        return all(one.ok for one in self.checks)

    def to_json(self) -> dict[str, Any]:
        """Give every field."""
        return {
            "ok": self.ok,
            "repaired": list(self.repaired),
            "checks": [asdict(one) for one in self.checks],
        }


def examine(
    path: Path | None = None,
    *,
    key: Secret | None = None,
    models: Path | None = None,
    repair: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Look at the installation, its models and, where one is given, a household's file.

    A household is made in a temporary folder, told something and asked for it; the file itself is
    read from end to end, and changed only by ``repair``. What is made from texts is then made
    anew; a file with damaged pages is rewritten from the texts in it, and kept beside the new one.

    Args:
        path: The household's file.
        key: What it is encrypted with.
        models: Folder of models; the shipped ones, when left out.
        repair: Whether to mend what can be mended.
        progress: Called with what is looked at next.
    """
    tell = progress or (lambda _: None)
    tell("versions")
    checks = [
        Check(name, found is not None, found or "not installed", None if found else mend)
        for name, found, mend in _versions()
    ]
    tell("models")
    checks += _models(models)
    tell("a round trip")
    checks.append(_round_trip(key, models))
    repaired: tuple[str, ...] = ()
    if path is not None:
        tell("the file")
        found = list(_file(path, key, models))
        if repair and not all(one.ok for one in found):
            tell("mending")
            repaired = tuple(_repair(path, key, models))
            found = list(_file(path, key, models))
        checks += found
    return Report(tuple(checks), repaired)


def _versions() -> Iterator[tuple[str, str | None, str]]:
    yield "family_recall", __version__, ""
    yield "python", platform.python_version(), ""
    for name, found in versions().items():
        optional = "vectors lie in a plain table" if name == "sqlite-vec" else None
        yield name, found or optional, "pip install --force-reinstall family-recall"
    for name in ("numpy", "tokenizers"):
        yield name, _version(name), f"pip install --force-reinstall {name}"
    runtimes = [one for one in ("onnxruntime", "onnxruntime-gpu") if _version(one)]
    # Both own one module: two of them are a broken one.
    found = f"{runtimes[0]} {_version(runtimes[0])}" if len(runtimes) == 1 else None
    yield "onnxruntime", found, f"pip uninstall {' '.join(runtimes)}; pip install family-recall"
    try:
        providers: str | None = ", ".join(available_providers())
    except ModelError:
        providers = None
    yield "providers", providers, "pip install --force-reinstall onnxruntime"


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _models(folder: Path | None) -> Iterator[Check]:
    try:
        entries = read_manifest(folder).entries
    except ModelError as error:
        yield Check("models", ok=False, found=str(error), mend=_MODELS)
        return
    for entry in entries:
        problems = [f"{one.what}: {one.problem}" for one in check(entry) if one.problem]
        yield Check(
            f"model {entry.name}",
            ok=not problems,
            found="; ".join(problems) or f"{len(entry.files)} files as promised, and it runs",
            mend=_MODELS if problems else None,
        )


def _round_trip(key: Secret | None, models: Path | None) -> Check:
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            FamilyRecall.open(Path(folder) / "doctor.db", key=key, models=models) as home,
        ):
            home.spaces.add(Space(_SPACE, "shared"))
            home.remember(Memory(_TOLD, _SPACE))
            home.remember(Memory("Grandma lands on Friday at six", _SPACE))
            answer = home.recall(_ASKED, RecallContext(time_budget_ms=_PLENTY_MS))
    except FamilyRecallError as error:
        return Check("round trip", ok=False, found=str(error), mend="see the checks above")
    found = bool(answer.results) and answer.results[0].text == _TOLD
    left_out = f"; left out: {'; '.join(answer.degraded)}" if answer.degraded else ""
    said = "remembered and recalled" if found else "what was remembered did not come first"
    return Check(
        "round trip",
        ok=found,
        found=said + left_out,
        mend=None if found else "see the checks above",
    )


def _file(path: Path, key: Secret | None, models: Path | None) -> Iterator[Check]:
    try:
        with FamilyRecall.open(path, create=False, key=key, models=models) as home:
            findings = home.maintenance.check()
            well = all(one.derived or one.problem is None for one in findings)
            stats, pending = (
                (home.maintenance.stats(), home.maintenance.pending()) if well else ({}, {})
            )
    except WrongKeyError as error:
        yield Check("file", ok=False, found=str(error), mend="give its key with --key-file")
        return
    except FamilyRecallError as error:
        yield Check("file", ok=False, found=str(error), mend=_REWRITE.format(path=path))
        return
    if stats:
        told = f"{stats['memories']:,} memories, {stats['bytes']:,} bytes"
        yield Check("file", ok=True, found=told)
    for finding in findings:
        mend = _REBUILD if finding.derived else _TAKE_OUT if finding.what == CHECKSUMS else _REWRITE
        yield Check(
            finding.what,
            ok=finding.problem is None,
            found=finding.problem or "as it should be",
            mend=None if finding.problem is None else mend.format(path=path),
        )
    waiting = ", ".join(f"{n:,} of {name}" for name, n in pending.items() if n)
    yield Check("pending vectors", ok=True, found=waiting or "none")


def _repair(path: Path, key: Secret | None, models: Path | None) -> Iterator[str]:
    """Mend what can be mended, least first; yields what was done."""
    with (
        contextlib.suppress(FamilyRecallError),
        FamilyRecall.open(path, create=False, key=key, models=models) as home,
    ):
        wrong = [one for one in home.maintenance.check() if one.problem]
        if wrong and all(one.derived for one in wrong):
            home.maintenance.rebuild()
            yield "made words, counts, names, edges and vectors anew from the texts"
            return
        if not wrong:
            return
    try:
        kept, left_out = _rewrite(path, key, models)
    except FamilyRecallError as error:
        yield f"nothing: {error}"
        return
    yield f"rewrote the file from its texts; the damaged one is {kept}"
    if left_out:
        yield f"left out what is damaged, and lies in {kept} alone: {', '.join(left_out)}"


def _rewrite(
    path: Path, key: Secret | None, models: Path | None
) -> tuple[Path | None, tuple[str, ...]]:
    """Make a new file of everything that is sound in a damaged one, and put it in its place.

    Gives where the damaged file is kept, and the memories that are in it alone.
    """
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        told, made = Path(folder) / "told.jsonl", Path(folder) / "made.db"
        with FamilyRecall.open(path, create=False, key=key, models=models) as home:
            made_of = home.maintenance.export_to(told, judgements=True, log=True, skip_damaged=True)
        with FamilyRecall.open(made, key=key, models=models) as home:
            home.maintenance.import_from(told)
            home.maintenance.rebuild()
        return copies.restore(path, made, key_of(key)).kept, made_of.left_out

"""Examine this installation, its models and a household's file, and repair the file."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import os
import platform
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from family_recall import __version__
from family_recall.api import FamilyRecall, files
from family_recall.api.files import Secret, leftovers, remove_leftovers, scratch_folder
from family_recall.api.maintenance import CHECKSUMS, Finding, graph_engine, versions
from family_recall.api.models import (
    StaticEncoder,
    check,
    import_runtime,
    read_manifest,
    why_no_cuda,
)
from family_recall.errors import FamilyRecallError, ModelError, WrongKeyError
from family_recall.types import Memory, RecallContext, Space

_WHOLE, _CORE = "family-recall", "family-recall-core"
_RUNTIMES = ("onnxruntime", "onnxruntime-gpu")
_WITHOUT_RUNTIME = (
    "not installed: the static embedder and words answer; where it has a wheel, "
    "pip install 'family-recall-core[cpu]' adds the other models"
)
_STORED, _QUESTION = "The spare key is under the blue pot", "Where is the spare key?"
_SPACE = "shared:doctor"
_PLENTY_MS = 60_000.0

_MODELS = "family-recall models verify; then fetch or import the model again, or reinstall"


@dataclass(frozen=True, slots=True)
class Check:
    """One check: the finding and, unless it is sound, the fix."""

    name: str
    found: str
    fix: str | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing has to be fixed."""
        return self.fix is None


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """All checks, and the repairs made before them."""

    checks: tuple[Check, ...]
    repaired: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every check is."""
        return all(check.ok for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        checks = [dataclasses.asdict(check) | {"ok": check.ok} for check in self.checks]
        return {"ok": self.ok, "repaired": list(self.repaired), "checks": checks}


def examine(
    path: Path | None = None,
    *,
    key: Secret | None = None,
    models: Path | None = None,
    repair: bool = False,
    announce: Callable[[str], None] = lambda _: None,
) -> DoctorReport:
    """Check the installation, its models and a household's file.

    A temporary household stores and recalls a memory. Unfinished files of killed commands are
    removed. The file is read completely. ``repair`` rebuilds what derives from the texts; a file
    with damaged pages is rewritten from its texts, and the damaged one is kept. ``announce`` is
    called with the name of each step.
    """
    announce("versions")
    checks = [_distribution(), *_versions(), *_runtime()]
    announce("models")
    checks += _models(models)
    announce("a round trip")
    checks.append(_round_trip(key, models))
    repaired: tuple[str, ...] = ()
    announce("unfinished files")
    places = {Path.cwd(), Path(tempfile.gettempdir())}
    checks.append(_unfinished(places if path is None else places | {path.resolve().parent}))
    if path is not None:
        announce("the file")
        file_checks = list(_file(path, key, models))
        if repair and not all(check.ok for check in file_checks):
            announce("repairing")
            repaired = tuple(_repair(path, key, models))
            file_checks = list(_file(path, key, models))
        checks += file_checks
    return DoctorReport(tuple(checks), repaired)


def _distribution() -> Check:
    """Check that one distribution is installed; two overwrite each other."""
    if _version(_WHOLE) and _version(_CORE):
        fix = f"pip uninstall {_WHOLE} {_CORE}; then install one of them"
        twice = f"{__version__}, twice: as {_WHOLE} and as {_CORE}"
        return Check("family_recall", twice, fix)
    name = _CORE if _version(_CORE) else _WHOLE
    return Check("family_recall", f"{__version__}, as {name}")


def _versions() -> Iterator[Check]:
    yield Check("python", platform.python_version())
    installed = {**versions(), "numpy": _version("numpy"), "tokenizers": _version("tokenizers")}
    for name, version in installed.items():
        if version is None and name == "sqlite-vec":
            yield Check(name, "vectors are in a plain table")
        elif version is None:
            package = name if name in {"numpy", "tokenizers"} else _WHOLE
            yield Check(name, "not installed", f"pip install --force-reinstall {package}")
        else:
            yield Check(name, version)
    yield Check("graph engine", graph_engine())


def _runtime() -> Iterator[Check]:
    """Check ONNX Runtime, which is optional in the core, and its processor."""
    runtimes = [f"{name} {_version(name)}" for name in _RUNTIMES if _version(name)]
    if len(runtimes) > 1:  # both own one module: together they break it
        fix = f"pip uninstall {' '.join(_RUNTIMES)}; pip install family-recall"
        yield Check("onnxruntime", " and ".join(runtimes), fix)
        return
    try:
        import_runtime()
        obstacle = why_no_cuda()
    except ModelError as error:
        if _lacks_runtime():
            yield Check("onnxruntime", _WITHOUT_RUNTIME)
        else:
            fix = "pip install --force-reinstall family-recall"
            yield Check("onnxruntime", str(error), fix)
        return
    yield Check("onnxruntime", " ".join(runtimes) or "installed")
    yield Check("processor", f"CPU: {obstacle}" if obstacle else "CUDA, and the CPU beside it")


def _lacks_runtime() -> bool:
    """Whether this is the core distribution without ONNX Runtime."""
    return not any(map(_version, (_WHOLE, *_RUNTIMES)))


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _models(folder: Path | None) -> Iterator[Check]:
    try:
        entries = read_manifest(folder).entries
    except ModelError as error:
        yield Check("models", str(error), _MODELS)
        return
    for entry in entries:
        parts = check(entry)
        name = f"model {entry.name}"
        problems = [f"{part.what}: {part.problem}" for part in parts if part.problem]
        if not problems:
            runs = f"{len(entry.files)} files as in the manifest, and it runs"
            for part in parts:
                if part.provider:
                    runs += f" on {part.provider}"
                    runs += f" ({part.obstacle})" if part.obstacle else ""
            yield Check(name, runs)
        elif entry.role != StaticEncoder.ROLE and _lacks_runtime():
            yield Check(name, "unused without ONNX Runtime")
        else:
            yield Check(name, "; ".join(problems), _MODELS)


def _round_trip(key: Secret | None, models: Path | None) -> Check:
    fix = "see the checks above"
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            FamilyRecall.open(Path(folder) / "doctor.db", key=key, models=models) as home,
        ):
            home.spaces.add(Space(_SPACE, "shared"))
            home.remember(Memory(_STORED, _SPACE))
            home.remember(Memory("Grandma lands on Friday at six", _SPACE))
            answer = home.recall(_QUESTION, RecallContext(time_budget_ms=_PLENTY_MS))
    except FamilyRecallError as error:
        return Check("round trip", str(error), fix)
    left_out = f"; left out: {'; '.join(answer.degraded)}" if answer.degraded else ""
    if answer.results and answer.results[0].text == _STORED:
        return Check("round trip", f"stored and recalled{left_out}")
    return Check("round trip", f"what was stored is not the first result{left_out}", fix)


def _unfinished(folders: Collection[Path]) -> Check:
    """Remove unfinished files, which may hold memories in plain text."""
    removed = [file for folder in sorted(folders) for file in remove_leftovers(folder)]
    locked = [file for folder in sorted(folders) for file in leftovers(folder)]
    remarks = [f"{file}: left by a command that was killed; removed" for file in removed]
    remarks += [f"{file}: left by a command that was killed; cannot be removed" for file in locked]
    fix = f"delete {', '.join(map(str, locked))}" if locked else None
    return Check("unfinished files", "; ".join(remarks) or "none", fix)


def _file(path: Path, key: Secret | None, models: Path | None) -> Iterator[Check]:
    if not path.exists():
        fix = f"check the path; or make one with: family-recall init --db {path}"
        yield Check("file", f"{path}: no such file", fix)
        return
    try:
        with FamilyRecall.open(path, create=False, key=key, models=models) as home:
            findings = home.maintenance.check()
            readable = all(
                finding.derived or finding.values or finding.problem is None for finding in findings
            )
            stats = home.maintenance.stats() if readable else {}
            pending = home.maintenance.pending() if readable else {}
    except WrongKeyError as error:
        yield Check("file", str(error), "give its key with --key-file")
        return
    except FamilyRecallError as error:
        yield Check("file", str(error), _fix(path))
        return
    if stats:
        yield Check("file", f"{stats['memories']:,} memories, {stats['bytes']:,} bytes")
    for finding in findings:
        if finding.problem is None:
            yield Check(finding.what, "as it should be")
        else:
            yield Check(finding.what, finding.problem, _fix(path, finding))
    pending_list = ", ".join(f"{n:,} of {name}" for name, n in pending.items() if n)
    yield Check("pending vectors", pending_list or "none")


def _fix(path: Path, finding: Finding | None = None) -> str:
    """Return the command that repairs a file; if file or folder is read-only, say so first."""
    restore = f"or family-recall restore BACKUP --db {path}"
    if finding is not None and finding.values:
        effect = f"replaces them by what is used in their place; then set them again, {restore}"
    elif finding is not None and finding.derived:
        effect = "rebuilds it from the texts"
    elif finding is not None and finding.what == CHECKSUMS:
        effect = f"leaves them out, and keeps this file; store them again, {restore}"
    else:
        effect = f"rewrites the file from its texts; {restore}"
    fix = f"family-recall doctor --db {path} --repair {effect}"
    folder = path.resolve().parent
    read_only = [str(place) for place in (folder, path) if not os.access(place, os.W_OK)]
    if not read_only:
        return fix
    return (
        f"allow this user to write to {' and '.join(read_only)}, or copy {path} into a folder "
        f"where they may; then: {fix}"
    )


def _repair(path: Path, key: Secret | None, models: Path | None) -> Iterator[str]:
    """Repair a file, the smallest repair first; yield what was done."""
    with (
        contextlib.suppress(FamilyRecallError),
        FamilyRecall.open(path, create=False, key=key, models=models) as home,
    ):
        for value in home.maintenance.reset_unreadable():
            yield f"replaced by what was used in their place: {value}"
        faults = [finding for finding in home.maintenance.check() if finding.problem]
        if not faults:
            return
        if all(finding.derived for finding in faults):
            home.maintenance.rebuild()
            yield "rebuilt words, counts, entities, edges and vectors from the texts"
            return
    try:
        damaged, left_out = _rewrite(path, key, models)
    except FamilyRecallError as error:
        yield f"nothing: {error}"
        return
    yield f"rewrote the file from its texts; the damaged one is {damaged}"
    if left_out:
        yield f"left out what is damaged, and is only in {damaged}: {', '.join(left_out)}"


def _rewrite(
    path: Path, key: Secret | None, models: Path | None
) -> tuple[Path | None, tuple[str, ...]]:
    """Replace a damaged file by a new one with its undamaged records.

    Returns the path of the damaged file, and the memories that only it has.
    """
    with scratch_folder(path) as folder:
        exported, rewritten = folder / "exported.jsonl", folder / "rewritten.db"
        with FamilyRecall.open(path, create=False, key=key, models=models) as home:
            archive = home.maintenance.export_to(
                exported, feedback=True, log=True, skip_damaged=True
            )
        with FamilyRecall.open(rewritten, key=key, models=models) as home:
            home.maintenance.import_from(exported)
            home.maintenance.rebuild()
        return files.restore(path, rewritten, key=key).kept, archive.left_out

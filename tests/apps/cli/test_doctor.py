"""The doctor reports faults with their fix, and repairs what it can."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import apsw
import pytest

from family_recall.apps.cli.doctor import DoctorReport, examine
from tests.conftest import NO_MODELS, found, move_in, open_home, recall, stories


@pytest.fixture
def closed(path: Path) -> Path:
    """Return the file of a household that is closed."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        home.remember_many(stories())
    return path


def wrong(report: DoctorReport) -> dict[str, str]:
    """Return what is wrong, but for the models, of which these tests have none."""
    return {
        one.name: one.found
        for one in report.checks
        if not one.ok and not one.name.startswith("model")
    }


def looked_at(path: Path | None, *, repair: bool = False) -> DoctorReport:
    """Examine without models."""
    return examine(path, models=NO_MODELS, repair=repair)


def test_a_sound_household_is_well(closed: Path) -> None:
    """Versions are told, something was stored and recalled, and the file passes."""
    report = looked_at(closed)
    told = {one.name: one.found for one in report.checks}

    assert wrong(report) == {}
    assert told["sqlite"] == apsw.sqlite_lib_version()
    assert told["round trip"].startswith("stored and recalled")
    assert told["file"].startswith("7 memories")
    assert report.repaired == ()


@pytest.mark.parametrize(
    ("obstacle", "told"),
    [
        (None, "CUDA, and the CPU beside it"),
        ("no NVIDIA device", "CPU: no NVIDIA device"),
    ],
)
def test_the_processor_of_models_is_told(
    monkeypatch: pytest.MonkeyPatch, obstacle: str | None, told: str
) -> None:
    """CUDA, or what is missing for it; that is no fault, since the CPU runs them too."""
    monkeypatch.setattr("family_recall.apps.cli.doctor.why_no_cuda", lambda: obstacle)
    (processor,) = (one for one in looked_at(None).checks if one.name == "processor")

    assert (processor.ok, processor.found) == (True, told)


@pytest.mark.parametrize(
    ("packages", "fault", "found"),
    [
        ({"family-recall-core"}, None, "not installed: the static embedder and words answer"),
        ({"family-recall"}, "onnxruntime", "no ONNX Runtime"),
        ({"family-recall", "family-recall-core"}, "family_recall", "twice"),
        ({"family-recall", "onnxruntime", "onnxruntime-gpu"}, "onnxruntime", " and "),
    ],
)
def test_what_is_installed_twice_or_not_at_all_is_told(
    monkeypatch: pytest.MonkeyPatch, packages: set[str], fault: str | None, found: str
) -> None:
    """The core does without ONNX Runtime; the whole does not, and either is installed alone."""

    def version(name: str) -> str:
        if name in packages | {"numpy", "tokenizers", "igraph"}:
            return "1.0"
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", version)
    if "onnxruntime" not in packages:
        monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "1")
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
    report = examine(None)
    checks = {one.name: one for one in report.checks}

    assert found in checks[fault or "onnxruntime"].found
    if fault is None:
        assert report.ok
        assert checks["model family-embedder"].found == "unused without ONNX Runtime"
        assert checks["round trip"].ok
    else:
        assert not checks[fault].ok
        assert "pip" in (checks[fault].fix or "")


def test_missing_models_are_said_with_a_way_out() -> None:
    """Without models recall goes on by words; the doctor still says that they are missing."""
    report = looked_at(None)
    (models,) = (one for one in report.checks if one.name == "models")

    assert not report.ok
    assert not models.ok
    assert "family-recall models" in (models.fix or "")


def test_what_derives_from_texts_is_rebuilt(closed: Path) -> None:
    """Wrong counts are named with the line that fixes them; repairing fixes them."""
    connection = apsw.Connection(str(closed))
    connection.execute("UPDATE word_count SET n = n + 1; UPDATE partition SET n_current = 70")
    connection.close()

    report = looked_at(closed)
    assert set(wrong(report)) >= {"word counts", "partition counts"}
    assert all("--repair" in (one.fix or "") for one in report.checks if one.name in wrong(report))
    repaired = looked_at(closed, repair=True)
    assert wrong(repaired) == {}
    assert repaired.repaired
    assert wrong(looked_at(closed)) == {}


def test_damaged_pages_are_rewritten_from_the_texts(closed: Path) -> None:
    """Where an index's pages are damaged and the texts are not, the file is rewritten."""
    connection = apsw.Connection(str(closed))
    (page,) = connection.execute(  # type: ignore[misc]  # one row
        "SELECT rootpage FROM sqlite_schema WHERE name = 'memory_hash'"
    ).fetchone()
    connection.close()
    content = bytearray(closed.read_bytes())
    content[(int(page) - 1) * 4096 + 8 : int(page) * 4096] = b"\xa5" * 4088
    closed.write_bytes(content)

    assert "pages" in wrong(looked_at(closed))
    repaired = looked_at(closed, repair=True)
    assert wrong(repaired) == {}
    assert "rewrote the file" in repaired.repaired[0]
    assert list(closed.parent.glob("*before-restore*"))
    with open_home(closed, encoder=None, create=False) as home:
        assert found(recall(home, "where is the spare key?"))[0] == "key"


@pytest.mark.parametrize("content", [b"dear diary", b"\x00" * 8192])
def test_what_is_no_household_is_said(path: Path, content: bytes) -> None:
    """A file of something else is named as such, and stays as it is, whatever is asked."""
    path.write_bytes(content)
    report = looked_at(path, repair=True)

    assert "file" in wrong(report)
    assert path.read_bytes() == content

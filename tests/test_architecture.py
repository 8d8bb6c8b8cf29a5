"""The architecture: imports point down, and importing the package costs next to nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[1]
NATIVE = ("numpy", "apsw", "sqlite_vec", "onnxruntime", "tokenizers")
SOCKETS = ("socket", "_socket", "ssl", "http", "urllib.request", "asyncio", "concurrent.futures")


def loaded_by(program: str) -> set[str]:
    """Run a program of one line in a fresh interpreter; gives the modules it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; import sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return set(done.stdout.split())


def test_imports_point_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every import-linter contract of pyproject.toml is kept."""
    monkeypatch.chdir(ROOT)

    assert lint_imports(config_filename="pyproject.toml", no_cache=True) == 0


@pytest.mark.parametrize(
    "program",
    ["import family_recall", "from family_recall import Memory, RecallContext, Answer"],
)
def test_importing_loads_no_native_library(program: str) -> None:
    """Importing the package and its nouns loads no native library and opens no door."""
    loaded = loaded_by(program)

    assert "family_recall" in loaded
    for module in (*NATIVE, *SOCKETS):
        assert module not in loaded, module


def test_importing_loads_little() -> None:
    """Importing the package loads fewer than a hundred modules beyond the interpreter's own."""
    assert len(loaded_by("import family_recall") - loaded_by("pass")) < 100


def test_an_unknown_name_is_an_attribute_error() -> None:
    """What is loaded when first asked for is only what there is."""
    import family_recall  # noqa: PLC0415

    assert family_recall.FamilyRecall.__name__ == "FamilyRecall"
    with pytest.raises(AttributeError, match="FamilyRecal"):
        family_recall.FamilyRecal  # noqa: B018


def test_no_raw_connection_leaves_the_store() -> None:
    """Outside stores nothing reaches for a connection: the store has a method for it."""
    package = ROOT / "family_recall"
    uses = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in package.rglob("*.py")
        if package / "stores" not in path.parents
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr.lstrip("_") in {"connection", "connections"}
    ]

    assert not uses, uses

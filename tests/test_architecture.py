"""The architecture: imports point down, and importing the package costs little."""

from __future__ import annotations

import ast
import logging.config
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

from family_recall.english import kinship, lexicon, text

ROOT = Path(__file__).parents[1]
NATIVE = ("numpy", "apsw", "sqlite_vec", "onnxruntime", "tokenizers", "igraph._igraph")
SOCKETS = ("socket", "_socket", "ssl", "http", "urllib.request", "asyncio", "concurrent.futures")


def loaded_by(program: str) -> set[str]:
    """Run a program of one line in a fresh interpreter; return the modules it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; import sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return set(done.stdout.split())


def test_imports_point_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every import-linter contract of pyproject.toml is kept."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(logging.config, "dictConfig", lambda _: None)  # it disables all loggers

    assert lint_imports(config_filename="pyproject.toml", no_cache=True) == 0


def test_every_contract_is_about_the_whole_package() -> None:
    """No module can be forgotten: a library is forbidden everywhere, but for what is listed.

    The owners of SQLite and ONNX Runtime are one folder each.
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    contracts = {contract["name"]: contract for contract in settings["contracts"]}
    exceptions = {
        name: contract.get("ignore_imports")
        for name, contract in contracts.items()
        if contract["type"] == "forbidden" and contract["source_modules"] == ["family_recall"]
    }

    assert contracts["Imports point down"]["exhaustive"]
    assert contracts["Imports point down"]["containers"] == ["family_recall"]
    applications = contracts["Applications use the public API alone"]
    assert set(contracts) - set(exceptions) == {"Imports point down", applications["name"]}
    assert applications["source_modules"] == ["family_recall.apps"]
    assert "ignore_imports" not in applications
    assert exceptions["Only stores speak to SQLite"] == ["family_recall.store.** -> *"]
    assert exceptions["Only encoders speak to ONNX Runtime"] == ["family_recall.encoders.** -> *"]


def test_one_module_loads_igraph() -> None:
    """No other so much as names it in its code: `import igraph` would bring plotting with it."""
    package = ROOT / "family_recall"
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Constant) and str(node.value).split(".")[0] == "igraph")
        or (isinstance(node, ast.Import) and any(n.name.startswith("igraph") for n in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("igraph"))
    }

    assert users == {"recall/sources/graph_engine.py"}


WORDS_ELSEWHERE = {
    "recall/sources/graph.py": "the relations between things that the neural design names",
}
"""Files besides `english` that know words of the language, and which: no more may come."""


def word_lists(tree: ast.AST) -> Iterator[str]:
    """Yield the patterns, and the literal lists of words, of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            function = node.func
            is_pattern = isinstance(function.value, ast.Name) and function.value.id == "re"
            arguments = node.args if is_pattern else [function.value] * (function.attr == "split")
            constants = [part for each in arguments for part in ast.walk(each)]
        elif isinstance(node, ast.Set | ast.List | ast.Tuple):
            constants = list(node.elts)
        else:
            continue
        texts = [part.value for part in constants if isinstance(part, ast.Constant)]
        if isinstance(node, ast.Call) or all(re.fullmatch("[a-z'-]+", str(t)) for t in texts):
            yield " ".join(map(str, texts))


def test_english_is_read_in_one_package() -> None:
    """No pattern and no list of words elsewhere in the engine holds three everyday words."""
    package = ROOT / "family_recall"
    known = {*text.STOP_WORDS, *kinship.KINSHIP_ROLES, *lexicon.MONTHS, *lexicon.WEEKDAYS}
    elsewhere = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] not in {"english", "apps"}
        for words in word_lists(ast.parse(path.read_text(encoding="utf-8")))
        if len(known.intersection(re.findall(r"(?<![\w\\])[a-z]{2,}(?!\w)", words))) >= 3
    }

    assert elsewhere == set(WORDS_ELSEWHERE)


def test_importing_loads_no_native_library() -> None:
    """Importing the package and its nouns loads no native library and opens no socket.

    What msgspec itself loads does not count for the nouns, which are its structs.
    """
    records = loaded_by("import msgspec")
    for program, ignored in (
        ("import family_recall", set()),
        ("from family_recall import Memory, Answer", records),
    ):
        loaded = loaded_by(program) - ignored

        assert "family_recall" in loaded
        assert not loaded & {*NATIVE, *SOCKETS}


def test_a_fleet_loads_ray_and_object_stores_only_to_run() -> None:
    """Importing the fleet and its commands, and printing their help, needs no extra."""
    for program in (
        "import family_recall.apps.fleet.ray_engine",
        "import family_recall.apps.cli as c\nc.main(['fleet', '--help'], standalone_mode=False)",
    ):
        loaded = loaded_by(program)

        assert any(name.startswith("family_recall.apps.") for name in loaded)
        assert not loaded & {"ray", "fsspec", "pyarrow"}


def test_importing_loads_little() -> None:
    """Importing the package loads fewer than a hundred modules beyond the interpreter's own."""
    assert len(loaded_by("import family_recall") - loaded_by("pass")) < 100


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A name that is loaded on first use is an error where there is no such name."""
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
        if package / "store" not in path.parents
        and path != package / "apps" / "web" / "localhost.py"  # counts those of sockets
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr.lstrip("_") in {"connection", "connections"}
    ]

    assert not uses, uses

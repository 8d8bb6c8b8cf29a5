"""Run tests in a process of their own that a fork has given the libraries, for a copy of the tree.

Importing the libraries takes ten times as long as most tests of a claim.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path

LONGEST_S = 900.0
"""Tests that take longer, in a loop that does not end, count as failed."""
LIBRARIES = ["apsw", "hypothesis.strategies", "igraph", "numpy", "onnxruntime", "pytest", "rich",
             "tokenizers"]  # fmt: skip
_OUR_OWN = ("family_recall", "tests", "tools")

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(LIBRARIES)


def first_failing(tree: Path, tests: Sequence[str]) -> str:
    """Run tests in a tree; return the first that fails, or what pytest ends with; else nothing."""
    output = tree / "output.txt"
    process = _CONTEXT.Process(target=_run, args=(str(tree), list(tests), str(output)))
    process.start()
    process.join(LONGEST_S)
    if process.is_alive():
        process.kill()
        process.join()
        return "the time limit"
    if process.exitcode == 0:
        return ""
    lines = output.read_text("utf-8", "replace").splitlines()
    failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return failed[0].split(" ")[1] if failed else f"pytest, which ended with {process.exitcode}"


def _run(tree: str, tests: list[str], output: str) -> None:
    """Become pytest in a tree, whose modules take the place of those that started this process."""
    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(written, 1)
    os.dup2(written, 2)
    for name in [name for name in sys.modules if name.split(".")[0] in _OUR_OWN]:
        del sys.modules[name]
    root = str(Path(__file__).resolve().parents[2])
    sys.path[:] = [tree, *(path for path in sys.path if path not in {root, "", tree})]
    os.chdir(tree)
    os.environ["PYTHONPATH"] = tree
    import pytest  # noqa: PLC0415 -- here, in the new process

    options = ["-x", "-q", "--tb=short", "-p", "no:cacheprovider"]
    # hypothesis is there before its plugin could rewrite its assertions.
    ignored = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    sys.exit(pytest.main([*options, *ignored, *tests]))

"""The table in ``docs/designs.md``, which says what test proves each line of the five designs."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


TITLES = (
    "Family OS (P01 Recall & P17 QoS)", "Hybrid retrieval (Annie)", "Three-tier memory",
    "Unified PPR", "Neural design",
)  # fmt: skip
TABLE = (ROOT / "docs" / "designs.md").read_text(encoding="utf-8")
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_CODE = re.compile(r"`(family_recall/[\w/]+\.(?:py|json))(?:::(\w+))?`")


def rows() -> list[list[str]]:
    """Return the cells of every row of the tables of the five designs, without headings."""
    table = TABLE[: TABLE.index("## Missing, or different on purpose")]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if not row[0].startswith(("What the design says", "---"))]


@functools.cache
def defined_in(path: str) -> frozenset[str]:
    """Return the names that a Python file defines at its top level."""
    module = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    names: set[str] = set()
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return frozenset(names)


def test_every_design_has_a_table() -> None:
    """Five sections, each with twelve lines or more, and a last one of what is not here."""
    headings = re.findall(r"^## (.*)$", TABLE, re.MULTILINE)

    assert headings == [*TITLES, "Missing, or different on purpose"]
    for section in re.split(r"^## .*$", TABLE, flags=re.MULTILINE)[1:6]:
        assert len(re.findall(r"^\| .*::test_", section, re.MULTILINE)) >= 12


def test_every_line_of_the_table_names_code_and_a_test_that_exist() -> None:
    """Four cells a row; every path is a file of this repository and defines what is named."""
    assert rows()
    for row in rows():
        says, where, proof, _ = row
        assert _CODE.search(where), says
        assert _NAMED.search(proof), says
    for path, name in [*_NAMED.findall(TABLE), *_CODE.findall(TABLE)]:
        assert (ROOT / path).is_file(), path
        assert not name or name in defined_in(path), f"{path}::{name}"

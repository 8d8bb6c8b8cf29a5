"""The claims of ``docs/designs.md``: what a design says, and the tests that prove it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path("docs") / "designs.md"
_LAST = "## Missing, or different on purpose"
_NAMED = re.compile(r"`(tests/[\w/]+\.py::\w+)`")


@dataclass(frozen=True, slots=True)
class Claim:
    """One row of the page: the design's heading, what it says, and the tests by node id."""

    design: str
    says: str
    tests: tuple[str, ...]


def claims(root: Path) -> tuple[Claim, ...]:
    """Return every row of the tables of a repository's page, in order."""
    page = (root / PAGE).read_text("utf-8")
    found, design = [], ""
    for line in page[: page.index(_LAST)].splitlines():
        if line.startswith("## "):
            design = line.removeprefix("## ")
        elif line.startswith("| ") and not line.startswith("| What the design says"):
            says = line.strip("|").split(" | ")[0].strip()
            found.append(Claim(design, says, tuple(_NAMED.findall(line))))
    return tuple(found)

"""The mutants: listed changes of the source by claim, and every constant of every profile."""

from __future__ import annotations

import ast
import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.mutation.claims import Claim, claims

TABLES = Path(__file__).parent
PROFILES = "family_recall/recall/ranking/profiles.py"
PROFILE_TESTS = (
    "tests/designs",
    "tests/recall/ranking/test_ranking.py::test_the_weights_of_the_designs_are_kept",
)
DESIGNS = "tests/designs"
NOT_NUMBERS = {"calibrated_as", "name", "source"}
_FACTORS = {"zero": 0.0, "negative": -1.0, "half as much again": 1.5}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed place of one file, and the tests that should see it.

    ``start`` and ``end`` are character offsets into the file's text; ``says`` is the claim, or the
    constant, that it stands for.
    """

    path: str
    start: int
    end: int
    new: str
    says: str
    tests: tuple[str, ...]

    def applied(self, text: str) -> str:
        """Return the file's text with the change."""
        return text[: self.start] + self.new + text[self.end :]

    def shown(self, text: str) -> str:
        """Return the change on one line."""
        old = " ".join(text[self.start : self.end].split())
        return f"{self.path}: {old} → {' '.join(self.new.split()) or '(nothing)'}"

    def digest(self, root: Path) -> str:
        """Name the mutant by all that its verdict depends on: its file, its change, its tests."""
        files = {test.split("::")[0] for test in (*self.tests, DESIGNS)}
        read = sorted(
            path
            for name in files
            for path in ([root / name] if (root / name).is_file() else (root / name).glob("*.py"))
        )
        digest = hashlib.sha256(repr((self.path, self.start, self.end, self.new)).encode())
        for path in (root / self.path, *read):
            digest.update(path.read_bytes())
        return digest.hexdigest()[:16]


def every_mutant(root: Path) -> tuple[Mutant, ...]:
    """Return the listed mutants, design by design, and then those of the profiles.

    Raises:
        ValueError: If a table names a claim that is not on the page or a text that is not, or
            more than once, in its file; or a change that changes nothing.
    """
    return (*listed(root), *of_profiles(root))


def listed(root: Path) -> tuple[Mutant, ...]:
    """Return the mutants of the tables beside this file."""
    rows, found = claims(root), []
    for table in sorted(TABLES.glob("*.toml")):
        for entry in tomllib.loads(table.read_text("utf-8"))["claim"]:
            claim = _claim_of(entry["says"], rows, table)
            for change in entry["mutants"]:
                path, old, new = change["in"], change["old"], change["new"]
                text = (root / path).read_text("utf-8")
                if text.count(old) != 1:
                    raise ValueError(
                        f"{table.name}: {path} holds {text.count(old)} times, expected once: {old}"
                    )
                if old == new:
                    raise ValueError(f"{table.name}: nothing is changed: {old}")
                at = text.index(old)
                found.append(Mutant(path, at, at + len(old), new, claim.says, claim.tests))
    return tuple(found)


def of_profiles(root: Path) -> Iterator[Mutant]:
    """Return each number of each profile as zero, with the other sign, and half as much again."""
    text = (root / PROFILES).read_text("utf-8")
    starts = _line_starts(text)
    for call in _profile_calls(ast.parse(text)):
        name = next(each.value for each in call.keywords if each.arg == "name")
        profile = ast.literal_eval(name)
        for where, node in _numbers(call):
            value = float(ast.literal_eval(node))
            start = starts[node.lineno - 1] + _column(text, starts, node.lineno, node.col_offset)
            end = starts[node.end_lineno - 1] + _column(  # type: ignore[operator]  # parsed
                text,
                starts,
                node.end_lineno,  # type: ignore[arg-type]  # see above
                node.end_col_offset,  # type: ignore[arg-type]  # see above
            )
            for kind, factor in _FACTORS.items():
                new = repr(round(value * factor, 6) + 0.0)
                if float(new) != value:
                    says = f"profile {profile}: {where} is {kind}"
                    yield Mutant(PROFILES, start, end, new, says, PROFILE_TESTS)


def _claim_of(says: str, rows: tuple[Claim, ...], table: Path) -> Claim:
    found = [row for row in rows if row.says.startswith(says)]
    if len(found) != 1:
        raise ValueError(f"{table.name}: {len(found)} rows of the page say, expected one: {says}")
    return found[0]


def _profile_calls(module: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(module):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "Profile"
            and any(isinstance(each.value, ast.Dict) for each in node.keywords)
        ):
            yield node


def _numbers(call: ast.Call) -> Iterator[tuple[str, ast.Constant]]:
    """Yield the numbers of a profile, each with the name of its feature or field."""
    for each in call.keywords:
        if isinstance(each.value, ast.Dict):
            for key, value in zip(each.value.keys, each.value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                    yield f"weight of {key.value!s}", value
        elif each.arg not in NOT_NUMBERS:
            for node in ast.walk(each.value):
                if isinstance(node, ast.Constant) and type(node.value) in {int, float}:
                    yield str(each.arg), node


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _column(text: str, starts: list[int], line: int, column: int) -> int:
    """Return a column in characters; the parser counts bytes."""
    row = text[starts[line - 1] : starts[line]].encode()
    return len(row[:column].decode())

"""Change the code against each claim of docs/designs.md, and see whether a test of it fails.

A mutant is one change: of a rule that a row claims, listed in the tables beside this file, or of a
number of a profile (zero, the other sign, half as much again). In a copy of the repository it
meets the tests that its row names and, if they pass, all of tests/designs. One that passes these
too survives: nothing proves that claim. Verdicts are kept, and asked again only after the changed
file or a test of it has changed.

mutmut and cosmic-ray derive mutants from syntax and run one suite against all of them: neither
ties a mutant to a claim and its tests, or changes a number in a data file.

Examples:
  python -m tools.mutation.run
  python -m tools.mutation.run --only "hub" --workers 2
  python -m tools.mutation.run --only "profile family_os"
  python -m tools.mutation.run --list
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.util
import json
import queue
import shutil
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from tools.common import ROOT, parser_of, say
from tools.mutation.child import first_failing
from tools.mutation.mutants import DESIGNS, Mutant, every_mutant

VERDICTS = Path(tempfile.gettempdir()) / "family_recall_mutants.json"
COPIED = ("family_recall", "tests", "docs", "tools", "pyproject.toml", "README.md", "CHANGELOG.md")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the mutants; 1 when one survives, 2 when a test fails without a change."""
    options = _parser().parse_args(arguments)
    mutants = [mutant for mutant in every_mutant(ROOT) if _is_chosen(mutant, options.only)]
    texts = {path: (ROOT / path).read_text("utf-8") for path in {each.path for each in mutants}}
    if options.list:
        for mutant in mutants:
            print(f"{mutant.says}\n  {mutant.shown(texts[mutant.path])}")
        return 0
    verdicts = _Verdicts(options.verdicts, mutants)
    with tempfile.TemporaryDirectory() as folder:
        trees: queue.Queue[Path] = queue.Queue()
        for n in range(options.workers):
            trees.put(_copied(Path(folder) / f"tree-{n}"))
        unknown = [mutant for mutant in mutants if verdicts.find(mutant) is None]
        tests = sorted({test for mutant in unknown for test in mutant.tests} | {DESIGNS})
        say(f"{len(unknown)} of {len(mutants)} mutants to run; first the tests without a change")
        if unknown and (broken := first_failing(Path(folder) / "tree-0", tests)):
            print(f"{broken} fails without a change, so it can prove nothing", file=sys.stderr)
            return 2
        with concurrent.futures.ThreadPoolExecutor(options.workers) as threads:
            for n, (mutant, killer) in enumerate(
                zip(mutants, threads.map(lambda m: _verdict(m, verdicts, trees), mutants),
                    strict=True), start=1,
            ):  # fmt: skip
                ended = f"killed by {killer}" if killer else "SURVIVED"
                say(f"{n}/{len(mutants)} {ended}: {mutant.says}")
    return _report(mutants, texts, verdicts)


class _Verdicts:
    """The test that killed each mutant, empty for a survivor, by digest; written after each."""

    def __init__(self, path: Path, mutants: Sequence[Mutant]) -> None:
        self.path = path
        # At the start: what the copies hold, whatever is edited meanwhile.
        self.digests = {mutant: mutant.digest(ROOT) for mutant in mutants}
        self.by_digest: dict[str, str] = {}
        self._lock = threading.Lock()
        if path.exists():
            self.by_digest = json.loads(path.read_text("utf-8"))

    def find(self, mutant: Mutant) -> str | None:
        return self.by_digest.get(self.digests[mutant])

    def keep(self, mutant: Mutant, killer: str) -> None:
        with self._lock:
            self.by_digest[self.digests[mutant]] = killer
            written = self.path.with_suffix(".new")
            written.write_text(json.dumps(self.by_digest, indent=0), "utf-8")
            written.replace(self.path)


def _is_chosen(mutant: Mutant, only: Sequence[str]) -> bool:
    """Whether a mutant is about all of some words."""
    about = f"{mutant.says} {mutant.path} {mutant.new}".casefold()
    return all(words.casefold() in about for words in only)


def _verdict(mutant: Mutant, verdicts: _Verdicts, trees: queue.Queue[Path]) -> str:
    """Return the test that a mutant fails; empty if it passes all."""
    known = verdicts.find(mutant)
    if known is not None:
        return known
    tree = trees.get()
    try:
        changed = tree / mutant.path
        text = changed.read_text("utf-8")
        _write(changed, mutant.applied(text))
        try:
            killer = first_failing(tree, mutant.tests)
            if not killer and DESIGNS not in mutant.tests:
                killer = first_failing(tree, (DESIGNS,))
        finally:
            _write(changed, text)
    finally:
        trees.put(tree)
    verdicts.keep(mutant, killer)
    return killer


def _copied(tree: Path) -> Path:
    """Copy what the tests need of the repository, but for the models, which are linked."""
    tree.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", "homes", "cards")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=ignored)
        else:
            shutil.copy(source, tree / name)
    (tree / "models").symlink_to(ROOT / "models")
    return tree


def _write(path: Path, text: str) -> None:
    """Write a source file and remove its bytecode, whose check is by the second."""
    path.write_text(text, "utf-8")
    if path.suffix == ".py":
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def _report(mutants: Sequence[Mutant], texts: dict[str, str], verdicts: _Verdicts) -> int:
    """Print how many mutants were killed, and each that was not."""
    survivors = [mutant for mutant in mutants if not verdicts.find(mutant)]
    for mutant in survivors:
        print(f"survived: {mutant.says}\n  {mutant.shown(texts[mutant.path])}")
    print(f"{len(mutants)} mutants: {len(mutants) - len(survivors)} killed, "
          f"{len(survivors)} survived")  # fmt: skip
    return 1 if survivors else 0


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="WORDS",
        help="only those whose claim, file or change has these; may be repeated",
    )
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="side by side (default: 1)"
    )
    parser.add_argument(
        "--verdicts",
        type=Path,
        default=VERDICTS,
        metavar="FILE",
        help="what is known from earlier runs (default: %(default)s)",
    )
    parser.add_argument("--list", action="store_true", help="print the mutants, and run none")
    return parser


if __name__ == "__main__":
    sys.exit(main())

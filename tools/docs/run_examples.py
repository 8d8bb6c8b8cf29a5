"""Run pages of docs/ as a reader would, in an empty folder, and compare what they print.

A block of `sh` or `python` is run; a block of `text` right below it is what it has to print, where
… stands for whatever is printed there, or on a line of its own for some lines. A comment before a
block, <!-- not run: why -->, leaves it out, unless a test has what it needs. Variables, files and
names live as long as the page.

Examples:
  python -m tools.docs.run_examples docs/tutorial.md
  python -m tools.docs.run_examples --write docs/how-to/*.md
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from family_recall.apps.cli import main as command_line
from tools.common import parser_of

# Before ONNX Runtime's first import, and so that putting the environment back leaves it set.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

_BLOCK = re.compile(
    r"(?:<!-- not run: (?P<why>[^\n]*) -->\n)?```(?P<kind>sh|python)\n(?P<source>.*?)```\n"
    r"(?:\n```text\n(?P<shown>.*?)```\n)?",
    re.DOTALL,
)
_HEREDOC = re.compile(r"<<'?(\w+)'?\s*$")
_EXPORT = re.compile(r"^export (\w+)=(.*)$")
_BASH_ALONE = set("|<>;&$`")
_SILENT = " > /dev/null"
_FAILURES = ("Error: ", "FAILED ")
"""What a command prints that ends with another status than 0."""
_VARYING = (
    re.compile(r" *\b\d[\d,]*(?:\.\d+)?(?= (?:ms|s|kB|bytes|CPU)\b)"),
    re.compile(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{16,}\b"),
    re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\+00:00"),
)
"""Output that differs from run to run: times, sizes, moments and generated ids."""


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """One block of a page: its source, its expected output, or why it is not run."""

    kind: str
    source: str
    shown: str | None
    why: str | None


@dataclass(frozen=True, slots=True)
class BlockResult:
    """A block with what it printed."""

    block: CodeBlock
    printed: str

    @property
    def as_shown(self) -> bool:
        """Whether it printed what the page shows; a page may show nothing of it."""
        return self.block.shown is None or agrees(self.block.shown, self.printed)


class PageError(Exception):
    """A block that ended in an error that its page does not show."""


def blocks(text: str) -> list[CodeBlock]:
    """Return the blocks of a page in order."""
    return [
        CodeBlock(match["kind"], match["source"], match["shown"], match["why"])
        for match in _BLOCK.finditer(text)
    ]


def run(text: str, folder: Path, *, here: Collection[str] = ()) -> list[BlockResult]:
    """Run a page's blocks in a folder, one after another.

    Args:
        text: The page.
        folder: Empty, but for what the page needs.
        here: The reasons not to run a block that do not hold here.

    Raises:
        PageError: If one fails, and does not show an error.
    """
    names: dict[str, Any] = {"__name__": "page"}
    ran = []
    with contextlib.chdir(folder), _clean_environment(folder):
        for block in blocks(text):
            if block.why is not None and block.why not in here:
                continue
            if block.kind == "python":
                printed = _python(block.source, names)
            else:
                may_fail = any(word in (block.shown or "") for word in _FAILURES)
                printed = "".join(
                    _command(statement, may_fail) for statement in statements(block.source)
                )
            ran.append(BlockResult(block, printed))
    return ran


def agrees(shown: str, printed: str) -> bool:
    """Return whether the text shown, with … for anything, is what was printed."""
    lines = ("(?:.*\n)*?" if line == "…" else _pattern(line) for line in shown.splitlines())
    return re.fullmatch("".join(lines), printed) is not None


def _pattern(line: str) -> str:
    """Return a pattern for a line; a longer number leaves fewer blanks before it."""
    parts = re.split(r" *…", line)
    return ".*".join(map(re.escape, parts)) + "[ ]*\n"


def statements(source: str) -> Iterator[str]:
    """Split a block of shell into commands: one a line, but for what goes on on the next."""
    lines = iter(source.splitlines(keepends=True))
    for line in lines:
        statement = line
        if begun := _HEREDOC.search(line):
            for more in lines:
                statement += more
                if more.strip() == begun[1]:
                    break
        while statement.endswith("\\\n"):
            statement += next(lines)
        if statement.strip() and not statement.startswith("#"):
            yield statement


@contextlib.contextmanager
def _clean_environment(folder: Path) -> Iterator[None]:
    """Run a page in an environment of its own, and restore this one afterwards."""
    before = dict(os.environ)
    for name in [name for name in before if name.startswith("FAMILY_RECALL_")]:
        del os.environ[name]
    os.environ |= {name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    os.environ |= {"NO_COLOR": "1", "COLUMNS": "100"}
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before.get("PATH", "")])
    try:
        yield
    finally:
        os.environ.clear()
        os.environ |= before


def _command(statement: str, may_fail: bool) -> str:
    if exported := _EXPORT.match(statement.strip()):
        (os.environ[exported[1]],) = shlex.split(exported[2])
        return ""
    command = statement.rstrip().removesuffix(_SILENT)
    if command.startswith("family-recall ") and not _BASH_ALONE & set(command):
        # In this process it costs no start, and is the same command.
        words = shlex.split(command, comments=True)[1:]
        done = CliRunner().invoke(command_line, words, prog_name="family-recall")
        status, printed = (
            done.exit_code,
            done.output if command == statement.rstrip() else done.stderr,
        )
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
    else:
        ended = subprocess.run(
            ["bash", "-euc", statement],  # noqa: S607 - as a reader has it
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            text=True,
        )
        status, printed = ended.returncode, ended.stdout
    if status and not may_fail:
        raise PageError(f"{statement.strip()}\nended with {status}:\n{printed}")
    return printed


def _python(source: str, names: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "page", "exec", dont_inherit=True), names)  # noqa: S102 - our page
    return out.getvalue()


def _left_open(match: re.Match[str]) -> str:
    """Put … where something stood, as far to the right, so that columns stay columns."""
    varying = match.group()
    return (
        "…".rjust(len(varying))
        if varying.startswith("  ")
        else varying.replace(varying.strip(), "…")
    )


def rewritten(text: str, ran: Sequence[BlockResult]) -> str:
    """Return the page with the output of its blocks where it showed another."""
    for result in ran:
        if not result.as_shown and result.block.shown is not None:
            source = f"```{result.block.kind}\n{result.block.source}```\n\n```text\n"
            now = result.printed
            for pattern in _VARYING:
                now = pattern.sub(_left_open, now)
            text = text.replace(f"{source}{result.block.shown}```", f"{source}{now}```")
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run pages; 1 where one does not print what it shows."""
    parser = parser_of(__doc__)
    parser.add_argument("pages", nargs="+", type=Path, metavar="PAGE", help="a page of docs/")
    parser.add_argument(
        "--write", action="store_true", help="write the output into the pages (default: compare)"
    )
    options = parser.parse_args(arguments)
    wrong = 0
    for page in options.pages:
        text = page.read_text("utf-8")
        with tempfile.TemporaryDirectory(prefix="family_recall_page_") as folder:
            ran = run(text, Path(folder))
        differing = [result for result in ran if not result.as_shown]
        for result in differing:
            print(f"{page}:\n{result.block.source}printed\n{result.printed}")
        if options.write and differing:
            page.write_text(rewritten(text, ran), "utf-8", newline="\n")
        wrong += len(differing)
        print(f"{page}: {len(ran)} blocks, {len(differing)} differ")
    return int(wrong > 0 and not options.write)


if __name__ == "__main__":
    sys.exit(main())

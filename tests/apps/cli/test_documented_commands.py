"""The pages: what they tell people to type, the command line takes."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import click
import pytest

from family_recall.apps.cli import main
from family_recall.apps.cli.settings import SETTINGS

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def typed(page: Path) -> list[str]:
    """Return the lines of a page's shell blocks that call the command."""
    blocks = re.findall(r"```(?:sh|console)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line.removeprefix("$ ") for line in lines if re.match(r"(\$ )?family-recall ", line)]


def test_what_a_page_shows_can_be_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every argument is read, down to the last command; nothing is run."""
    monkeypatch.setenv("FAMILY_RECALL_DB", "family.db")
    monkeypatch.setenv("FAMILY_RECALL_PERSON", "alice")
    faults = []
    for page in PAGES:
        for line in typed(page):
            try:
                _parse(shlex.split(line)[1:])
            except (click.ClickException, click.exceptions.Exit) as error:
                if "--help" not in line:
                    faults.append((page.name, line, str(error)))

    assert faults == []


def _parse(words: list[str]) -> None:
    words = list(itertools.takewhile(lambda word: word not in {">", "|"}, words))
    command: click.Command = main
    context = main.make_context("family-recall", words)
    while isinstance(command, click.Group) and (left := [*context._protected_args, *context.args]):
        name, part, rest = command.resolve_command(context, left)
        assert part is not None
        command, context = part, part.make_context(name, rest, parent=context)
    assert command is not main, words


def test_the_page_of_the_command_line_names_every_setting() -> None:
    """Option, variable, key and default of each, and every exit code."""
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]

    for one in SETTINGS.values():
        (row,) = [row for row in rows if f"`{one.variable}`" in row]
        assert f"`{one.flag} " in row
        assert f"`{one.name}`" in row
        assert one.default is None or row.replace("`", "").endswith(
            f" {one.default} |".replace(".0", "")
        )
    for code in (0, 1, 2, 130):
        assert any(row.startswith(f"| {code} |") for row in rows)

"""``--help``: a reviewed text, examples, defaults, and nothing heavy behind it."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import click

from family_recall.apps.cli import main
from family_recall.apps.cli.settings import TERMINAL_BUDGET_MS
from family_recall.apps.evaluation import evaluate
from family_recall.types import RecallContext
from tests.apps.cli.every_command import commands
from tests.apps.cli.runner import done

SNAPSHOT = Path(__file__).parents[2] / "snapshots" / "cli_help.txt"
UPDATE = "FAMILY_RECALL_UPDATE_SNAPSHOTS"


def test_help_says_what_it_is_for_and_ends_in_examples() -> None:
    """The last lines of every --help can be copied; every option has a help text."""
    faults = []
    for words, command in commands().items():
        shown = done(*words.split(), "--help")
        examples = shown.partition("\nexamples:\n")[2].splitlines()
        sound = (
            2 <= len(examples) <= 3
            and examples[0].startswith(f"  family-recall {words}".rstrip())
            and all(line.startswith("  family-recall ") for line in examples)
            and all(o.help for o in command.params if isinstance(o, click.Option))
            and max(map(len, shown.splitlines())) <= 100
        )
        if not sound:
            faults.append((words, shown))

    assert faults == []


def test_every_default_is_in_the_help() -> None:
    """An option with a value states its default, or that it repeats."""
    assert [
        (words, option.name)
        for words, command in commands().items()
        for option in command.params
        if isinstance(option, click.Option)
        and not option.is_flag
        and not ("default: " in (option.help or "") or "repeat" in (option.help or ""))
    ] == []


def test_defaults_are_those_of_the_python_twin() -> None:
    """Both recall and eval start from what the library does; a person may wait longer for one."""
    recall = {option.name: option.default for option in main.commands["recall"].params}
    assert RecallContext().top_k == recall["top_k"]
    assert recall["time_budget_ms"] == TERMINAL_BUDGET_MS > RecallContext().time_budget_ms
    budget = next(p for p in main.commands["eval"].params if p.name == "budget_ms")
    assert inspect.signature(evaluate).parameters["budget_ms"].default == budget.default


def test_help_reads_as_reviewed() -> None:
    """The help of all commands is a snapshot, changed like a sentence is changed."""
    shown = "\n".join(
        f"$ {' '.join(['family-recall', *path, '--help'])}\n{done(*path, '--help')}"
        for path in map(str.split, commands())
    )
    if os.environ.get(UPDATE):
        SNAPSHOT.write_text(shown, encoding="utf-8")

    assert shown == SNAPSHOT.read_text(encoding="utf-8"), f"to accept: {UPDATE}=1 pytest {__file__}"


def test_help_loads_no_database_model_or_table() -> None:
    """The modules behind each --help are click's and ours alone, so it is there at once."""
    code = (
        "import contextlib, io, sys\n"
        "from family_recall.apps.cli import main\n"
        "for words in sys.argv[1:]:\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as out:\n"
        "        main([*words.split(), '--help'], 'family-recall', standalone_mode=False)\n"
        "    assert out.getvalue().startswith('Usage: '), words\n"
        "heavy = {'apsw', 'numpy', 'onnxruntime', 'tokenizers', 'rich', 'mcp'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *commands()],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )

    assert ran.stdout.strip() == "[]"

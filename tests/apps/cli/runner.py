"""Call the command line in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from family_recall.apps.cli import main

FAMILY_RECALL = (sys.executable, "-m", "family_recall")
"""The command in a process of its own."""


def call(
    *args: str | Path, stdin: str | None = None, env: Mapping[str, str] | None = None
) -> Result:
    """Call the command line; return exit code and output."""
    return CliRunner().invoke(
        main, [str(arg) for arg in args], input=stdin, prog_name="family-recall", env=env
    )


def done(*args: str | Path, stdin: str | None = None, env: Mapping[str, str] | None = None) -> str:
    """Call the command line, expect success, and return what it printed."""
    result = call(*args, stdin=stdin, env=env)
    assert result.exit_code == 0, (args, result.output, result.exception)
    return result.stdout


def call_in(db: Path, *args: str) -> Result:
    """Call the command line with a household in the environment."""
    return call(*args, env={"FAMILY_RECALL_DB": str(db)})


def done_in(db: Path, *args: str) -> str:
    """Call it with a household in the environment, expect success, and return what it printed."""
    return done(*args, env={"FAMILY_RECALL_DB": str(db)})


def write_lines(path: Path, *records: object) -> Path:
    """Write records as JSON Lines; a text is written as it is."""
    lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def ask(db: Path, question: str, *more: str) -> dict[str, Any]:
    """Recall with time enough, and return the JSON."""
    args = ("--person", "alice", "--budget-ms", "2000", "--now", "2026-01-10T18:00", "--json")
    answer = json.loads(done("recall", "--db", db, question, *args, *more))
    assert isinstance(answer, dict)
    return answer

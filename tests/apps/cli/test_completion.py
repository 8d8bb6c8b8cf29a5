"""``family-recall completion``: a script out, and what a shell gets from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from family_recall.apps.cli import main
from family_recall.apps.cli.configuration import COMPLETE_VARIABLE
from tests.apps.cli.runner import FAMILY_RECALL


def script(shell: str) -> str:
    """Return the script for a shell."""
    done = CliRunner().invoke(main, ["completion", shell], prog_name="family-recall")
    assert done.exit_code == 0, done.output
    return done.stdout


def completed(*words: str) -> list[str]:
    """Return what bash would be offered for the last word."""
    environment = {
        **os.environ,
        COMPLETE_VARIABLE: "bash_complete",
        "COMP_WORDS": " ".join(("family-recall", *words)),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        FAMILY_RECALL, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == "", done.stderr
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_calls_back(shell: str) -> None:
    """It asks the command itself, by the variable that the command answers to."""
    assert f"{COMPLETE_VARIABLE}={shell}_complete" in script(shell)
    assert "family-recall" in script(shell)


def test_another_shell_is_refused() -> None:
    """The message says which there are."""
    done = CliRunner().invoke(main, ["completion", "cmd"])

    assert done.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in done.stderr


def test_commands_and_options_are_completed(tmp_path: Path) -> None:
    """Of the group, of a command, and of a command's command; a bad config file is no hindrance."""
    assert completed("for") == ["forget", "forgotten"]
    assert completed("people", "") == ["add", "remove"]
    assert set(completed("recall", "--b")) == {"--budget-ms", "--before", "--before-session"}
    assert completed("retention", "a") == ["apply"]
    assert completed("add", "x", "--kind", "m") == ["milestone"]
    assert "adult" in completed("grant", "alice", "shared:garden", "--role", "a")
    (tmp_path / "bad.toml").write_text("x =")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("FAMILY_RECALL_CONFIG", str(tmp_path / "bad.toml"))
        assert completed("stat") == ["stats"]


@pytest.mark.skipif(shutil.which("bash") is None or sys.platform == "win32", reason="no bash")
def test_bash_itself_completes(tmp_path: Path) -> None:
    """The script, read by bash, gives the shell what there is to choose from."""
    (tmp_path / "complete.sh").write_text(script("bash"))
    program = tmp_path / "family-recall"
    program.write_text(f'#!/bin/sh\nexec {" ".join(FAMILY_RECALL)} "$@"\n')
    program.chmod(0o755)
    lines = (
        f"PATH={tmp_path}:$PATH; source {tmp_path}/complete.sh; "
        "COMP_WORDS=(family-recall unl); COMP_CWORD=1; "
        '_family_recall_completion family-recall; printf "%s\\n" "${COMPREPLY[@]}"'
    )

    done = subprocess.run(
        ["bash", "--norc", "-c", lines],  # noqa: S607 -- whichever bash there is
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout.split() == ["unlearn"]

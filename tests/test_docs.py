"""The documents beside the code: what they show is what happens."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from family_recall import demo
from family_recall.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MILLISECONDS = re.compile(r"\d[\d,]*\.\d\s+ms")


def blocks(language: str) -> list[str]:
    """Give the README's code blocks of a language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_readmes_program_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shortest program, run as it stands, prints the output below it."""
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(blocks("python")[0], "README.md", "exec"), {})  # noqa: S102 - our own README

    assert out.getvalue() == blocks("text")[0]


def test_the_readme_shows_the_demo_as_it_is() -> None:
    """The question shown from the demo is answered so, but for its milliseconds."""
    out = io.StringIO()
    demo.run(out)

    def timeless(text: str) -> str:
        return " ".join(MILLISECONDS.sub("· ms", text).split())

    assert timeless(blocks("text")[1]) in timeless(out.getvalue())


def test_the_readme_shows_what_is_understood() -> None:
    """The command shown, run, prints the lines below it."""
    (block,) = [block for block in blocks("console") if "understand" in block]
    command, _, shown = block.partition("\n")

    done = CliRunner().invoke(main, shlex.split(command)[2:])

    assert done.stdout == shown


def test_the_readmes_commands_are_the_ones_that_are_tested() -> None:
    """The test command of the README is the one that the checks of each change run."""
    (command,) = [block for block in blocks("sh") if "check.py" in block]

    assert command.strip() in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_link_leads_somewhere() -> None:
    """What README and ARCHITECTURE point to is there."""
    for name in ("README.md", "ARCHITECTURE.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (ROOT / target).exists(), f"{name}: {target}"
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for target in re.findall(r"^\s+([a-z_]+/[a-z_/]+\.py)", text, re.MULTILINE):
        assert (ROOT / "family_recall" / target).exists(), target


def test_every_feature_that_is_weighed_is_declared() -> None:
    """The default profile names declared features only, and says where its weights are from."""
    folder = ROOT / "family_recall" / "ranking"
    profile = json.loads((folder / "default_profile.json").read_text(encoding="utf-8"))

    from family_recall.ranking.features import INDEX  # noqa: PLC0415 - numpy is not needed above

    assert set(profile["weights"]) <= set(INDEX)
    assert profile["source"]

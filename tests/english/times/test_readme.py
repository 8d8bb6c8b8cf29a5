"""The README of the time grammar prints what it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[3] / "family_recall" / "english" / "times" / "README.md"


def test_the_example_prints_what_its_comments_say() -> None:
    """Each line of output stands as a comment under its call."""
    match = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert match is not None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(match[1], "README.md", "exec"), {})  # noqa: S102 - our own README

    assert printed.getvalue().splitlines() == re.findall(r"^# (.*)$", match[1], re.MULTILINE)


def test_every_file_is_named() -> None:
    """The table of files holds every module, and no other."""
    text = README.read_text(encoding="utf-8")
    table = text[text.index("## Files") : text.index("## How it is tested")]
    named = re.findall(
        r"`(\w+)`",
        "".join(line.split("|")[1] for line in table.splitlines()[4:] if line.startswith("|")),
    )

    assert sorted(named) == sorted(
        path.stem for path in README.parent.glob("*.py") if path.stem != "__init__"
    )

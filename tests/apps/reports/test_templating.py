"""The one environment that makes markup."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from family_recall.apps.reports.templating import FOLDERS, environment, printable, render

TEMPLATES = sorted(file for folder in FOLDERS for file in folder.glob("*.jinja"))
NOBODY: dict[str, Any] = {"style": "", "reader": None, "household": "", "noted": None}
"""What a page shows around its content where nobody is signed in."""


def test_every_template_compiles_and_is_found_by_one_name() -> None:
    """No two templates or style sheets share a name, so the order of folders does not matter."""
    names = Counter(file.name for folder in FOLDERS for file in folder.iterdir())

    assert {name for name, n in names.items() if n > 1} == set()
    for template in TEMPLATES:
        environment().get_template(template.name)


def test_no_template_turns_escaping_off_or_holds_a_script() -> None:
    """Nothing is marked as safe, no attribute runs or styles, and every attribute is quoted."""
    forbidden = re.compile(
        r"\|\s*safe\b|autoescape|<script|<link|<img(?! src=.{{ plot)|\bstyle=|\bon[a-z]+=|"
        r"javascript:|=\{\{"
    )

    for template in TEMPLATES:
        assert not forbidden.findall(template.read_text(encoding="utf-8")), template.name


def test_values_are_escaped_and_unprintable_characters_replaced() -> None:
    """In text and in attributes alike; the number of characters stays the same."""
    html = render("error.jinja", why="<b>\x00\u202e&\ud800", **NOBODY)

    assert "&lt;b&gt;��&amp;�" in html
    assert printable("a\x07b\n") == "a�b\n"


def test_a_missing_value_is_an_error() -> None:
    """A template never silently shows nothing where its view lacks a value."""
    with pytest.raises(KeyError, match="'why' is undefined"):
        render("error.jinja", **NOBODY)


def test_importing_the_package_does_not_load_the_template_engine() -> None:
    """Neither the library nor the command line needs it before a page is made."""
    program = "import family_recall, family_recall.apps.cli, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert not {"jinja2", "markupsafe", "matplotlib", "starlette"} & set(done.stdout.split())

"""The documents beside the code: what they show is what happens."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import click
import pytest
from click.testing import CliRunner

from family_recall.apps.cli import main
from family_recall.store.file.schema import SCHEMA_VERSION
from tools.docs import reference as print_reference
from tools.docs import run_examples as run_pages
from tools.walks import walks

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "family_recall"
README = (ROOT / "README.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(DOCS.rglob("*.md"))
}
WRITTEN = {
    name: text
    for name, text in PAGES.items()
    if not name.startswith(("decisions/", "recipes/", "reference/"))
}
WRITTEN["../README.md"] = README
"""Pages that run as they stand; recipes have tests of their own."""

NOT_RUN = {"installs", "uses the network", "needs a model of your own", "needs Ray"}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def blocks(language: str) -> list[str]:
    """Return the README's code blocks of a language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_readmes_picture_is_what_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each question at the top, asked at a terminal, gets the lines that stand below it."""
    monkeypatch.setenv("FAMILY_RECALL_DB", str(tmp_path / "family.db"))
    monkeypatch.setenv("FAMILY_RECALL_PERSON", "tom")
    stored = (
        ("The alarm code is 4402", "tom", "2024-03-02"),
        ("New alarm code is 7719", "tom", "2026-10-30"),
        ("The plumber comes on Tuesday at nine", "sarah", "2026-11-24"),
    )
    command_line("init", "--person", "tom=Tom", "--person", "sarah=Sarah", "--timezone", "UTC")
    for text, author, day in stored:
        command_line("add", text, "--author", author, "--at", day)

    for asked in blocks("console")[0].split("$ ")[1:]:
        command, _, shown = asked.partition("\n")
        assert command_line(*shlex.split(command)[1:]).rstrip() == shown.rstrip()


def command_line(*words: str) -> str:
    """Run a command that succeeds; return what it prints."""
    done = CliRunner().invoke(main, list(words))
    assert not done.exit_code, done.output
    return done.stdout


def test_the_readmes_commands_are_the_ones_that_are_tested() -> None:
    """The test command of the README is the one that the checks of each change run."""
    (command,) = [block for block in blocks("sh") if "check.py" in block]

    assert command.strip() in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_link_leads_somewhere() -> None:
    """What README and ARCHITECTURE link to exists."""
    for name in ("README.md", "ARCHITECTURE.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (ROOT / target).exists(), f"{name}: {target}"


def test_every_path_of_the_architecture_exists() -> None:
    """Each file and folder it names, in walks, tables and sentences, is in the tree."""
    paths = set(re.findall(r"\b(?:[a-z_]+/)+(?:[a-z_0-9]+\.[a-z]+)?", ARCHITECTURE))
    paths.remove("locomo/")  # a dataset of an example

    assert len(paths) > 50
    assert not [
        path for path in paths if not any((base / path).exists() for base in (PACKAGE, ROOT))
    ]


def test_the_architecture_is_short_and_names_every_folder_of_the_package() -> None:
    """At most 150 lines, with each folder of the package, and of its applications and recall."""
    folders = {
        f"{file.parent.relative_to(PACKAGE).as_posix()}/"
        for pattern in ("*", "apps/*", "recall/*")
        for file in PACKAGE.glob(f"{pattern}/__init__.py")
    }

    assert len(ARCHITECTURE.splitlines()) <= 150
    assert folders <= set(re.findall(r"`([a-z_/]+/)`", ARCHITECTURE))


def test_the_architecture_shows_the_layers_that_are_checked() -> None:
    """The layers, from top to bottom, are those of pyproject.toml."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    shown = re.split(r"\n```\n", ARCHITECTURE)[1]

    assert [line.split("  ")[0] for line in shown.splitlines()] == layers[1:]


def test_the_architecture_walks_where_calls_go() -> None:
    """Each file that a walk names is passed by the call that the walk is about."""
    files_of = {
        title.split(":")[0].split()[-1]: re.findall(r"^ *([a-z_/]+\.py)", block, re.MULTILINE)
        for title, block in re.findall(
            r"^### (.*?)\n\n```\n(.*?)```", ARCHITECTURE, re.MULTILINE | re.DOTALL
        )
    }
    passed = {
        name: {Path(code.co_filename).relative_to(PACKAGE).as_posix() for code in codes}
        for name, codes in walks().items()
    }

    assert set(files_of) == {"question", "memory", "forgetting", "evaluation"}
    for title, name in (("question", "recall"), ("memory", "remember"), ("forgetting", "forget")):
        assert len(files_of[title]) >= 6
        assert set(files_of[title]) <= passed[name], title


def test_the_architecture_names_the_schema() -> None:
    """The schema is the one that files have."""
    assert f"One SQLite file, schema {SCHEMA_VERSION}." in ARCHITECTURE


@pytest.mark.parametrize("page", [name for name, text in WRITTEN.items() if run_pages.blocks(text)])
def test_a_page_prints_what_it_shows(page: str, tmp_path: Path) -> None:
    """Each command and program, run in order in an empty folder, prints what stands below it."""
    for result in run_pages.run(WRITTEN[page], tmp_path):
        assert result.as_shown, f"{page}: {result.block.source}printed\n{result.printed}"


def test_what_a_page_does_not_run_it_says_why() -> None:
    """Only what installs, fetches, or needs what is not here is left out."""
    why = {block.why for text in WRITTEN.values() for block in run_pages.blocks(text)}

    assert why - {None} <= NOT_RUN


@pytest.mark.parametrize("page", WRITTEN)
def test_every_command_a_page_names_is_there_with_its_options(page: str) -> None:
    """Also in a sentence, and where it is not run: the command exists and takes the options."""
    for words in commands_in(WRITTEN[page]):
        command: click.Command = main
        options = options_of(main)
        for word in words:
            if isinstance(command, click.Group) and word in command.commands:
                command = command.commands[word]
                options |= options_of(command)
        if command is main and any(not word.startswith("-") for word in words):
            options |= options_of(main.commands["recall"])
        named = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert named <= options, f"{page}: family-recall {' '.join(words)}"


def commands_in(text: str) -> Iterator[list[str]]:
    """Yield the words after family-recall of each command in blocks and in sentences."""
    spans = re.findall(r"`(family-recall [^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    statements = [
        statement
        for block in run_pages.blocks(text)
        if block.kind == "sh"
        for statement in run_pages.statements(block.source)
    ]
    for line in [*spans, *statements]:
        if line.startswith("family-recall ") and "$" not in line:
            yield shlex.split(re.split(r"\s[>|]\s", line)[0])[1:]


def options_of(command: click.Command) -> set[str]:
    """Return every spelling of a command's options."""
    spellings = ([*option.opts, *option.secondary_opts] for option in command.params)
    return {"--help"}.union(*spellings)


def test_the_reference_is_what_the_code_says() -> None:
    """Printed again, no page of it differs: python -m tools.docs.reference."""
    assert {
        name: PAGES.get(f"reference/{name}") for name in print_reference.pages()
    } == print_reference.pages()


def test_every_link_of_the_docs_leads_somewhere() -> None:
    """Files are there, and so are the headings that are linked to."""
    for name, text in PAGES.items():
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]+))?\)", text):
            file = (DOCS / name).parent / target if target else DOCS / name
            assert file.exists(), f"{name}: {target}"
            if anchor:
                headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
                slugs = {
                    re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in headings
                }
                assert anchor in slugs, f"{name}: {target}#{anchor}"


def test_every_page_is_on_the_map() -> None:
    """The README of the docs links to each page, or to the folder it is in."""
    linked = re.findall(r"\]\(([^)#]+)", PAGES["README.md"])

    for name in PAGES:
        if name != "README.md" and not name.startswith(("decisions/", "recipes/")):
            assert name in linked, name


def test_pictures_show_what_is_answered_today() -> None:
    """What a picture says in words is what the demo's household answers, to two hundredths."""
    pytest.importorskip("matplotlib")
    from tools.docs import figures as draw_pages  # noqa: PLC0415 - after it is known that it can be imported

    drawn = draw_pages.pictures(*draw_pages.ask())

    assert set(drawn) == {file.name for file in (DOCS / "explanation").glob("*.svg")}
    for name, picture in drawn.items():
        file = (DOCS / "explanation" / name).read_text(encoding="utf-8")
        now, then = described(picture), described(file)
        assert NUMBER.sub("·", now) == NUMBER.sub("·", then), (
            f"{name}: python -m tools.docs.figures"
        )
        assert [float(number) for number in NUMBER.findall(now)] == pytest.approx(
            [float(number) for number in NUMBER.findall(then)], abs=0.021
        )
        assert not {"script", "image", "a"} & {
            element.tag.rpartition("}")[2]
            for element in ET.fromstring(file).iter()  # noqa: S314 - our own file
        }


def described(picture: str) -> str:
    """Return the description of a picture."""
    description = re.search(r"<desc>(.*?)</desc>", picture, re.DOTALL)
    return description[1] if description else ""


def test_every_feature_that_is_weighed_is_declared() -> None:
    """The default profile names declared features only, and says where its weights are from."""
    folder = ROOT / "family_recall" / "recall" / "ranking"
    profile = json.loads((folder / "default_profile.json").read_text(encoding="utf-8"))

    from family_recall.recall.ranking.features import INDEX  # noqa: PLC0415 - numpy is not needed above

    assert set(profile["weights"]) <= set(INDEX)
    assert profile["source"]

"""Print the reference, docs/reference/*.md, from the code.

Features, profiles, settings, errors, the command line and the Python interface, each read from
where it is declared, so that no page can say anything else. The tests print it again, and fail
where a page differs.

Examples:
  python -m tools.docs.reference
  python -m tools.docs.reference --check
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_type_hints

import click
import msgspec

import family_recall
from family_recall import FamilyRecall, config, errors, understand
from family_recall.apps.cli import main as command_line
from family_recall.apps.cli.settings import SETTINGS
from family_recall.recall.ranking.features import FEATURES
from family_recall.recall.ranking.profiles import profiles
from family_recall.types import stages
from family_recall.types.fields import Checked, fields_of
from family_recall.types.records import Record
from tools.common import ROOT, parser_of

FOLDER = ROOT / "docs" / "reference"
COLUMNS = 100
NOTE = "Printed by `python -m tools.docs.reference` from the code; edit that, not this page."

_STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}
_SECTION = re.compile(r"^(Args|Returns|Raises|Yields):\n((?:(?:[ ]{4}.*)?\n?)*)", re.MULTILINE)
_ROLE = re.compile(r":\w+:`~?([^`]+)`")
_CODE = re.compile(r"``([^`]+)``")


def pages() -> dict[str, str]:
    """Return every page by its file's name."""
    return {name: f"{made().rstrip()}\n" for name, made in PAGES.items()}


def features() -> str:
    """Print the table of features, and what each profile gives them."""
    named = profiles()
    lines = [
        *_head("Features"),
        "A score is the sum over features of weight × value. Each value lies in a range that does",
        "not depend on the question's other candidates; *absent* is the value where it is unknown.",
        "",
        *_table(
            ("feature", "range", "absent", "what it is"),
            ((f"`{f.name}`", f"{f.low:g} to {f.high:g}", f"{f.absent:g}", f.meaning)
             for f in FEATURES),
        ),
        "",
        "## Weights by profile",
        "",
        *_table(
            ("feature", *(f"`{name}`" for name in named)),
            (
                (f"`{f.name}`", *(_number(p.weights.get(f.name)) for p in named.values()))
                for f in FEATURES
                if any(p.weights.get(f.name) for p in named.values())
            ),
        ),
        "",
        *(f"- `{name}`: {profile.source}." for name, profile in named.items()),
    ]  # fmt: skip
    return "\n".join(lines)


def configuration() -> str:
    """Print the settings, and the constants that a program may replace."""
    settings = (
        (
            f"`{setting.flag}`",
            f"`{setting.variable}`",
            f"`{setting.name} = {setting.example}`",
            setting.question,
            "" if setting.default is None else f"`{setting.default}`",
        )
        for setting in SETTINGS.values()
    )
    comments = _comments(config.RecallConfig)
    constants = (
        (
            f"`{field.name}`",
            f"`{field.type}`",
            f"`{_default(field)}`",
            comments.get(field.name, ""),
        )
        for field in dataclasses.fields(config.RecallConfig)
    )
    faded = (
        (f"`{name}`", "never" if days is None else f"{days:g}")
        for name, days in config.HALF_LIFE_DAYS.items()
    )
    costs = (
        (f"`{stage}`", f"{fixed:g}", f"{each:.6f}".rstrip("0").rstrip("."))
        for stage, (fixed, each) in config.RecallConfig().assumed_cost_ms.items()
    )
    lines = [
        *_head("Configuration"),
        "## At the terminal",
        "",
        "An option comes before the environment, that before the config file (TOML), that before",
        "the default. `family-recall config` says what is in effect, and who says so.",
        "",
        *_table(("option", "environment", "config file", "answers", "default"), settings),
        "",
        "## In a program: `RecallConfig`",
        "",
        "`FamilyRecall.open(path, config=RecallConfig(rerank_pool=10))`, with",
        "`from family_recall.config import RecallConfig`. The defaults are what was measured best,",
        "or stated by a design.",
        "",
        *_table(("field", "type", "default", "what it is"), constants),
        "",
        f"`leave_out` takes: {', '.join(f'`{stage}`' for stage in stages.optional_stages())}.",
        "",
        "## What stages are assumed to cost",
        "",
        "`assumed_cost_ms`: milliseconds, until a household's file knows this device's own.",
        "",
        *_table(("stage", "ms", "and for each unit"), costs),
        "",
        "## How fast a category fades",
        "",
        "Days until the feature `recency` is halved:",
        "",
        *_table(("category", "half-life, days"), faded),
    ]
    return "\n".join(lines)


def raised() -> str:
    """Print the tree of errors."""
    lines = [
        *_head("Errors"),
        "Everything this library raises on purpose is a `FamilyRecallError`. A message says what",
        "was expected, what was found, and the way out. Being short of time is no error, and",
        "neither is having no model: the answer then says what it did without.",
        "",
        *_tree(errors.FamilyRecallError, 0),
        "",
        "At the terminal an error is one line on stderr. Exit codes: 0 done, also where nothing",
        "was found; 1 an error; 2 a wrong call; 130 after Ctrl-C.",
    ]
    return "\n".join(lines)


def commands() -> str:
    """Print the help of every command."""
    lines = [*_head("Command line"), *_help(command_line, "family-recall", 2)]
    return "\n".join(lines)


def python() -> str:
    """Print the signature and the docstring of everything that is public."""
    lines = [*_head("Python"), "```python", "from family_recall import FamilyRecall", "```", ""]
    lines += [*_class(FamilyRecall), *_function(understand, "understand", 2)]
    for name, part in parts().items():
        lines += _class(part, f"home.{name}")
    first = ["FamilyRecall", "understand"]
    for name in [name for name in family_recall.__all__ if name not in first]:
        lines += _class(getattr(family_recall, name))
    return "\n".join(lines)


def parts() -> dict[str, type]:
    """Return the named parts of an open household, as its class declares them."""
    return {
        name: kind
        for name, kind in get_type_hints(FamilyRecall).items()
        if not name.startswith("_")
    }


PAGES: Mapping[str, Callable[[], str]] = {
    "features.md": features,
    "configuration.md": configuration,
    "errors.md": raised,
    "command-line.md": commands,
    "python.md": python,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages; with --check write none, and give 1 where one differs."""
    options = _parser().parse_args(arguments)
    differing = []
    for name, text in pages().items():
        file = FOLDER / name
        if file.exists() and file.read_text("utf-8") == text:
            continue
        differing.append(file.relative_to(ROOT))
        if not options.check:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8", newline="\n")
    for file in differing:
        print(f"{file} {'differs from the code' if options.check else 'written'}")
    return int(options.check and bool(differing))


def _head(title: str) -> list[str]:
    return [f"# {title}", "", f"<!-- {NOTE} -->", ""]


def _table(head: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _number(weight: float | None) -> str:
    return f"{weight:g}" if weight else ""


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        value = field.default_factory()
        return "see below" if isinstance(value, Mapping) and value else _shown(value)
    return _shown(field.default)


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "{}" if not value else str(dict(value))
    return str(value) if isinstance(value, frozenset) else repr(value)


def _comments(described: type) -> dict[str, str]:
    """Return the comments above and beside each field in the source."""
    described_as: dict[str, str] = {}
    above: list[str] = []
    for line in inspect.getsource(described).splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            above.append(stripped.removeprefix("#").strip())
        elif match := re.match(r"(\w+): .+?(?:# (.*))?$", stripped):
            comments = [*above, *filter(None, [match[2]])]
            # "# Vectors." heads some fields, and is no word about the first of them.
            described_as[match[1]] = " ".join(
                comments[len(comments) > 1 and " " not in comments[0] :]
            )
            above = []
        else:
            above = []
    return described_as


def _tree(error: type[Exception], depth: int) -> Iterator[str]:
    also = [base.__name__ for base in error.__bases__ if base.__module__ == "builtins"]
    caught = f" Also a `{also[0]}`." if also and also != ["Exception"] else ""
    yield f"{'  ' * depth}- `{error.__name__}`: {inspect.getdoc(error)}{caught}"
    for below in error.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _tree(below, depth + 1)


def _help(command: click.Command, name: str, level: int) -> Iterator[str]:
    ctx = click.Context(command, info_name=name, terminal_width=COLUMNS, max_content_width=COLUMNS)
    yield f"{'#' * level} `{name}`"
    yield ""
    yield "```text"
    yield command.get_help(ctx).rstrip()
    yield "```"
    yield ""
    if isinstance(command, click.Group):
        for below in command.list_commands(ctx):
            yield from _help(command.commands[below], f"{name} {below}", min(level + 1, 3))


def _class(made: type, called: str | None = None) -> Iterator[str]:
    """Print a class and its public methods, under the name that a program calls it by."""
    called = called or made.__name__
    yield f"## {called}"
    yield ""
    yield from _described(made)
    if dataclasses.is_dataclass(made) or issubclass(made, msgspec.Struct):
        yield "```python"
        yield from _fields(made)
        yield "```"
        yield ""
    if issubclass(made, (enum.Enum, Exception)):
        return
    if issubclass(made, (Checked, Record)):
        yield "`to_json()` writes it as JSON, and `from_json(record)` reads that."
        yield ""
    members = {
        name: member
        for part in reversed(made.__mro__[:-1])
        if part not in {Checked, Record, msgspec.Struct}
        for name, member in vars(part).items()
    }
    for name, member in members.items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield f"### {called}.{name}"
            yield ""
            yield from _described(member.fget)
        elif inspect.isfunction(member) or isinstance(member, (classmethod, staticmethod)):
            yield from _function(getattr(made, name), f"{called}.{name}", 3)


def _fields(made: type) -> Iterator[str]:
    """Print what a record is made of, with what its annotations say of each field."""
    defaults = inspect.signature(made).parameters
    described = fields_of(made) if issubclass(made, Checked) else {}
    yield f"{made.__name__}("
    for name, kind in get_type_hints(made).items():
        if name not in defaults:
            continue
        given = defaults[name].default
        # A default that is made for each record, such as an empty mapping, has no text of its own.
        default = "" if given is inspect.Parameter.empty else f" = {_shown(given)}"
        if "factory" in default or "<unset>" in default:
            default = " = {}" if "Mapping" in str(kind) else f" = {kind.__name__}()"
        text = described[name].sentence().lstrip(",: ") if name in described else ""
        yield f"    {name}: {_named(kind)}{default}," + (f"  # {text}" if text else "")
    yield ")"


def _named(kind: Any) -> str:
    """Return a type as a program writes it."""
    text = inspect.formatannotation(kind).replace("datetime.", "dt.").replace("typing.", "")
    text = re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", text).replace("NoneType", "None")
    return re.sub(r"Optional\[(\w+)\]", r"\1 | None", text)


def _function(made: Callable[..., Any], name: str, level: int) -> Iterator[str]:
    yield f"{'#' * level} {name}"
    yield ""
    yield "```python"
    yield _signature(made, name)
    yield "```"
    yield ""
    yield from _described(made)


def _signature(made: Callable[..., Any], name: str) -> str:
    signature = inspect.signature(made)
    own = _parameters([p for p in signature.parameters.values() if p.name not in {"self", "cls"}])
    begun = f"{'async ' * inspect.iscoroutinefunction(made)}{name}"
    returned = signature.return_annotation
    tail = "" if returned is inspect.Signature.empty else f" -> {returned}"
    line = f"{begun}({', '.join(own)}){tail}"
    if len(line) <= COLUMNS:
        return line
    return "\n".join([f"{begun}(", *(f"    {part}," for part in own), f"){tail}"])


def _parameters(own: Sequence[inspect.Parameter]) -> list[str]:
    parts, starred = [], False
    for parameter in own:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        starred = starred or parameter.kind is inspect.Parameter.VAR_POSITIONAL
        star = _STARS.get(parameter.kind.name, "")
        kind = (
            "" if parameter.annotation is inspect.Parameter.empty else f": {parameter.annotation}"
        )
        default = (
            "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
        )
        parts.append(f"{star}{parameter.name}{kind}{default}")
    return parts


def _described(made: object) -> Iterator[str]:
    text = inspect.getdoc(made) or ""
    text = _SECTION.sub(lambda section: f"{_section(section[1], section[2])}\n", text)
    text = _CODE.sub(r"`\1`", _ROLE.sub(r"`\1`", text))
    text = re.sub(r"^(>>> .*(?:\n(?!\n).*)*)", r"```python\n\1\n```", text, flags=re.MULTILINE)
    yield text.strip()
    yield ""


def _section(title: str, body: str) -> str:
    """Write a docstring's section: its entries as a list, or a sentence as it is."""
    text = textwrap.dedent(body).strip()
    if title in {"Returns", "Yields"}:
        return f"**{title}** {text}\n"
    entries: list[str] = []
    for line in text.splitlines():
        if line.startswith(" ") and entries:
            entries[-1] += f" {line.strip()}"
        elif line:
            name, colon, rest = line.partition(": ")
            entries.append(f"- `{name}`: {rest}" if colon else f"- {line}")
    wrapped = (
        textwrap.fill(entry, COLUMNS, subsequent_indent="  ", break_long_words=False,
                      break_on_hyphens=False)
        for entry in entries
    )  # fmt: skip
    return "\n".join([f"**{title}**\n", *wrapped, ""])


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; 1 where a page differs"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

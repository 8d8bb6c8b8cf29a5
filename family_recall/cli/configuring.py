"""What is in effect, and completion: ``config`` and ``completion``."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import get_completion_class

from family_recall.cli.base import WithExamples, json_option, one_line, print_json
from family_recall.cli.settings import (
    SETTINGS,
    InEffect,
    budget_option,
    config_file,
    in_effect,
    maybe_db_option,
    person_option,
    profile_option,
    setting,
    space_option,
)

COMPLETE_VARIABLE = "_FAMILY_RECALL_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
_PARAMETERS = {"person": "person_id", "space": "space_id", "budget_ms": "time_budget_ms"}


@click.command(
    cls=WithExamples,
    examples=("family-recall config", "family-recall --config other.toml config --json"),
)
@maybe_db_option
@setting("key_file", help="what the household is encrypted with (default: as configured, or none)")
@person_option()
@space_option
@budget_option
@profile_option
@json_option
def config(as_json: bool, **_: Any) -> None:
    """Say what is in effect, and who says so: an option, the environment, the file, or nobody.

    The config file is TOML: lines such as db = "family.db" and person = "alice". A path in it is
    relative to the file itself. "mcp" and "add" have defaults of their own for time and space;
    "eval" takes nothing from the environment or the file.
    """
    ctx = click.get_current_context()
    file = config_file(ctx)
    found = {name: _found(ctx, name) for name in SETTINGS}
    if as_json:
        print_json(
            {
                "config_file": str(file.path),
                "config_file_exists": file.exists,
                "settings": {
                    name: {
                        "value": one.value if one.value is None else _told(one.value),
                        "source": one.source,
                    }
                    for name, one in found.items()
                },
            }
        )
        return
    click.echo(one_line(f"config file {file.path}{'' if file.exists else ' (not there)'}"))
    for name, one in found.items():
        where = {
            "option": f"option {SETTINGS[name].flag}",
            "environment": SETTINGS[name].variable,
            "file": "config file",
            "default": "default",
        }[one.source]
        value = "not set" if one.value is None else str(one.value)
        click.echo(f"{name:<10}{one_line(f'{value} ({where})')}")


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall completion bash > ~/.local/share/bash-completion/completions/family-recall",
        "family-recall completion fish > ~/.config/fish/completions/family-recall.fish",
    ),
)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that lets a shell complete commands and options.

    bash reads it from ~/.local/share/bash-completion/completions/family-recall, fish from
    ~/.config/fish/completions/family-recall.fish, and zsh from a folder of $fpath, as
    _family-recall.
    """
    made = get_completion_class(shell)
    assert made is not None  # noqa: S101 -- click knows each of the choices
    root = click.get_current_context().find_root()
    click.echo(made(root.command, {}, "family-recall", COMPLETE_VARIABLE).source())


def _found(ctx: click.Context, name: str) -> InEffect:
    parameter = _PARAMETERS.get(name, name)
    value = ctx.params[parameter]
    if ctx.get_parameter_source(parameter) is ParameterSource.COMMANDLINE:
        return InEffect(value, "option")
    return InEffect(value, in_effect(ctx, SETTINGS[name]).source)


def _told(value: object) -> str | float:
    return value if isinstance(value, int | float) else str(value)

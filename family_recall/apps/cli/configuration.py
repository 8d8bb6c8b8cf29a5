"""Settings in effect and shell completion: ``config`` and ``completion``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import get_completion_class

from family_recall.apps.cli.command import command
from family_recall.apps.cli.output import Output
from family_recall.apps.cli.settings import (
    SettingOption,
    budget_option,
    config_file,
    db_option,
    person_option,
    profile_option,
    setting_option,
    space_option,
)

COMPLETE_VARIABLE = "_FAMILY_RECALL_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
_SOURCES: Mapping[ParameterSource | None, str] = {
    ParameterSource.COMMANDLINE: "option",
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.DEFAULT_MAP: "file",
    ParameterSource.DEFAULT: "default",
}


@command()
@db_option
@setting_option(
    "key_file", help="what the household is encrypted with (default: as configured, or none)"
)
@person_option()
@space_option()
@budget_option()
@profile_option
def config(**_: Any) -> Output:
    """Show the settings in effect and where each comes from: option, environment, file, default.

    The config file is TOML: lines such as db = "family.db" and person = "alice". A path in it is
    relative to the file itself. "mcp" and "add" have defaults of their own for time and space;
    "eval" reads neither the environment nor the file.

    Examples:
      family-recall config
      family-recall --config other.toml config --json
    """
    ctx = click.get_current_context()
    file = config_file(ctx)
    lines = [f"config file {file.path}{'' if file.exists else ' (not there)'}"]
    settings = {}
    for option in ctx.command.params:
        if isinstance(option, SettingOption):
            setting, name = option.setting, option.name or ""
            value, source = ctx.params[name], _SOURCES[ctx.get_parameter_source(name)]
            json_value = str(value) if isinstance(value, Path) else value
            settings[setting.name] = {"value": json_value, "source": source}
            where = {"option": f"option {setting.flag}", "environment": setting.variable,
                     "file": "config file", "default": "default"}[source]  # fmt: skip
            lines.append(f"{setting.name:<10}{'not set' if value is None else value} ({where})")
    record = {
        "config_file": str(file.path), "config_file_exists": file.exists, "settings": settings,
    }  # fmt: skip
    return Output(record, lines)


@command(prints_json=False)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that lets a shell complete commands and options.

    bash reads it from ~/.local/share/bash-completion/completions/family-recall, fish from
    ~/.config/fish/completions/family-recall.fish, and zsh from a folder of $fpath, as
    _family-recall.

    Examples:
      family-recall completion bash > ~/.local/share/bash-completion/completions/family-recall
      family-recall completion fish > ~/.config/fish/completions/family-recall.fish
    """
    complete = get_completion_class(shell)
    assert complete is not None  # noqa: S101 -- click knows each of the choices
    root = click.get_current_context().find_root()
    click.echo(complete(root.command, {}, "family-recall", COMPLETE_VARIABLE).source())

"""Settings: values of an option, the environment or the config file, in that order."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from click.core import ParameterSource

from family_recall.apps.cli.options import FILE
from family_recall.types import DEFAULT_SPACE
from family_recall.types.fields import is_number
from family_recall.types.memory import MEMORY_FIELDS
from family_recall.types.request import CONTEXT_FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_F = TypeVar("_F", bound="Callable[..., Any]")
_T = TypeVar("_T")
CONFIG_VARIABLE = "FAMILY_RECALL_CONFIG"
BUDGET_MS: float = CONTEXT_FIELDS["time_budget_ms"].default
SERVER_BUDGET_MS = 500.0
TERMINAL_BUDGET_MS = 2_000.0
"""The default time budget at a terminal; most answers take a tenth of it."""
METAVARS = {"file": "FILE", "number": "MS", "text": "ID"}
_PROFILES = "default, family_os, annie, three_tier, ppr or neural"
_TYPES: Mapping[str, Any] = {"file": FILE, "number": float, "text": str}


@dataclass(frozen=True, slots=True)
class Setting:
    """A value that can be set once for all commands.

    ``name`` is its key in the config file; a ``file`` is relative to that. The error for a missing
    value asks the ``question`` and shows the TOML ``example``.
    """

    name: str
    flag: str
    kind: Literal["text", "file", "number"]
    question: str
    example: str
    default: str | float | None = None

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"FAMILY_RECALL_{self.name.upper()}"


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("db", "--db", "file", "which household", '"family.db"'),
        Setting("key_file", "--key-file", "file", "which key", '"family.key"'),
        Setting("person", "--person", "text", "who asks", '"alice"'),
        Setting("space", "--space", "text", "in which space", '"shared:household"'),
        Setting("budget_ms", "--budget-ms", "number", "in what time", "60", BUDGET_MS),
        Setting("profile", "--profile", "text", "by which weights", '"default"', "default"),
    )
}


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A config file and its values; a missing file has none."""

    path: Path
    values: Mapping[str, str | float]
    exists: bool


class SettingOption(click.Option):
    """An option that falls back to the root group's option, the environment and the config file.

    A ``needed`` one that is set nowhere is a usage error.
    """

    def __init__(self, *args: Any, setting: str, needed: bool = False, **kwargs: Any) -> None:
        self.setting = SETTINGS[setting]

        def check(ctx: click.Context, _: click.Parameter, value: Any) -> Any:
            skips = not needed or ctx.resilient_parsing
            return value if skips else require(ctx, value, self.setting)

        super().__init__(*args, envvar=self.setting.variable, callback=check, **kwargs)

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, ParameterSource]:
        """Return the value and its source."""
        value, source = super().consume_value(ctx, opts)
        root, name = ctx.find_root(), self.setting.name
        if source is ParameterSource.COMMANDLINE or ctx is root:
            return value, source
        if root.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            return root.params[name], ParameterSource.COMMANDLINE
        if source is ParameterSource.DEFAULT and not ctx.resilient_parsing:
            configured = config_file(ctx).values
            if name in configured:
                return configured[name], ParameterSource.DEFAULT_MAP
        return value, source

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Name every place that a wrong value may come from."""
        setting = self.setting
        return f"{super().get_error_hint(ctx)}, {setting.variable} or {setting.name} as configured"


def setting_option(name: str, *flags: str, **attrs: Any) -> Callable[[_F], _F]:
    """Return the option of a setting; ``flags`` replace the setting's own."""
    setting = SETTINGS[name]
    attrs = {"type": _TYPES[setting.kind], "metavar": METAVARS[setting.kind], **attrs}
    return click.option(*(flags or (setting.flag, name)), cls=SettingOption, setting=name, **attrs)


_DB_HELP = "the household's file (default: FAMILY_RECALL_DB, or as configured)"
required_db_option = setting_option("db", needed=True, help=_DB_HELP)
db_option = setting_option("db", help=_DB_HELP)
profile_option = setting_option(
    "profile",
    default=SETTINGS["profile"].default,
    metavar="NAME",
    help=f"{CONTEXT_FIELDS['profile'].help}: {_PROFILES} (default: as configured, or default)",
)


def space_option(
    help_text: str = CONTEXT_FIELDS["space_id"].help,
    *,
    default_text: str = CONTEXT_FIELDS["space_id"].absent,
    **attrs: Any,
) -> Callable[[_F], _F]:
    """Return the option of the space."""
    help_text = f"{help_text} (default: as configured, or {default_text})"
    return setting_option("space", "--space", "space_id", help=help_text, **attrs)


storage_space_option = space_option(
    MEMORY_FIELDS["space_id"].help, default_text=DEFAULT_SPACE, default=DEFAULT_SPACE
)
"""The option of the space to store in."""


def person_option(
    help_text: str = CONTEXT_FIELDS["person_id"].help, *, needed: bool = False
) -> Callable[[_F], _F]:
    """Return the option of the person who asks."""
    stranger = "" if needed else f", or {CONTEXT_FIELDS['person_id'].absent}"
    help_text = f"{help_text} (default: as configured{stranger})"
    return setting_option("person", "--person", "person_id", needed=needed, help=help_text)


def budget_option(default_ms: float = BUDGET_MS) -> Callable[[_F], _F]:
    """Return the option of the time budget."""
    return setting_option(
        "budget_ms",
        *("--budget-ms", "time_budget_ms"),
        default=default_ms,
        help=f"{CONTEXT_FIELDS['time_budget_ms'].help} (default: as configured, or {default_ms:g})",
    )


def require(ctx: click.Context, value: _T | None, setting: Setting = SETTINGS["db"]) -> _T:
    """Return a value; raise a usage error if it is None."""
    if value is None:
        raise click.UsageError(
            f"{setting.question}? Give {setting.flag} {METAVARS[setting.kind]}, set "
            f"{setting.variable}, or write {setting.name} = {setting.example} in "
            f"{config_path(ctx)}",
            ctx,
        )
    return value


def config_path(ctx: click.Context) -> Path:
    """Return the path of --config, of FAMILY_RECALL_CONFIG, or of the user's own config file."""
    named = _named_config(ctx)
    return Path(named) if named else Path(click.get_app_dir("family-recall")) / "config.toml"


def _named_config(ctx: click.Context) -> str | None:
    return ctx.find_root().params.get("config") or os.environ.get(CONFIG_VARIABLE) or None


def config_file(ctx: click.Context) -> ConfigFile:
    """Read the config file; the user's own may be missing."""
    path = config_path(ctx)
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
        values = {name: _configured(path, name, value) for name, value in record.items()}
        return ConfigFile(path, values, exists=True)
    except FileNotFoundError:
        if _named_config(ctx) is None:
            return ConfigFile(path, {}, exists=False)
        problem = f"no such config file; make it, or leave out --config and {CONFIG_VARIABLE}"
    except OSError as error:
        problem = f"the config file cannot be read ({error.strerror}); fix that, or name another "
        problem += "with --config"
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problem = f'expected TOML such as person = "alice", got: {error}; fix that line'
    raise click.ClickException(f"{path}: {problem}")


def _configured(path: Path, name: str, value: object) -> str | float:
    if name not in SETTINGS:
        raise click.ClickException(
            f"{path}: unknown key {name!r}; expected one of {', '.join(SETTINGS)}: correct it, or "
            "remove it"
        )
    setting = SETTINGS[name]
    if setting.kind == "number" and is_number(value):
        return float(value)
    if setting.kind != "number" and isinstance(value, str) and value.strip():
        return str(path.parent / Path(value).expanduser()) if setting.kind == "file" else value
    expected = "a number" if setting.kind == "number" else "a text that is not empty"
    raise click.ClickException(
        f"{path}: expected {name} to be {expected}, such as {name} = {setting.example}, "
        f"got {value!r}"
    )

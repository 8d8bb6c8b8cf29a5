"""Settings: what an option, the environment or the config file says in; what is in effect out.

An option comes before a variable FAMILY_RECALL_…, that before the config file, that before the
default.
"""

from __future__ import annotations

import dataclasses
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_F = TypeVar("_F", bound="Callable[..., Any]")
_T = TypeVar("_T")
Source = Literal["option", "environment", "file", "default"]

CONFIG_VARIABLE = "FAMILY_RECALL_CONFIG"
BUDGET_MS = 60.0
METAVARS = {"file": "FILE", "number": "MS", "text": "ID"}
_SOURCES = {"environment": ParameterSource.ENVIRONMENT, "file": ParameterSource.DEFAULT_MAP}
_PATH = click.Path(dir_okay=False, path_type=Path)


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """What may be said once instead of with every command.

    Args:
        name: Its key in the config file.
        flag: Its option.
        kind: ``text``, ``file`` (relative to the config file, where it stands there) or ``number``.
        asks: The question that a missing one leaves open.
        example: A value as TOML writes it.
        default: Taken where nobody says anything; None where there is none.
    """

    name: str
    flag: str
    kind: Literal["text", "file", "number"]
    asks: str
    example: str
    default: str | float | None = None

    @property
    def variable(self) -> str:
        """The variable of the environment."""
        return f"FAMILY_RECALL_{self.name.upper()}"


SETTINGS = {
    one.name: one
    for one in (
        Setting("db", "--db", "file", "which household", '"family.db"'),
        Setting("key_file", "--key-file", "file", "which key", '"family.key"'),
        Setting("person", "--person", "text", "who asks", '"alice"'),
        Setting("space", "--space", "text", "in which space", '"shared:household"'),
        Setting("budget_ms", "--budget-ms", "number", "in what time", "60", BUDGET_MS),
        Setting("profile", "--profile", "text", "by which weights", '"default"', "default"),
    )
}


@dataclasses.dataclass(frozen=True, slots=True)
class InEffect:
    """A setting's value, None for none, and who says so."""

    value: Any
    source: Source


@dataclasses.dataclass(frozen=True, slots=True)
class ConfigFile:
    """A config file and what it sets; one that is not there sets nothing."""

    path: Path
    values: Mapping[str, str | float]
    exists: bool


class SettingOption(click.Option):
    """An option that the group's own, the environment or the config file may say instead.

    One that is ``needed`` is a usage error where nobody says it, and the error names all ways.
    """

    def __init__(self, *args: Any, setting: str, needed: bool = False, **kwargs: Any) -> None:
        self.setting = SETTINGS[setting]
        self.needed = needed
        super().__init__(*args, envvar=self.setting.variable, callback=_checked, **kwargs)

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, ParameterSource]:
        """Take what stands on the command line, or else what is in effect without it."""
        value, source = super().consume_value(ctx, opts)
        if source is ParameterSource.COMMANDLINE:
            return value, source
        found = in_effect(ctx, self.setting)
        if found.source == "option":
            return found.value, ParameterSource.COMMANDLINE
        if found.source != "default":
            return found.value, _SOURCES[found.source]
        return value, ParameterSource.DEFAULT

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Name all that may have said what cannot be meant."""
        one = self.setting
        return f"{super().get_error_hint(ctx)}, {one.variable} or {one.name} as configured"


def _checked(ctx: click.Context, option: click.Parameter, value: Any) -> Any:
    assert isinstance(option, SettingOption)  # noqa: S101 -- it is its callback
    if option.needed and not ctx.resilient_parsing:
        return needed(ctx, value, option.setting)
    return value


def setting(name: str, *flags: str, **about: Any) -> Callable[[_F], _F]:
    """Give an option that stands for a setting; ``flags`` are its own where none are given."""
    one = SETTINGS[name]
    kinds: dict[str, Any] = {"file": _PATH, "number": float, "text": str}
    about = {"type": kinds[one.kind], "metavar": METAVARS[one.kind], **about}
    return click.option(*(flags or (one.flag, name)), cls=SettingOption, setting=name, **about)


_DB_HELP = "the household's file (default: FAMILY_RECALL_DB, or as configured)"
db_option = setting("db", needed=True, help=_DB_HELP)
maybe_db_option = setting("db", help=_DB_HELP)
space_option = setting(
    "space",
    *("--space", "space_id"),
    help="where it is asked (default: as configured, or every space the person sees)",
)
budget_option = setting(
    "budget_ms",
    *("--budget-ms", "time_budget_ms"),
    default=BUDGET_MS,
    help="time allowed once models are loaded; slow stages are skipped past it "
    "(default: as configured, or 60)",
)
profile_option = setting(
    "profile",
    default="default",
    metavar="NAME",
    help="weights to rank with: default, family_os, annie, three_tier, ppr or neural "
    "(default: as configured, or default)",
)


def person_option(
    help_text: str = "who asks (default: as configured, or a stranger)", *, needed: bool = False
) -> Callable[[_F], _F]:
    """Give the option that says who asks."""
    return setting("person", "--person", "person_id", needed=needed, help=help_text)


def needed(ctx: click.Context, value: _T | None, one: Setting = SETTINGS["db"]) -> _T:
    """Give a value that there has to be.

    Raises:
        UsageError: If there is none; it names all the ways to give one.
    """
    if value is None:
        raise click.UsageError(
            f"{one.asks}? Give {one.flag} {METAVARS[one.kind]}, set {one.variable}, or write "
            f"{one.name} = {one.example} in {config_path(ctx)}",
            ctx,
        )
    return value


def in_effect(ctx: click.Context, one: Setting) -> InEffect:
    """Say what is in effect where a command itself was given nothing.

    Raises:
        ClickException: If the config file cannot be meant.
    """
    root = ctx.find_root()
    if root.get_parameter_source(one.name) is ParameterSource.COMMANDLINE:
        return InEffect(root.params[one.name], "option")
    if said := os.environ.get(one.variable):
        return InEffect(said, "environment")
    if not ctx.resilient_parsing and one.name in (values := config_file(ctx).values):
        return InEffect(values[one.name], "file")
    return InEffect(one.default, "default")


def config_path(ctx: click.Context) -> Path:
    """Give the config file: --config, FAMILY_RECALL_CONFIG, or the one of this user."""
    said = _said_config(ctx)
    return Path(said) if said else Path(click.get_app_dir("family-recall")) / "config.toml"


def config_file(ctx: click.Context) -> ConfigFile:
    """Read the config file, once a call; one that nobody named may be missing.

    Raises:
        ClickException: If it is named and missing, is no TOML, or sets what there is not.
    """
    key = f"{__name__}.config"
    if key not in ctx.meta:
        ctx.meta[key] = read_config(config_path(ctx), named=_said_config(ctx) is not None)
    found: ConfigFile = ctx.meta[key]
    return found


def read_config(path: Path, *, named: bool) -> ConfigFile:
    """Read a config file; ``named`` means that somebody asked for this one.

    Raises:
        ClickException: See :func:`config_file`.
    """
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if named:
            raise click.ClickException(
                f"{path}: no such config file; make it, or leave --config and {CONFIG_VARIABLE} out"
            ) from None
        return ConfigFile(path, {}, exists=False)
    except OSError as error:
        raise click.ClickException(
            f"{path}: the config file cannot be read ({error.strerror}); mend it, or name another "
            "with --config"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.ClickException(
            f'{path}: expected TOML such as person = "alice", got: {error}; mend that line'
        ) from None
    return ConfigFile(
        path, {name: _value(path, name, value) for name, value in record.items()}, exists=True
    )


def _value(path: Path, name: str, value: object) -> str | float:
    """Give a config file's value as an option would be given it."""
    if name not in SETTINGS:
        raise click.ClickException(
            f"{path}: unknown key {name!r}; expected one of {', '.join(SETTINGS)}: correct it, or "
            "take it out"
        )
    one = SETTINGS[name]
    if one.kind == "number":
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        wanted = "a number"
    elif isinstance(value, str) and value.strip():
        return str(path.parent / Path(value).expanduser()) if one.kind == "file" else value
    else:
        wanted = "a text that says something"
    raise click.ClickException(
        f"{path}: expected {name} to be {wanted}, such as {name} = {one.example}, got {value!r}"
    )


def _said_config(ctx: click.Context) -> str | None:
    return ctx.find_root().params.get("config") or os.environ.get(CONFIG_VARIABLE) or None

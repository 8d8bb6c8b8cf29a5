"""Options that several commands share, and options made from field specs."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from family_recall.types import Region
    from family_recall.types.fields import FieldSpec

_F = TypeVar("_F", bound="Callable[..., Any]")

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)

FLAGS = {
    "doc_id": "--id",
    "occurred_at": "--at",
    "session_id": "--session",
    "focus_event_id": "--focus",
    "kinds": "--kind",
    "authors": "--author",
    "labels": "--label",
    "sources": "--source",
    "allow_cross_encoder": "--rerank/--no-rerank",
    "allow_shared": "--shared/--no-shared",
}
"""Flags that differ from the name of their field."""


class MomentInWords(str):
    """A moment in words, such as *yesterday*; the household's place is needed to read it."""

    __slots__ = ()

    def moment(
        self, zone: dt.tzinfo, region: Region, *, name: str = "", now: dt.datetime | None = None
    ) -> dt.datetime:
        """Return the start of a day, or the middle of a shorter span, counted from ``now``.

        ``name`` is the option. An option for future moments reads *Friday* as the next Friday,
        which is a week away on a Friday.
        """
        from family_recall.api import understanding  # noqa: PLC0415 -- help needs no grammar

        now = now or dt.datetime.now(zone)
        hemisphere: Literal["north", "south"] = "south" if region.hemisphere == "south" else "north"
        place: dict[str, Any] = {"country": region.country, "hemisphere": hemisphere}
        times = understanding.times_mentioned(self, said_at=now, coming=True, **place)
        in_future = name in _FUTURE and times
        span = times[0] if in_future else understanding.find_timespan(self, now=now, **place)
        if span is None or span.start is None:
            raise click.BadParameter(
                f"{str(self)!r} is no moment; write an ISO day or moment such as 2026-03-01T18:30, "
                "or words such as 'yesterday' or 'last Tuesday at 6 pm'",
                param_hint=flag_of(name),
            )
        start, end = span.start, span.end
        if name == "expires" and end is not None and end <= now:
            over = f"{str(self)!r} is over; write a day to come, such as 'friday'"
            raise click.BadParameter(over, param_hint=flag_of(name))
        if end is None or end - start > dt.timedelta(hours=12):
            return start
        return start + (end - start) / 2


def flag_of(name: str) -> str | None:
    """Return the running command's flag or metavar for a parameter; None for an unknown one."""
    for parameter in click.get_current_context().command.params:
        if parameter.name == name:
            is_option = isinstance(parameter, click.Option)
            return max(parameter.opts, key=len) if is_option else parameter.human_readable_name
    return None


def moment(value: str) -> dt.datetime | MomentInWords:
    """Read an ISO 8601 day or moment; keep anything else as words."""
    try:
        return dt.datetime.fromisoformat(value)
    except ValueError:
        return MomentInWords(value)


def read_moments(options: dict[str, Any], zone: dt.tzinfo, region: Region) -> dict[str, Any]:
    """Return a command's options with moments in words read in the household's place."""
    return {
        name: value.moment(zone, region, name=name) if isinstance(value, MomentInWords) else value
        for name, value in options.items()
    }


_FUTURE = frozenset(("expires", "valid_until"))
"""Options whose moment usually lies in the future."""


_TYPES: Mapping[str, Any] = {
    **dict.fromkeys(("FILE", "FILE.json", "FILE.html"), FILE),
    "DIR": FOLDER,
    "WHEN": moment,
    "N": int,
    **dict.fromkeys(("MS", "NUMBER"), float),
}
"""Option types by metavar; any other is a text."""


def option(
    flags: str,
    metavar: str | Sequence[str],
    help_text: str,
    *,
    name: str | None = None,
    absent: str | None = None,
    **attrs: Any,
) -> Callable[[_F], _F]:
    """Return an option with a value; its help ends with the default.

    Args:
        flags: One flag, or several separated by commas.
        metavar: The placeholder, which sets the type; or the choices.
        help_text: The help without the default.
        name: The function's argument; by default made from the flag.
        absent: The effect of leaving the option out, in words; by default ``default``.
        attrs: Other arguments of ``click.option``.
    """
    default = attrs.get("default")
    if absent is None and default is not None:
        absent = f"{default:g}" if isinstance(default, float) else str(default)
    repeat = "; repeat" if attrs.get("multiple") else ""
    default_text = f" (default: {absent})" if absent else ""
    if isinstance(metavar, str):
        attrs = {"type": _TYPES.get(metavar, str), "metavar": metavar, **attrs}
    else:
        attrs["type"] = click.Choice(metavar)
    names = [*flags.split(", "), *([name] if name else [])]
    return click.option(*names, help=f"{help_text}{repeat}{default_text}", **attrs)


def field_option(spec: FieldSpec, absent: str | None = None) -> Callable[[_F], _F]:
    """Return the option that sets a field.

    With ``absent``, the effect of leaving it out in words, the option has no default.
    """
    flag = FLAGS.get(spec.name, f"--{spec.name.replace('_', '-')}")
    if spec.type == "flag":
        default = "yes" if spec.default else "no"
        help_text = f"{spec.help} (default: {default})"
        return click.option(flag, spec.name, is_flag=True, default=spec.default, help=help_text)
    attrs: dict[str, Any] = {
        "shell_complete": lambda *call: [c for c in spec.choices if c.startswith(call[-1])]
    }
    if spec.type == "texts":
        attrs["multiple"] = True
    elif absent is None and spec.default is not None:
        attrs["default"] = spec.default
    else:
        absent = absent or spec.absent
    return option(flag, _metavar(spec), spec.sentence(), name=spec.name, absent=absent, **attrs)


def field_options(specs: Iterable[FieldSpec], absent: str | None = None) -> Callable[[_F], _F]:
    """Return the options of several fields, in that order."""

    def add(function: _F) -> _F:
        for spec in reversed(list(specs)):
            function = field_option(spec, absent)(function)
        return function

    return add


def _metavar(spec: FieldSpec) -> str:
    if spec.choices:
        return spec.name.removesuffix("s").replace("service_class", "class").upper()
    if spec.unit:
        return spec.unit.upper()
    if spec.name.endswith(("_id", "author", "authors", "_of", "session")):
        return "ID"
    return {"moment": "WHEN", "integer": "N", "number": "NUMBER"}.get(spec.type, "TEXT")


models_option = option(
    "--models",
    "DIR",
    "the models folder",
    name="folder",
    absent="FAMILY_RECALL_MODELS, or your own models and the shipped",
)

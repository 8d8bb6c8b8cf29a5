"""Options derive from the descriptions of fields."""

from __future__ import annotations

import datetime as dt

import click
import pytest

from family_recall.apps.cli import main
from family_recall.apps.cli.options import FLAGS, MomentInWords, field_options
from family_recall.apps.cli.recall import BY_SETTING
from family_recall.types import FIXED, Region
from family_recall.types.fields import FieldSpec
from family_recall.types.memory import MEMORY_FIELDS
from family_recall.types.request import CONTEXT_FIELDS, FILTER_FIELDS

MOOD = FieldSpec(name="mood", type="text", help="how they felt", choices=("glad", "sad"))
WEIGHTS = FieldSpec(name="weight_kg", type="number", help="how heavy it is", minimum=0, maximum=9)
BY_HAND = {"space_id", "author", "person_id", "text", *BY_SETTING}
"""Fields with an argument, or with an option that is a setting, too."""


def options(command: click.Command) -> dict[str, click.Option]:
    """Return a command's options by name."""
    return {str(o.name): o for o in command.params if isinstance(o, click.Option)}


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("add", set(MEMORY_FIELDS)),
        ("correct", set(MEMORY_FIELDS) - set(FIXED) | {"space_id"}),
        *((words, {*CONTEXT_FIELDS, *FILTER_FIELDS}) for words in
          ("recall", "timeline", "explain", "inspect")),
    ],
)  # fmt: skip
def test_every_field_has_an_option(words: str, fields: set[str]) -> None:
    """A field that is described can be set, and its help is the description's."""
    specs = MEMORY_FIELDS if words in {"add", "correct"} else {**CONTEXT_FIELDS, **FILTER_FIELDS}
    command = main.commands[words]
    by_name = options(command)

    assert fields <= {param.name for param in command.params}
    for name in fields - BY_HAND:
        option = by_name[name]
        assert (option.help or "").startswith(specs[name].help)
        assert option.opts[0] == FLAGS.get(name, f"--{name.replace('_', '-')}").split("/")[0]


def test_a_new_field_is_an_option_at_once() -> None:
    """Flag, type, choices, bounds and default come from the description alone."""

    @click.command()
    @field_options([MOOD, WEIGHTS])
    def command(**_: object) -> None:
        """Do nothing with two fields."""

    made = options(command)
    context = command.make_context("command", ["--mood", "glad", "--weight-kg", "3"])

    assert context.params == {"mood": "glad", "weight_kg": 3.0}
    assert made["mood"].help == "how they felt: glad or sad (default: none)"
    assert made["weight_kg"].help == "how heavy it is, 0 to 9 (default: none)"
    assert made["mood"].shell_complete(context, "s")[0].value == "sad"


@pytest.mark.parametrize("day", range(23, 30))
@pytest.mark.parametrize("hour", [0, 12, 23])
@pytest.mark.parametrize("words", ["Friday", "on friday"])
def test_a_weekday_ahead_is_the_coming_one_on_any_day(words: str, day: int, hour: int) -> None:
    """*Until Friday* is 27 November 2026 up to the 26th, and 4 December from that Friday on."""
    now = dt.datetime(2026, 11, day, hour, tzinfo=dt.UTC)
    coming = dt.datetime(2026, 11, 27) if day < 27 else dt.datetime(2026, 12, 4)  # noqa: DTZ001

    moment = MomentInWords(words).moment(dt.UTC, Region(), name="expires", now=now)

    assert moment.replace(tzinfo=None) == coming


@pytest.mark.parametrize(("hour", "day"), [(9, 27), (12, 27), (17, 27), (19, 34), (23, 34)])
def test_an_hour_ahead_is_today_until_it_is_over(hour: int, day: int) -> None:
    """*Until Friday at 6 pm*, asked on Friday 27 November 2026, is that evening or a week later."""
    now = dt.datetime(2026, 11, 27, hour, tzinfo=dt.UTC)
    coming = dt.datetime(2026, 11, 1, 18, tzinfo=dt.UTC) + dt.timedelta(days=day - 1)

    for words in ("Friday at 6 pm", "on friday at 18:00"):
        assert MomentInWords(words).moment(dt.UTC, Region(), name="valid_until", now=now) == coming

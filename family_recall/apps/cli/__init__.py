"""The command line: arguments in, one call of the library, readable text or JSON out."""

from __future__ import annotations

from pathlib import Path

import click

from family_recall import __version__
from family_recall.apps.cli.command import CommandOrQuestion
from family_recall.apps.cli.configuration import completion, config
from family_recall.apps.cli.erasure import forget, forgotten, retention, undo
from family_recall.apps.cli.evaluation import bench, compare, evaluate
from family_recall.apps.cli.fleet import fleet
from family_recall.apps.cli.imports import import_, sources
from family_recall.apps.cli.learning import audit, feedback, learned, unlearn
from family_recall.apps.cli.maintenance import (
    backup,
    doctor,
    export,
    migrate,
    rebuild,
    reembed,
    rekey,
    restore,
    stats,
)
from family_recall.apps.cli.memories import add, correct, relate, unrelate
from family_recall.apps.cli.models import models
from family_recall.apps.cli.options import option
from family_recall.apps.cli.people import grant, guardian, hide, init, people, revoke, spaces
from family_recall.apps.cli.prompt import prompt
from family_recall.apps.cli.recall import explain, inspect, recall, timeline, understand
from family_recall.apps.cli.serve import browse, demo, mcp
from family_recall.apps.cli.settings import setting_option

__all__ = ["main"]


@click.group(cls=CommandOrQuestion, context_settings={"max_content_width": 100})
@click.version_option(__version__, message="%(version)s")
@option(
    "--db",
    "FILE",
    "the household's file, as every command takes it",
    absent="FAMILY_RECALL_DB, or as configured",
)
@setting_option(
    "key_file",
    help="what the household is encrypted with: 32 random bytes, or a passphrase on one line"
    " (default: FAMILY_RECALL_KEY_FILE, or as configured, or not encrypted)",
)
@option(
    "--config",
    "FILE",
    "TOML with db, key_file, person, space, budget_ms or profile",
    absent="FAMILY_RECALL_CONFIG, or your own, if it is there: see config",
)
def main(**_: Path | None) -> None:
    """Find the right memory for a family's question, on this device, and say why.

    Anything with a space or a final "?" that is not a command is treated as a question and
    recalled, and so is anything after "--"; family-recall alone opens a prompt, at a terminal.
    Nothing leaves this machine.

    An option comes before FAMILY_RECALL_DB, _PERSON, _SPACE, _BUDGET_MS, _PROFILE and _KEY_FILE of
    the environment, these before the config file, and that before the default.

    MEMORY_ID is an id, or the beginning of one that no other memory you can see has.

    The exit code is 0 also where nothing was found; 1 after an error, 2 after a wrong call, 130
    after Ctrl-C.

    Examples:
      family-recall init --db family.db --person alice
      family-recall "when does grandma land?" --db family.db --person alice
    """


for _command in (
    *(init, people, spaces, grant, revoke, guardian, hide, audit),
    *(add, correct, import_, sources, relate, unrelate),
    *(recall, prompt, timeline, explain, inspect, understand, stats),
    *(feedback, learned, unlearn),
    *(forget, undo, forgotten, retention),
    *(doctor, backup, restore, export, migrate, rebuild, reembed, rekey),
    *(browse, mcp, models, bench, evaluate, compare, fleet, demo),
    *(config, completion),
):
    main.add_command(_command)

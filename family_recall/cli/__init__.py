"""The command line: arguments in, one call of the library, readable text or JSON out."""

from __future__ import annotations

from pathlib import Path

import click

from family_recall import __version__
from family_recall.cli.asking import explain, recall, understand
from family_recall.cli.audit import audit
from family_recall.cli.base import CommandOrQuestion
from family_recall.cli.benching import bench
from family_recall.cli.browsing import browse
from family_recall.cli.care import backup, doctor, export, restore
from family_recall.cli.configuring import completion, config
from family_recall.cli.evaluating import compare, demo, evaluate
from family_recall.cli.forgetting import forget, forgotten, undo
from family_recall.cli.granting import grant, guardian, hide, revoke
from family_recall.cli.importing import import_
from family_recall.cli.inspecting import inspect
from family_recall.cli.keeping import add, stats
from family_recall.cli.learning import feedback, learned, unlearn
from family_recall.cli.mending import correct, unrelate
from family_recall.cli.models import models
from family_recall.cli.people import init, people, spaces
from family_recall.cli.relating import relate
from family_recall.cli.renewing import migrate, rebuild, reembed, rekey
from family_recall.cli.retaining import retention
from family_recall.cli.serving import mcp
from family_recall.cli.telling import timeline

__all__ = ["main"]

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group(
    cls=CommandOrQuestion,
    examples=(
        "family-recall init --db family.db --person alice",
        'family-recall "when does grandma land?" --db family.db --person alice',
    ),
    context_settings={"max_content_width": 100},
)
@click.version_option(__version__, message="%(version)s")
@click.option(
    "--db",
    type=_FILE,
    metavar="FILE",
    help="the household's file, as every command takes it (default: FAMILY_RECALL_DB, or as "
    "configured)",
)
@click.option(
    "--key-file",
    type=_FILE,
    metavar="FILE",
    help="what the household is encrypted with: 32 random bytes, or a passphrase on one line "
    "(default: FAMILY_RECALL_KEY_FILE, or as configured, or not encrypted)",
)
@click.option(
    "--config",
    type=_FILE,
    metavar="FILE",
    help="TOML with db, key_file, person, space, budget_ms or profile (default: "
    "FAMILY_RECALL_CONFIG, or your own, if it is there: see config)",
)
def main(**_: Path | None) -> None:
    """Find the right memory for a family's question, on this device, and say why.

    What is no command but has a blank in it or ends in "?" is a question, and so is what comes
    after "--": it is recalled. Nothing leaves this machine.

    What an option says comes before FAMILY_RECALL_DB, _PERSON, _SPACE, _BUDGET_MS, _PROFILE and
    _KEY_FILE of the environment, these before the config file, and that before the default.

    The exit code is 0 also where nothing was found; 1 after an error, 2 after a wrong call, 130
    after Ctrl-C.
    """


for _command in (
    *(init, people, spaces, grant, revoke, guardian, hide, audit),
    *(add, correct, import_, relate, unrelate),
    *(recall, timeline, explain, inspect, understand, stats),
    *(feedback, learned, unlearn),
    *(forget, undo, forgotten, retention),
    *(doctor, backup, restore, export, migrate, rebuild, reembed, rekey),
    *(browse, mcp, models, bench, evaluate, compare, demo),
    *(config, completion),
):
    main.add_command(_command)

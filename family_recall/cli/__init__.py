"""The command line: arguments in, one call of the library, readable text or JSON out."""

from __future__ import annotations

from pathlib import Path

import click

from family_recall import __version__
from family_recall.cli.asking import explain, recall, understand
from family_recall.cli.audit import audit
from family_recall.cli.base import ErrorsInOneLine
from family_recall.cli.care import backup, doctor, export, migrate, reembed, rekey, restore
from family_recall.cli.evaluating import compare, demo, evaluate
from family_recall.cli.forgetting import forget, forgotten, retention
from family_recall.cli.importing import import_
from family_recall.cli.inspecting import inspect
from family_recall.cli.keeping import add, stats
from family_recall.cli.learning import feedback, learned, unlearn
from family_recall.cli.models import models
from family_recall.cli.people import grant, guardian, hide, init, person, revoke, space
from family_recall.cli.serving import mcp

__all__ = ["main"]


@click.group(
    cls=ErrorsInOneLine,
    examples=(
        "family-recall init family.db --person alice",
        'family-recall recall family.db "when does grandma land?" --person alice',
    ),
    context_settings={"max_content_width": 100},
)
@click.version_option(__version__, message="%(version)s")
@click.option(
    "--key-file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="FAMILY_RECALL_KEY_FILE",
    metavar="FILE",
    help="what DB is encrypted with: 32 random bytes, or a passphrase on one line "
    "(default: FAMILY_RECALL_KEY_FILE, or not encrypted)",
)
def main(key_file: Path | None) -> None:
    """Find the right memory for a family's question, on this device, and say why.

    A household is one file, DB. Nothing leaves this machine.
    """
    del key_file  # read where a household is opened


for _command in (
    *(init, person, space, grant, revoke, guardian, hide, audit),
    *(add, import_, recall, explain, inspect, understand, stats),
    *(feedback, learned, unlearn),
    *(forget, forgotten, retention),
    *(doctor, backup, restore, export, migrate, reembed, rekey),
    *(mcp, models, evaluate, compare, demo),
):
    main.add_command(_command)

"""The command line: arguments in, one call of the library, readable text or JSON out."""

from __future__ import annotations

import click

from family_recall import __version__
from family_recall.cli.asking import explain, recall, understand
from family_recall.cli.base import ErrorsInOneLine
from family_recall.cli.evaluating import compare, demo, evaluate
from family_recall.cli.importing import import_
from family_recall.cli.keeping import add, stats
from family_recall.cli.learning import feedback, learned, unlearn
from family_recall.cli.models import models
from family_recall.cli.people import grant, init, person, space

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
def main() -> None:
    """Find the right memory for a family's question, on this device, and say why.

    A household is one file, DB. Nothing leaves this machine.
    """


for _command in (
    *(init, person, space, grant, add, import_, recall, explain, understand, stats),
    *(feedback, learned, unlearn),
    *(models, evaluate, compare, demo),
):
    main.add_command(_command)

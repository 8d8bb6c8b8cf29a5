"""Browsing: ``browse``, pages to look through a household's memory and to mend it."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import webbrowser
from pathlib import Path

import click

import family_recall as fr
from family_recall.cli.base import WithExamples, existing
from family_recall.cli.serving import of_extra
from family_recall.cli.settings import db_option, person_option, setting

BUDGET_MS = 500.0


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall browse --person alice --db family.db",
        "family-recall browse --person alice --read-only --no-open --port 8788",
    ),
)
@db_option
@person_option("who looks, and what they may see and mend (default: as configured)", needed=True)
@click.option("--read-only", is_flag=True, help="leave out all that changes anything")
@setting(
    "budget_ms",
    *("--budget-ms", "time_budget_ms"),
    default=BUDGET_MS,
    help="time allowed a question; slow stages are skipped past it "
    "(default: as configured, or 500)",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    metavar="N",
    help="where to listen, 0 for any free port (default: 0)",
)
@click.option("--no-open", is_flag=True, help="say the link, and open no browser")
def browse(
    db: Path, person_id: str, read_only: bool, time_budget_ms: float, port: int, no_open: bool
) -> None:
    """Look through a household's memory in the browser, as one person, and mend it.

    Pages for this machine alone, until Ctrl-C. The link opens them once, in one browser.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 -- help needs none

    browsing = of_extra("web", "browse")
    ctx = fr.RecallContext(person_id=person_id, time_budget_ms=time_budget_ms)

    def ready(link: str) -> None:
        click.echo(f"open {link}", err=True)
        if not no_open:
            # A browser in the terminal would keep the server waiting.
            threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()

    with existing(db) as home, ThreadPoolExecutor(1) as warming:
        home.understand("", ctx)  # refuses who is unknown
        warming.submit(home.warmup)
        # The file is closed on being told to stop, too.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        with contextlib.suppress(KeyboardInterrupt):
            browsing.serve(browsing.Reader(home=home, ctx=ctx, read_only=read_only), port, ready)

"""Serving other programs: ``mcp``."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from pathlib import Path
from types import ModuleType

import click

import family_recall as fr
from family_recall.cli.base import WithExamples, existing
from family_recall.cli.settings import db_option, person_option, setting

BUDGET_MS = 500.0
PORT = 8787
TOKEN_VARIABLE = "FAMILY_RECALL_TOKEN"  # noqa: S105 - the name of a variable, not a token


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall mcp --person alice --db family.db",
        "family-recall mcp --person alice --read-only --http --port 8787",
    ),
)
@db_option
@person_option("who asks, whatever the model says (default: as configured)", needed=True)
@setting(
    "space",
    *("--space", "space_id"),
    help="where it is asked and where new memories go (default: as configured, or every space the "
    "person sees, and the person's own)",
)
@click.option("--read-only", is_flag=True, help="leave out the tools that write")
@setting(
    "budget_ms",
    *("--budget-ms", "time_budget_ms"),
    default=BUDGET_MS,
    help="time allowed a question; slow stages are skipped past it "
    "(default: as configured, or 500)",
)
@click.option("--http", is_flag=True, help="serve HTTP on 127.0.0.1 instead of standard input")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    metavar="N",
    help=f"with --http: where to listen, 0 for any free port (default: {PORT})",
)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help=f"with --http: holds the token requests must carry (default: ${TOKEN_VARIABLE}, or a "
    "new one, said on stderr)",
)
def mcp(
    db: Path,
    person_id: str,
    space_id: str | None,
    read_only: bool,
    time_budget_ms: float,
    http: bool,
    port: int | None,
    token_file: Path | None,
) -> None:
    """Let a program that speaks MCP recall and remember as one person.

    Over standard input and output; or over HTTP, for this machine alone and with a token.
    """
    if not http and (port is not None or token_file is not None):
        raise click.UsageError("--port and --token-file need --http")
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 -- help needs none

    server = of_extra("mcp", "mcp")
    ctx = fr.RecallContext(person_id=person_id, space_id=space_id, time_budget_ms=time_budget_ms)
    known = known_token(token_file) if http else None
    token = known or server.new_token()

    def ready(url: str) -> None:
        click.echo(f"listening on {url}", err=True)
        if known is None:
            click.echo(f"token {token}", err=True)

    with existing(db) as home, ThreadPoolExecutor(1) as warming:
        home.understand("", ctx)  # refuses who is unknown, and a space they may not enter
        # The other program is greeted at once; what it asks meanwhile is answered without a model.
        warming.submit(home.warmup)
        served = server.build(home, ctx, read_only=read_only)
        # The file is closed on being told to stop, too.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        with contextlib.suppress(KeyboardInterrupt):
            if http:
                server.serve_http(served, token, PORT if port is None else port, ready)
            else:
                server.serve_stdio(served)


def of_extra(name: str, extra: str) -> ModuleType:
    """Import a package of ours that needs an extra, or say how to add that."""
    try:
        # Half a second, and help needs none of it.
        return importlib.import_module(f"family_recall.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("family_recall"):
            raise
        raise click.ClickException(
            f"{error.name} is not installed; add it with: pip install 'family-recall[{extra}]'"
        ) from None


def known_token(file: Path | None) -> str | None:
    """Give the token of the file, or else of the environment, if there is one."""
    if file is not None:
        return file.read_text(encoding="utf-8").strip()
    return os.environ.get(TOKEN_VARIABLE, "").strip() or None

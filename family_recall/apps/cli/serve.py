"""Serve a household to other programs and to the browser: ``mcp``, ``browse`` and ``demo``."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import family_recall as fr
from family_recall.apps.cli.command import command, open_household
from family_recall.apps.cli.options import field_option, option
from family_recall.apps.cli.settings import (
    SERVER_BUDGET_MS,
    budget_option,
    person_option,
    required_db_option,
    space_option,
)
from family_recall.types.request import CONTEXT_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

PORT = 8787
TOKEN_VARIABLE = "FAMILY_RECALL_TOKEN"  # noqa: S105 - the name of a variable, not a token
_PORTS = click.IntRange(0, 65_535)


@command(prints_json=False)
@required_db_option
@person_option("who asks, whatever the model says", needed=True)
@space_option(
    "where it is asked and where new memories go",
    default_text="every space the person sees, and the person's own",
)
@field_option(CONTEXT_FIELDS["aloud"])
@click.option("--read-only", is_flag=True, help="leave out the tools that write")
@budget_option(SERVER_BUDGET_MS)
@click.option("--http", is_flag=True, help="serve HTTP on 127.0.0.1 instead of standard input")
@option(
    "--port",
    "N",
    "with --http: where to listen, 0 for any free port",
    type=_PORTS,
    absent=f"{PORT}",
)
@option(
    "--token-file",
    "FILE",
    "with --http: holds the token requests must carry",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    absent=f"${TOKEN_VARIABLE}, or a new one, printed on stderr",
)
@option(
    "--bind",
    "ADDRESS",
    "with --http: the address to listen at; another than 127.0.0.1 needs --allow-host",
    name="address",
    absent="127.0.0.1, which no other machine reaches",
)
@option(
    "--allow-host",
    "NAME",
    "with --http: a name by which other machines or containers call this one",
    name="hosts",
    multiple=True,
)
@click.option(
    "--token-in-url",
    is_flag=True,
    help="with --http: for clients that know a URL alone, such as Home Assistant",
)
def mcp(
    db: Path,
    read_only: bool,
    http: bool,
    port: int | None,
    token_file: Path | None,
    address: str | None,
    hosts: tuple[str, ...],
    token_in_url: bool,
    **context: Any,
) -> None:
    """Serve a program that speaks MCP, which recalls and remembers as one person.

    Over standard input and output; or over HTTP with a token, for this machine alone unless --bind
    and --allow-host open it to others.

    Examples:
      family-recall mcp --person alice --db family.db
      family-recall mcp --person alice --read-only --http --port 8787
    """
    if not http and (port is not None or token_file or address or hosts or token_in_url):
        flags = "--port, --token-file, --bind, --allow-host and --token-in-url"
        raise click.UsageError(f"{flags} need --http")
    if address is not None and not hosts:
        raise click.UsageError("--bind needs --allow-host: the name by which others call it")
    server, localhost = import_extra("mcp", "mcp"), import_extra("web.localhost", "mcp")
    ctx = fr.RecallContext(**context)
    given_token = read_token(token_file) if http else None
    token = given_token or localhost.new_token()

    def ready(url: str) -> None:
        if token_in_url:
            url = f"{url}/{token if given_token is None else 'TOKEN'}"
            click.echo(f"listening on {url}/sse and {url}/mcp", err=True)
            return
        click.echo(f"listening on {url}/mcp", err=True)
        if given_token is None:
            click.echo(f"token {token}", err=True)

    with _serving(db, ctx) as home:
        built = server.build(home, ctx, read_only=read_only)
        if http:
            server.serve_http(
                built,
                token,
                PORT if port is None else port,
                ready,
                address=address or localhost.HOST,
                hosts=hosts,
                token_in_url=token_in_url,
            )
        else:
            server.serve_stdio(built)


@command(prints_json=False)
@required_db_option
@person_option("who browses, which decides what they see and may edit", needed=True)
@click.option("--read-only", is_flag=True, help="leave out everything that changes the file")
@budget_option(SERVER_BUDGET_MS)
@option("--port", "N", "where to listen, 0 for any free port", type=_PORTS, default=0)
@click.option("--no-open", is_flag=True, help="print the link, and open no browser")
def browse(db: Path, read_only: bool, port: int, no_open: bool, **context: Any) -> None:
    """Browse and edit a household's memories in the browser, as one person.

    Pages for this machine alone, until Ctrl-C. The link opens them once, in one browser.

    Examples:
      family-recall browse --person alice --db family.db
      family-recall browse --person alice --read-only --no-open --port 8788
    """
    show(db, fr.RecallContext(**context), read_only=read_only, port=port, no_open=no_open)


def show(
    db: Path,
    ctx: fr.RecallContext,
    *,
    read_only: bool = False,
    port: int = 0,
    no_open: bool = False,
) -> None:
    """Serve a household's pages to one person until Ctrl-C."""
    web = import_extra("web", "browse")

    def ready(link: str) -> None:
        click.echo(f"open {link}", err=True)
        if not no_open:
            # A browser in the terminal would keep the server waiting.
            threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()

    with _serving(db, ctx) as home:
        name = db.stem.replace("_", " ").capitalize()
        web.serve(web.Reader(home=home, ctx=ctx, read_only=read_only, household=name), port, ready)


@command(prints_json=False)
@option("--ask", "QUESTION", "ask it this instead", name="question", absent="nine questions")
@option("--person", "ID", "who asks or browses: rajesh, priya, arjun, mira …", default="priya")
@click.option("--explain", is_flag=True, help="show how each answer was found and ranked")
@click.option(
    "--browse", "in_browser", is_flag=True, help="open the family's memory in the browser"
)
def demo(question: str | None, person: str, explain: bool, in_browser: bool) -> None:
    """Ask a small invented family nine questions, each of which shows one thing.

    The family lives in a temporary file, on a day of its own: change what you like, it is gone
    afterwards.

    Examples:
      family-recall demo
      family-recall demo --ask "What is Mira allergic to?" --person priya
      family-recall demo --browse
    """
    from family_recall.apps import demo as family  # noqa: PLC0415 -- brings numpy

    if in_browser:
        with family.furnished() as path:
            ctx = fr.RecallContext(person, time_budget_ms=SERVER_BUDGET_MS, now=family.NOW)
            show(path, ctx)
    elif question is not None:
        family.ask_own(question, person, sys.stdout)
    else:
        family.run(sys.stdout, explain=explain)


@contextlib.contextmanager
def _serving(db: Path, ctx: fr.RecallContext) -> Iterator[fr.FamilyRecall]:
    """Open a household until Ctrl-C or SIGTERM; load models in the background."""
    with open_household(db, warm=True) as home:
        home.understand("", ctx)  # refuses an unknown person, and a space they may not enter
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        with contextlib.suppress(KeyboardInterrupt):
            yield home


def import_extra(name: str, extra: str) -> ModuleType:
    """Import a subpackage of ``apps``; the error for a missing extra says how to install it."""
    try:
        return importlib.import_module(f"family_recall.apps.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("family_recall"):
            raise
        raise click.ClickException(
            f"{error.name} is not installed; add it with: pip install 'family-recall[{extra}]'"
        ) from None


def read_token(file: Path | None) -> str | None:
    """Return the token in the file, else in the environment; None where neither has one."""
    if file is not None:
        return file.read_text(encoding="utf-8").strip()
    return os.environ.get(TOKEN_VARIABLE, "").strip() or None

"""List, check, import and download models: ``models list``, ``verify``, ``import``, ``fetch``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from family_recall.apps.cli.command import DocumentedGroup, command
from family_recall.apps.cli.options import FOLDER, models_option, option
from family_recall.apps.cli.output import Output, one_line, step_bars, table

if TYPE_CHECKING:
    from rich.console import Console

    from family_recall.api.models import ModelEntry

_FIELDS = ("name", "role", "model_id", "dimensions", "bytes", "licence", "pooling",
           "query_prefix", "memory_prefix", "max_tokens")  # fmt: skip
BASE_URL = "https://huggingface.co"

_to_option = option("--to", "DIR", "the models folder to put it in", absent="your own")
_catalogue_option = option("--catalogue", "FILE", "what can be fetched", absent="the one built in")


@click.group(cls=DocumentedGroup)
def models() -> None:
    """List, check, import and fetch the models that recall runs with.

    Your own models come before the shipped ones, and of two for the same role the one that was
    imported or fetched last. With another embedder, memories get new vectors; those of two models
    are never compared.

    Examples:
      family-recall models list
      family-recall models fetch multilingual-e5-small
    """


@command("list", group=models)
@models_option
@_catalogue_option
def list_(folder: Path | None, catalogue: Path | None) -> Output:
    """Show the models there are, which are in use, and which can be fetched.

    Examples:
      family-recall models list
      family-recall models list --json
    """
    from family_recall.api.models import (  # noqa: PLC0415 -- brings numpy
        read_catalogue,
        read_manifest,
    )

    manifest, offers = read_manifest(folder), read_catalogue(catalogue)
    installed = [_record(entry) | {"in_use": manifest.find_entry(entry.role) is entry}
            for entry in manifest.entries]  # fmt: skip
    hashes = {entry.model.sha256 for entry in manifest.entries}
    offered = [
        {"name": offer.name, "role": offer.role, "bytes": offer.total_bytes,
         "licence": offer.licence, "languages": offer.languages, "notes": offer.notes,
         "repo": str(offer.repo), "revision": offer.revision, "installed": offer.sha256 in hashes}
        for offer in offers
    ]  # fmt: skip

    def draw(out: Console) -> None:
        columns = ("name", "role", "model_id", "dimensions", "bytes", "licence", "in_use")
        _print_table(out, "models", columns, installed)
        offer_columns = ("name", "role", "bytes", "licence", "languages", "installed")
        _print_table(out, "can be fetched", offer_columns, offered)

    record = {"folder": str(manifest.folder), "models": installed, "catalogue": offered}
    return Output(record, draw=draw)


@command("verify", group=models)
@models_option
def verify(folder: Path | None) -> Output:
    """Check each file's size and SHA-256, open each graph, and run it once.

    The exit code is 1 if anything is not as the manifest says.

    Examples:
      family-recall models verify
      family-recall models verify --models ./models
    """
    from family_recall.api.models import check, read_manifest  # noqa: PLC0415 -- brings numpy

    checks = [
        {"name": entry.name, "what": finding.what, "problem": finding.problem}
        for entry in read_manifest(folder).entries
        for finding in check(entry)
    ]
    lines = [
        f"{part['name']}: {part['what']}: "
        + ("ok" if part["problem"] is None else f"WRONG {part['problem']}")
        for part in checks
    ]
    return Output({"checks": checks}, lines, failed=any(part["problem"] for part in checks))


@command("import", group=models)
@click.argument("source", type=FOLDER, metavar="DIR")
@_to_option
@option(
    *("--role", ("embedder", "cross_encoder"), "what it is for"),
    absent="by the architecture in config.json",
)
@option(
    "--pooling",
    ("mean", "cls", "last", "graph"),
    "how token vectors become one; graph: it computes one",
    absent="as 1_Pooling says",
)
@option(
    *("--query-prefix", "TEXT", "put before every question"),
    absent="its prompt called query, or nothing",
)
@option(
    *("--memory-prefix", "TEXT", "put before every memory"),
    absent="its prompt called document or passage, or nothing",
)
@click.option(
    "--normalise/--no-normalise",
    default=None,
    help="scale vectors to unit length here; not, where the graph does it (default: --normalise)",
)
@option(
    "--max-tokens",
    "N",
    "tokens read at once; of a pair, both",
    type=click.IntRange(8),
    absent="as it says, 512 at most",
)
@option("--name", "NAME", "what to call it", absent="the folder's name")
@option("--licence", "NAME", "its licence", absent="as its README.md says")
@option(
    *("--precision", ("int8", "fp16", "fp32"), "of its weights"),
    absent="as the ONNX file's name says, or fp32",
)
@option("--onnx", "FILE", "its graph", absent="model.onnx, or the only one")
@option("--output", "NAME", "the graph's output to read", absent="by its usual names")
def import_model(source: Path, to: Path | None, **options: Any) -> Output:
    """Copy a model into a models folder, from a folder as sentence-transformers saves it.

    DIR holds onnx/model.onnx, tokenizer.json and config.json; options say what these do not. The
    graph is run before anything changes. Prefixes that only its README mentions have to be given
    here.

    Examples:
      family-recall models import ./bge-small-en-v1.5
      family-recall models import ./e5 --query-prefix "query: " --memory-prefix "passage: "
    """
    from family_recall.api import models as installed  # noqa: PLC0415 -- brings numpy

    folder = installed.writable_folder(to)
    overrides = installed.Overrides(**options)
    return _entry_output(installed.import_model(source, folder, overrides), folder)


@command("fetch", group=models)
@click.argument("name")
@_to_option
@_catalogue_option
@option("--base-url", "URL", "the hub, or a mirror of it", default=BASE_URL)
def fetch(name: str, to: Path | None, catalogue: Path | None, base_url: str) -> Output:
    """Download a model of the catalogue; size and SHA-256 of every file are checked.

    The one command that uses a network. Fetching again continues an interrupted download.

    Examples:
      family-recall models fetch multilingual-e5-small
      family-recall models fetch ms-marco-minilm-l6-v2 --base-url https://mirror.example
    """
    from family_recall.api import models as installed  # noqa: PLC0415 -- brings numpy

    offer = installed.find_offer(name, catalogue)
    folder = installed.writable_folder(to)
    with step_bars(in_bytes=True) as show:
        entry = installed.fetch(offer, folder, base_url=base_url, progress=show)
    return _entry_output(entry, folder)


def _record(entry: ModelEntry) -> dict[str, Any]:
    tokens = {"question": entry.max_tokens.question, "memory": entry.max_tokens.memory}
    computed = {"bytes": sum(file.n_bytes for file in entry.files), "max_tokens": tokens}
    return {name: computed[name] if name in computed else getattr(entry, name) for name in _FIELDS}


def _entry_output(entry: ModelEntry, folder: Path) -> Output:
    record = {"folder": str(folder)} | _record(entry)
    return Output(record, (f"{key:<14} {_cell(key, value)}" for key, value in record.items()))


def _print_table(
    out: Console, title: str, columns: tuple[str, ...], records: list[dict[str, Any]]
) -> None:
    rows = table(*columns, numbers=False, title=title, title_justify="left", header_style=None)
    for column in rows.columns:
        if column.header in {"bytes", "dimensions"}:
            column.justify = "right"
    for record in records:
        rows.add_row(*(one_line(_cell(column, record[column])) for column in columns))
    out.print(rows)


def _cell(key: str, value: object) -> str:
    """Return a value as text; a prefix in quotes, because most end with a space."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {part}" for name, part in value.items())
    if isinstance(value, bool):
        return "yes" if value else ""
    if key == "bytes" and isinstance(value, int):
        return f"{value / 1e6:,.1f} MB"
    return f'"{value}"' if key.endswith("_prefix") else str(value)

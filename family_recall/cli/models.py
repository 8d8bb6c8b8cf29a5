"""Models: ``models list``, ``models verify``, ``models import`` and ``models fetch``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from family_recall.cli.base import (
    GroupWithExamples,
    WithExamples,
    console,
    json_option,
    models_option,
    one_line,
    print_json,
)
from family_recall.cli.progress import byte_bar

if TYPE_CHECKING:
    from family_recall.encoders import ModelEntry

BASE_URL = "https://huggingface.co"

_folder = click.Path(file_okay=False, path_type=Path)
_file = click.Path(dir_okay=False, path_type=Path)
_to_option = click.option(
    "--to", type=_folder, metavar="DIR", help="the models folder to put it in (default: your own)"
)
_catalogue_option = click.option(
    "--catalogue",
    type=_file,
    metavar="FILE",
    help="what can be fetched (default: the one built in)",
)


@click.group(
    cls=GroupWithExamples,
    examples=("family-recall models list", "family-recall models fetch multilingual-e5-small"),
)
def models() -> None:
    """List, check, import and fetch the models that recall runs with.

    Your own models come before the shipped ones, and of two for the same role the one that was
    imported or fetched last. With another embedder, memories get new vectors; those of two models
    are never compared.
    """


@models.command(
    "list",
    cls=WithExamples,
    examples=("family-recall models list", "family-recall models list --json"),
)
@models_option
@_catalogue_option
@json_option
def list_(folder: Path | None, catalogue: Path | None, as_json: bool) -> None:
    """Show the models there are, which are in use, and which can be fetched."""
    from family_recall.encoders import read_manifest  # noqa: PLC0415 -- brings numpy
    from family_recall.encoders.catalogue import read_catalogue  # noqa: PLC0415 -- see above

    manifest, offers = read_manifest(folder), read_catalogue(catalogue)
    here = [_record(entry) | {"in_use": manifest.find_entry(entry.role) is entry}
            for entry in manifest.entries]  # fmt: skip
    hashes = {entry.model.sha256 for entry in manifest.entries}
    there = [
        {"name": offer.name, "role": offer.role, "bytes": offer.n_bytes, "licence": offer.licence,
         "languages": offer.languages, "notes": offer.notes, "repo": offer.repo,
         "revision": offer.revision, "installed": offer.files[0].sha256 in hashes}
        for offer in offers
    ]  # fmt: skip
    if as_json:
        print_json({"folder": str(manifest.folder), "models": here, "catalogue": there})
        return
    columns = ("name", "role", "model_id", "dimensions", "bytes", "licence", "in_use")
    _print_table("models", columns, here)
    _print_table(
        "can be fetched", ("name", "role", "bytes", "licence", "languages", "installed"), there
    )


@models.command(
    "verify",
    cls=WithExamples,
    examples=("family-recall models verify", "family-recall models verify --models ./models"),
)
@models_option
@json_option
@click.pass_context
def verify(ctx: click.Context, folder: Path | None, as_json: bool) -> None:
    """Check each file's size and SHA-256, open each graph, and run it once.

    The exit code is 1 if anything is not as the manifest says.
    """
    from family_recall.encoders import read_manifest  # noqa: PLC0415 -- brings numpy
    from family_recall.encoders.checks import check  # noqa: PLC0415 -- see above

    checks = [
        {"name": entry.name, "what": finding.what, "problem": finding.problem}
        for entry in read_manifest(folder).entries
        for finding in check(entry)
    ]
    if as_json:
        print_json({"checks": checks})
    else:
        for one in checks:
            said = "ok" if one["problem"] is None else f"WRONG  {one['problem']}"
            click.echo(one_line(f"{one['name']}: {one['what']}: {said}"))
    if any(one["problem"] for one in checks):
        ctx.exit(1)


@models.command(
    "import",
    cls=WithExamples,
    examples=(
        "family-recall models import ./bge-small-en-v1.5",
        'family-recall models import ./e5 --query-prefix "query: " --memory-prefix "passage: "',
    ),
)
@click.argument("source", type=_folder, metavar="DIR")
@_to_option
@click.option(
    "--role",
    type=click.Choice(("embedder", "cross_encoder")),
    help="what it is for (default: by the architecture in config.json)",
)
@click.option(
    "--pooling",
    type=click.Choice(("mean", "cls", "last", "graph")),
    help="how token vectors become one; graph: it gives one (default: as 1_Pooling says)",
)
@click.option(
    "--query-prefix",
    metavar="TEXT",
    help="put before every question (default: its prompt called query, or nothing)",
)
@click.option(
    "--memory-prefix",
    metavar="TEXT",
    help="put before every memory (default: its prompt called document or passage, or nothing)",
)
@click.option(
    "--normalise/--no-normalise",
    default=None,
    help="scale vectors to unit length here; not, where the graph does it (default: --normalise)",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(8),
    metavar="N",
    help="tokens read at once; of a pair, both (default: as it says, 512 at most)",
)
@click.option("--name", metavar="NAME", help="what to call it (default: the folder's name)")
@click.option("--licence", metavar="NAME", help="its licence (default: as its README.md says)")
@click.option(
    "--precision",
    type=click.Choice(("int8", "fp16", "fp32")),
    help="int8 stays on the CPU (default: as the ONNX file's name says, or fp32)",
)
@click.option(
    "--onnx", type=_file, metavar="FILE", help="its graph (default: model.onnx, or the only one)"
)
@click.option(
    "--output", metavar="NAME", help="the graph's output to read (default: by its usual names)"
)
@json_option
def import_model(source: Path, to: Path | None, as_json: bool, **given: Any) -> None:
    """Copy a model into a models folder, from a folder as sentence-transformers saves it.

    DIR holds onnx/model.onnx, tokenizer.json and config.json. What it does not say, an option
    says. The graph is run before anything changes. A model whose prefixes are written in its
    README alone needs them given here.
    """
    from family_recall.encoders import sentence_transformers as st  # noqa: PLC0415 -- brings numpy
    from family_recall.encoders.install import writable_folder  # noqa: PLC0415 -- see above

    folder = writable_folder(to)
    _print_entry(st.import_model(source, folder, st.Overrides(**given)), folder, as_json=as_json)


@models.command(
    "fetch",
    cls=WithExamples,
    examples=(
        "family-recall models fetch multilingual-e5-small",
        "family-recall models fetch ms-marco-minilm-l6-v2 --base-url https://mirror.example",
    ),
)
@click.argument("name")
@_to_option
@_catalogue_option
@click.option(
    "--base-url",
    default=BASE_URL,
    metavar="URL",
    help=f"the hub, or a mirror of it (default: {BASE_URL})",
)
@json_option
def fetch(name: str, to: Path | None, catalogue: Path | None, base_url: str, as_json: bool) -> None:
    """Download a model of the catalogue; size and SHA-256 of every file are checked.

    The one command that uses a network. Fetching again goes on where a download broke off.
    """
    from family_recall.encoders.catalogue import find_offer  # noqa: PLC0415 -- brings numpy
    from family_recall.encoders.install import writable_folder  # noqa: PLC0415 -- see above

    offer, folder = find_offer(name, catalogue), writable_folder(to)
    from family_recall.encoders import download  # noqa: PLC0415 -- the only way to a network

    with byte_bar() as show:
        entry = download.fetch(offer, folder, base_url=base_url, progress=show)
    _print_entry(entry, folder, as_json=as_json)


def _record(entry: ModelEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "role": entry.role,
        "model_id": entry.model_id,
        "dimensions": entry.dimensions,
        "bytes": sum(file.n_bytes for file in entry.files),
        "licence": entry.licence,
        "pooling": entry.pooling,
        "query_prefix": entry.query_prefix,
        "memory_prefix": entry.memory_prefix,
        "max_tokens": {"question": entry.max_question_tokens, "memory": entry.max_memory_tokens},
    }


def _print_entry(entry: ModelEntry, folder: Path, *, as_json: bool) -> None:
    record = {"folder": str(folder)} | _record(entry)
    if as_json:
        print_json(record)
        return
    for key, value in record.items():
        click.echo(f"{key:<14} {one_line(_cell(key, value))}")


def _print_table(title: str, columns: tuple[str, ...], records: list[dict[str, Any]]) -> None:
    from rich.table import Table  # noqa: PLC0415 -- help needs none

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in {"bytes", "dimensions"} else "left")
    for record in records:
        table.add_row(*(one_line(_cell(column, record[column])) for column in columns))
    console().print(table)


def _cell(key: str, value: object) -> str:
    """A value for people; a prefix in quotes, because most end in a space."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {part}" for name, part in value.items())
    if isinstance(value, bool):
        return "yes" if value else ""
    if key == "bytes" and isinstance(value, int):
        return f"{value / 1e6:,.1f} MB"
    return f'"{value}"' if key.endswith("_prefix") else str(value)

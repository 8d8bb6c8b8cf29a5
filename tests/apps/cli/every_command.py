"""One call of every command that has --json, in an order that a household could see."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from family_recall.apps.cli import main
from tests.foreign_models import save_folder
from tests.local_hub import repository, serve, write_catalogue

QUESTION = "When does Grandma land?"
SURPRISE = "The surprise party is in the barn"


def commands(command: click.Command = main, *path: str) -> dict[str, click.Command]:
    """Return every command by the words that call it; the empty text is family-recall itself."""
    found = {" ".join(path): command}
    if isinstance(command, click.Group):
        for name, part in command.commands.items():
            found |= commands(part, *path, name)
    return found


def with_json() -> list[str]:
    """Name the commands that have --json."""
    return [
        words
        for words, command in commands().items()
        if any(option.name == "as_json" for option in command.params)
    ]


def call(*args: str | Path, environment: dict[str, str] | None = None) -> str:
    """Call the command line in this process, expect success, and return what it printed."""
    result = CliRunner().invoke(
        main, [str(arg) for arg in args], prog_name="family-recall", env=environment
    )
    assert result.exit_code == 0, (args, result.output, result.exception)
    return result.stdout


def every_output(folder: Path) -> Iterator[tuple[str, str, Any]]:
    """Call everything in a new household; gives command, what it says to people, and its JSON.

    What changes the household is called for people first, and for a program where that can be
    done once more.
    """
    db = folder / "family.db"
    notes, dataset, page = folder / "notes.jsonl", folder / "set", folder / "page.html"
    notes.write_text('{"text": "The boiler was mended for 90 euros", "id": "boiler"}\n')
    dataset.mkdir()
    (dataset / "memories.jsonl").write_text(
        '{"id": "a", "text": "The cat is Miso", "space": "h"}\n'
    )
    (dataset / "queries.jsonl").write_text(
        '{"id": "q", "text": "Who is Miso?", "space": "h", "category": "plain", "gold": ["a"]}\n'
        '{"id": "r", "text": "Who is Zorro?", "space": "h", "category": "none", "gold": []}\n'
    )

    def said(words: str, *args: str | Path, twice: bool = True) -> tuple[str, str, Any]:
        line = ("--db", db, *words.split(), *args)
        text = call(*line) if twice else ""
        return words, text, json.loads(call(*line, "--json"))

    yield said("init", "--person", "alice", "--person", "bob=Robert", "--timezone", "UTC")
    yield said("people add", "mia", "--alias", "Mimi")
    yield said("people")
    yield said("people remove", "mia", "--said", "keep", "--dry-run")
    yield said("spaces add", "shared:garden", "--name", "Garden")
    yield said("grant", "mia", "shared:garden", "--role", "child", "--expires", "2199-01-01")
    yield said("hide", "shared:garden", "guest", "author")
    yield said("guardian", "alice", "mia")
    yield said("revoke", "bob", "shared:household", twice=False)
    yield said("spaces")
    yield said(
        *("add", "Grandma lands on Sunday at 6:40", "--author", "alice", "--id", "landing"),
        *("--kind", "fact", "--at", "2026-01-08T13:00"),
    )
    yield said("add", SURPRISE, "--author", "alice", "--id", "surprise")
    yield said("import", notes)
    chat = folder / "chat.txt"
    chat.write_text("30/10/2025, 18:05 - Alice: The tap drips\n")
    yield said("import", chat, "--dry-run")
    yield said("import", notes, "--dry-run")
    yield said("import", chat)
    yield said("sources")
    yield said("sources withdraw", "whatsapp:chat", twice=False)
    yield said("relate", "Grandma", "mother of", "Alice", "--evidence", "landing")
    asked = ("--person", "alice", "--budget-ms", "60000", "--no-rerank", "--now", "2026-01-10")
    yield said("relate", "--person", "alice")
    alone = ("--person", "alice")
    yield said("unrelate", "Grandma", "mother of", "Alice", *alone, twice=False)
    about = ("--label", "party", "--at", "2026-01-31")
    yield said("correct", "surprise", f"{SURPRISE} now", *alone, *about, twice=False)
    yield said("correct", "surprise", SURPRISE, *alone)
    yield said("recall", QUESTION, *asked, "--explain")
    yield said("timeline", "this week", *asked)
    yield said("explain", QUESTION, "landing", *asked)
    yield said("explain", "What is the weather?", "boiler", *asked, "--top-k", "1")
    yield said("inspect", QUESTION, *asked, "-o", page)
    yield said("understand", "What did Mimi do last Christmas?", "--person", "alice")
    yield said("audit", "--person", "alice")
    yield said("stats")
    yield said("feedback", QUESTION, "landing", "--accept", "--person", "alice")
    yield said("learned")
    yield said("unlearn")
    yield said("unlearn", "--all")
    token = call("--db", db, "forget", "--by", "alice", "--person", "alice", "--dry-run")
    assert token.rstrip().splitlines()[-1].startswith("token: ")
    yield said("forget", "--by", "alice", "--person", "alice", "--dry-run")
    yield said("forget", "surprise", "--person", "alice", "--undo-for", "1", twice=False)
    (receipt,) = json.loads(call("--db", db, "forgotten", "--json"))
    yield said("undo", receipt["receipt_id"], "--person", "alice", twice=False)
    yield said("forget", "surprise", "--person", "alice", twice=False)
    yield said("forgotten", "--verify")
    yield said("people remove", "bob", "--said", "forget", twice=False)
    yield said("sources forget", "whatsapp:chat", "--yes", twice=False)
    yield said("retention set", "casual", "90")
    yield said("retention list")
    yield said("retention apply", "--dry-run")
    yield said("retention apply")
    yield said("backup", folder / "copy.db", "--force")
    yield said("export", folder / "out.jsonl", "--force")
    yield said("restore", folder / "copy.db")
    yield said("migrate")
    yield said("rebuild")
    yield said("reembed", "--drop-others")
    yield said("doctor")
    yield said("rekey", "--no-key")
    yield said("bench", "--person", "alice", "--questions", "3", "--no-rerank")
    yield said("eval", dataset, "--no-rerank", "--save", folder / "one.json", "--ablate", "lexical")
    yield said("compare", folder / "one.json", folder / "one.json")
    homes = folder / "homes"
    homes.mkdir()
    shutil.copy(folder / "copy.db", homes / "alice.db")
    for step in ("migrate", "doctor", "reembed", "bench", "eval", "backup"):
        of: tuple[str | Path, ...] = (folder if step == "eval" else homes,)
        of += (folder / "copies",) if step == "backup" else ()
        yield said(f"fleet {step}", *of, "--workers", "0", "--ledger", folder / f"of-{step}")
    yield said("fleet restore", folder / "copies", "alice", folder / "restored.db")
    yield said("config")
    yield said("models list")
    yield said("models verify")
    tiny = save_folder(folder / "tiny")
    yield said("models import", tiny, "--to", folder / "models")
    files = repository(tiny)
    catalogue = write_catalogue(folder / "catalogue.json", files)
    with serve(files) as hub:
        where = ("--to", folder / "fetched", "--catalogue", catalogue, "--base-url", hub.url)
        yield said("models fetch", "tiny", *where)
    new = folder / "new.db"
    line = ("--db", new, "import", folder / "out.jsonl")
    yield "import", "", json.loads(call(*line, "--json"))

"""``family-recall inspect``: a household and a question in, a page out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.apps.cli.runner import call, done

WHO = ("--person", "alice", "--budget-ms", "60000", "--no-rerank", "--now", "2026-01-10T18:00")


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a household of alice and bob with three notes on a key, and one that is bob's own."""
    path = tmp_path_factory.mktemp("household") / "family.db"
    done("init", "--db", path, "--person", "alice", "--person", "bob", "--timezone", "UTC")
    for name, text in (
        ("pot", "The spare key is under the blue pot"),
        ("shed", "The key of the shed hangs in the kitchen"),
        ("car", "Grandma took the second car key"),
    ):
        done("add", "--db", path, text, "--author", "alice", "--id", name, "--at", "2026-01-08")
    done(
        "add", "--db", path, "My diary's key: zqxj", "--space", "private:bob", "--id", "zqxj-diary"
    )
    return path


def test_a_recall_becomes_a_page(db: Path, tmp_path: Path) -> None:
    """One result is asked for: it is there with its words, and the next ones with their reason."""
    page = tmp_path / "page.html"
    said = done("inspect", "--db", db, "Where is the spare key?", *WHO, "--top-k", "1", "-o", page)
    html = page.read_text(encoding="utf-8")

    assert said.startswith(f"{page}: ")
    assert said.endswith(" kB, 1 result\n")
    assert "blue pot" in re.sub(r"<[^>]+>", "", html)
    assert "short of the last result" in html
    assert "The key of the shed" in html
    assert "zqxj" not in html


def test_a_redacted_page_names_nobody(db: Path, tmp_path: Path) -> None:
    """No word of the question, the memories, their ids or their space is left."""
    page = tmp_path / "page.html"
    shown = done(
        "inspect", "--db", db, "Where is the spare key?", *WHO, "--redact", "--json", "-o", page
    )
    html = page.read_text(encoding="utf-8")

    assert json.loads(shown) == {"file": str(page), "bytes": len(html.encode()), "results": 3}
    body = html.split("</style>")[1]
    for word in ("spare", "blue", "shed", "Grandma", "grandma", "alice", "shared:", ">pot", '"pot'):
        assert word not in body, word


def test_a_page_needs_a_name(db: Path) -> None:
    """Without -o nothing is asked, and the way out is told."""
    result = call("inspect", "--db", db, "Where is the spare key?")

    assert result.exit_code == 2
    assert "-o" in result.stderr

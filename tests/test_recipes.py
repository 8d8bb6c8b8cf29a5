"""docs/recipes: each program runs as it stands and prints what the page shows."""

from __future__ import annotations

import contextlib
import io
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest

from family_recall.apps import llm_tools
from family_recall.apps.cli import main

RECIPES = Path(__file__).parents[1] / "docs" / "recipes"
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(RECIPES.glob("*.md"))}
NEEDS = {"langchain": "langchain_core", "opentelemetry": "opentelemetry.sdk"}


def blocks(page: str, language: str) -> list[str]:
    """Return a page's code blocks of a language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", PAGES[page], re.DOTALL)


def run(page: str) -> str:
    """Run a page's one program unchanged; return what it printed."""
    (program,) = blocks(page, "python")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = compile(program, f"{page}.md", "exec", dont_inherit=True)
        exec(code, {"__name__": page})  # noqa: S102 - our own page
    return out.getvalue()


class StandIn:
    """A stand-in for Ollama: recalls the question first, then reads out the first memory.

    ``requests`` are the bodies it was sent; ``calls`` the tools it calls, one a round, before it
    answers.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.calls: list[tuple[str, Any]] = []

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the next message."""
        self.requests.append(body)
        question = next(
            message["content"] for message in body["messages"] if message["role"] == "user"
        )
        calls = self.calls or [("recall", {"question": question})]
        results = [message for message in body["messages"] if message["role"] == "tool"]
        if len(results) < len(calls):
            name, arguments = calls[len(results)]
            call = {"function": {"name": name, "arguments": arguments}}
            return {"role": "assistant", "content": "", "tool_calls": [call]}
        try:
            content = json.loads(results[-1]["content"])["memories"][0]["text"]
        except (ValueError, KeyError):
            content = results[-1]["content"]
        return {"role": "assistant", "content": content}


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """Serve Ollama's /api/chat on this machine."""
    model = StandIn()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/api/chat"
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            content = json.dumps({"message": model.answer(body), "done": True}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("OLLAMA_URL", f"http://127.0.0.1:{server.server_port}")
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
@pytest.mark.usefixtures("ollama")
def test_a_recipe_prints_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program of the page, run in an empty folder, prints the output below it."""
    pytest.importorskip(NEEDS.get(page, "family_recall"))
    monkeypatch.chdir(tmp_path)

    assert [run(page)] == blocks(page, "text")


def test_every_page_is_in_the_list() -> None:
    """The README of the recipes names each, and each link leads somewhere."""
    listed = re.findall(r"\]\((\S+?)\)", PAGES["README"])

    assert sorted(listed) == sorted(f"{page}.md" for page in PAGES if page != "README")


def test_a_local_model_is_sent_the_tools_and_only_clean_results(
    ollama: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every round carries the tools; the result it reads is our JSON, without markup."""
    monkeypatch.chdir(tmp_path)

    run("local-language-model")

    assert [body["tools"] for body in ollama.requests] == [llm_tools.schema("ollama")] * 2
    told = ollama.requests[-1]["messages"][-1]
    assert (told["role"], told["tool_name"]) == ("tool", "recall")
    assert not set("<>&") & set(told["content"])
    (schema,) = [one["outputSchema"] for one in llm_tools.schema("mcp") if one["name"] == "recall"]
    jsonschema.validate(json.loads(told["content"]), schema)


def test_a_local_model_that_calls_wrongly_is_told_how(
    ollama: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another person, a tool there is not, and too many results: three errors, then it answers."""
    monkeypatch.chdir(tmp_path)
    ollama.calls = [
        ("recall", {"question": "x", "person_id": "rajesh"}),
        ("search", {}),
        ("recall", {"question": "x", "top_k": 99}),
    ]

    printed = run("local-language-model")

    errors = [one["content"] for one in ollama.requests[-1]["messages"] if one["role"] == "tool"]
    assert errors[0].startswith("error: recall has no argument 'person_id'; it has question")
    assert errors[1].startswith("error: there is no tool 'search'; there is recall")
    assert printed == "error: top_k must be a whole number from 1 to 20, got 99\n"


def test_the_mcp_page_names_the_tools_there_are() -> None:
    """The table's rows are the list of tools, and which of them write."""
    rows = re.findall(r"^\| `(\w+)` \|.*\| (yes|no) \|$", PAGES["mcp"], re.MULTILINE)

    assert rows == [(tool.name, "yes" if tool.writes else "no") for tool in llm_tools.TOOLS]


def test_the_mcp_pages_commands_can_be_given() -> None:
    """What the page starts, the command line takes."""
    (config,) = blocks("mcp", "json")
    configured = json.loads(config)["mcpServers"]["family"]
    lines = "".join(blocks("mcp", "sh")).replace("\\\n", "").splitlines()
    shown = [line.split() for line in lines]
    commands = [configured["args"], *(words[1:] for words in shown if words[0] == "family-recall")]

    assert configured["command"] == "family-recall"
    assert len(commands) == 3
    for name, *args in commands:
        command = main.commands[name]
        with command.make_context(name, args) as parsed:
            assert parsed.params["person_id"] == "alice"
        assert isinstance(command, click.Command)

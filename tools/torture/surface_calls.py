"""Calls of the public surface with arguments by chance: the API, commands, tools and pages."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import decimal
import inspect
import random
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np
from click.testing import CliRunner
from starlette.testclient import TestClient

import family_recall
from family_recall import (
    FamilyRecall,
    Filters,
    Grant,
    Hidden,
    Memory,
    Person,
    RecallContext,
    Region,
    Relation,
    Selection,
    Space,
)
from family_recall.apps.cli import main
from family_recall.apps.llm_tools import dispatch
from family_recall.apps.llm_tools.tools import TOOLS
from family_recall.apps.web.app import CHANGES, EDITING, READING, application
from family_recall.apps.web.pages import FORM_TOKEN, Reader
from family_recall.types.erasure import SelectionFields
from family_recall.types.memory import MemoryFields
from family_recall.types.request import ContextFields
from tools.torture.fuzz import ODD, QUESTIONS
from tools.torture.household import HOME


class _Anything:
    """A class that may be called as a function, and raises nothing: that would be no finding."""

    def __init__(self, *_: object) -> None:
        """Make one, whatever it is given."""


_FIRST, _LAST = dt.datetime.min, dt.datetime.max  # noqa: DTZ901  values to refuse
ODDER: tuple[Any, ...] = (
    *ODD, b"bytes", object(), _Anything, 1 + 2j, decimal.Decimal("1e400"), {1, 2}, frozenset(),
    (), ("a",), range(3), np.float64("nan"), np.int64(3), np.zeros(2), Path("x"), "../x", "-1",
    _FIRST, _LAST, _LAST.replace(tzinfo=dt.UTC), dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    dt.date.max,
    dt.timedelta.max, dt.timedelta(days=-1), dt.timedelta(days=1), dt.time(), iter("ab"),
    RecallContext(), Memory("A note", HOME), {"a": {"b": [1]}}, [["a"]], "[" * 2000,
)  # fmt: skip
GOOD: Mapping[str, tuple[Any, ...]] = {
    "query_text": QUESTIONS, "query": QUESTIONS, "question": QUESTIONS, "period": ("last week",),
    "asked": QUESTIONS, "text": ("Grandma lands at 7:40", "The code is 4471"),
    "doc_id": ("note-1", "code", "nosuch"), "what": ("note-2", ["note-3"]),
    "person_id": ("priya", "rajesh", "nobody", None), "child_id": ("rajesh",),
    "space_id": (HOME, "nosuch", None), "author": ("Priya", "priya"), "about": ("Priya",),
    "memory": (Memory("The key is in the pot", HOME), "The key is in the pot"),
    "memories": ([Memory("The key is in the pot", HOME)], []),
    "ctx": (RecallContext("priya"), RecallContext("rajesh", top_k=3), None),
    "person": (Person("mia", "Mia"),), "space": (Space("shared:garden", "shared"),),
    "grant": (Grant("rajesh", HOME, "adult"),), "hidden": (Hidden(HOME, "guest", ("author",)),),
    "relation": (Relation("Priya", "sister of", "Rajesh", HOME),), "region": (Region(), None),
    "filters": (Filters(kinds=("fact",)), None), "selection": (Selection(doc_ids=("note-4",)),),
    "embed": ("now", "later"), "category": ("casual",), "kind": ("fact",), "role": ("guest",),
    "destination": ("copy.db", Path("copy.jsonl")), "path": ("copy.jsonl", "new.db"),
    "source": ("copy.jsonl",), "now": (dt.datetime(2026, 1, 10, tzinfo=dt.UTC), "2026-01-10"),
    "progress": (None, lambda *_: None), "db": ("family.db",), "token": (None, "x"),
    "time_budget_ms": (20.0, 200), "top_k": (1, 5, 1000), "days": (0, 30), "keep_days": (30, None),
    "undo_for": (None, dt.timedelta(days=1)), "dry_run": (True, False),
}  # fmt: skip
_EVERY_GOOD = tuple(value for values in GOOD.values() for value in values)
_FIELDS = tuple({**ContextFields.__annotations__, **MemoryFields.__annotations__,
                 **SelectionFields.__annotations__})  # fmt: skip
_NOT_CALLED = {"close", "open"}  # open() is called by commands, on files of its own
_SERVERS_AND_NETWORK = {"browse", "mcp", "demo", "eval", "compare", "bench", "fetch", "completion"}
_PARTS = (
    "people",
    "spaces",
    "memories",
    "relations",
    "erasure",
    "learning",
    "maintenance",
    "audit",
)
_ORIGIN = "http://127.0.0.1:8787"


@dataclass(frozen=True, slots=True)
class Call:
    """One call: what it is, for people, and what runs it and says how it ended."""

    text: str
    run: Callable[[], str]


Caller = Callable[[random.Random], Call]


def value(chance: random.Random, name: str) -> Any:
    """Return a value for a parameter: sound, of another meaning, or of any type."""
    throw = chance.random()
    if throw < 0.6 and name in GOOD:
        return chance.choice(GOOD[name])
    return chance.choice(_EVERY_GOOD if throw < 0.75 else ODDER)


def api(home: FamilyRecall, _: Path) -> Caller:
    """Call methods of a household and its parts, and make its classes."""
    targets = [
        *_methods("home", home),
        *(each for part in _PARTS for each in _methods(f"home.{part}", getattr(home, part))),
        *_classes(),
    ]

    def make(chance: random.Random) -> Call:
        name, target = chance.choice(targets)
        positional, keywords = _arguments(chance, target)
        said = [repr(each) for each in positional] + [f"{k}={v!r}" for k, v in keywords.items()]

        def run() -> str:
            result = target(*positional, **keywords)
            if inspect.iscoroutine(result):
                asyncio.run(result)
            return "accepted"

        return Call(f"{name}({', '.join(said)})", run)

    return make


def command(_: FamilyRecall, path: Path) -> Caller:
    """Call commands, with their own arguments and options."""
    commands = [
        (words, each)
        for words, each in _commands(main)
        if not _SERVERS_AND_NETWORK & {*words} and not isinstance(each, click.Group)
    ]

    def make(chance: random.Random) -> Call:
        words, chosen = chance.choice(commands)
        arguments = ["--db", str(path), *words]
        for parameter in chosen.params:
            if not parameter.required and chance.random() < 0.7:
                continue
            sent = [_as_text(value(chance, str(parameter.name))) for _ in range(parameter.nargs)]
            if isinstance(parameter.type, click.Choice) and chance.random() < 0.7:
                sent = [str(chance.choice(parameter.type.choices))]
            if isinstance(parameter, click.Option):
                flag = parameter.is_flag or parameter.count
                arguments += [chance.choice(parameter.opts), *([] if flag else sent)]
            else:
                arguments += sent

        def run() -> str:
            result = CliRunner().invoke(main, arguments, standalone_mode=False)
            if result.exception is not None:
                raise result.exception
            return "accepted"

        return Call(f"family-recall {arguments}", run)

    return make


def tool(home: FamilyRecall, _: Path) -> Caller:
    """Call the tools for language models."""

    def make(chance: random.Random) -> Call:
        chosen = chance.choice(TOOLS)
        name = chosen.name if chance.random() < 0.95 else value(chance, "name")
        arguments: Any = {
            spec.name: value(chance, spec.name)
            for spec in chosen.arguments
            if spec.required or chance.random() < 0.4
        }
        if chance.random() < 0.1:
            arguments = chance.choice(ODDER)
        person = RecallContext(chance.choice(("priya", "rajesh", None)), time_budget_ms=50.0)
        ctx = person if chance.random() < 0.9 else value(chance, "ctx")

        def run() -> str:
            dispatch(home, ctx, name, arguments)
            return "accepted"

        return Call(f"dispatch(home, {ctx!r}, {name!r}, {arguments!r})", run)

    return make


def form(home: FamilyRecall, _: Path) -> Caller:
    """Ask for pages, and send forms."""
    reader = Reader(home=home, ctx=RecallContext("priya", time_budget_ms=50.0))
    secret = "a-token-for-this-run-alone"  # noqa: S105
    client = TestClient(application(reader, secret), base_url=_ORIGIN)
    client.get(f"/?token={secret}")
    names = ("q", "id", "space", "person", "about", "first", "last", "page", "text", "token", "at",
             "doc_id", "accepted", "source", "relation", "target", "receipt", "kind", "labels",
             "importance", "valid_from", "as_of", "by", "days", "done", "space_id",
             "occurred_at")  # fmt: skip
    shown = client.get("/correct?id=code").text
    form_token = shown.partition(f'name="{FORM_TOKEN}" value="')[2].partition('"')[0]

    def make(chance: random.Random) -> Call:
        path = chance.choice([*READING, *EDITING, *CHANGES])
        fields = {
            name: _as_text(value(chance, {"q": "query", "id": "doc_id"}.get(name, name)))
            for name in names
            if chance.random() < 0.4
        }
        link = f"{path}?{urllib.parse.urlencode(fields, errors='replace')}"
        sends = path in CHANGES and chance.random() < 0.7

        def run() -> str:
            if sends:
                body = urllib.parse.urlencode({**fields, FORM_TOKEN: form_token}, errors="replace")
                headers = {"Origin": _ORIGIN, "Sec-Fetch-Site": "same-origin"}
                answer = client.post(link, content=body, headers=headers, follow_redirects=False)
            else:
                answer = client.get(link)
            return f"status {answer.status_code}"

        return Call(f"{'POST' if sends else 'GET'} {link}", run)

    return make


CALLERS: Mapping[str, Callable[[FamilyRecall, Path], Caller]] = {
    "api": api,
    "command": command,
    "tool": tool,
    "form": form,
}


def _methods(name: str, of: object) -> Iterator[tuple[str, Callable[..., Any]]]:
    for attribute in sorted(dir(type(of))):
        if attribute.startswith("_") or attribute in _NOT_CALLED:
            continue
        if callable(getattr(type(of), attribute)):
            yield f"{name}.{attribute}", getattr(of, attribute)


def _classes() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Return what callers make themselves; an answer or a receipt they only read back."""
    request, rule = family_recall.RecallRequest, family_recall.RetentionRule
    values = (Filters, Grant, Hidden, Memory, Person, RecallContext, Region, Relation, Selection)
    for made in (*values, Space, request, rule):
        yield made.__name__, made
        if hasattr(made, "from_json"):
            yield f"{made.__name__}.from_json", made.from_json


def _arguments(
    chance: random.Random, target: Callable[..., Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Choose arguments that the signature has, nearly always enough of them."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for parameter in inspect.signature(target).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            for name in chance.sample(_FIELDS, chance.choice((0, 0, 1, 2))):
                keywords.setdefault(name, value(chance, name))
            continue
        is_required = parameter.default is parameter.empty
        if chance.random() < (0.02 if is_required else 0.6):
            continue
        made = value(chance, parameter.name)
        if parameter.kind is parameter.KEYWORD_ONLY or keywords or not is_required:
            keywords[parameter.name] = made
        else:
            positional.append(made)
    return positional, keywords


def _commands(of: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, of
    if isinstance(of, click.Group):
        for name, part in of.commands.items():
            yield from _commands(part, *path, name)


def _as_text(made: Any) -> str:
    """Write a value as a terminal or a browser would send it."""
    if dataclasses.is_dataclass(made) or isinstance(made, msgspec.Struct) or callable(made):
        return "x"
    return str(made).replace("\x00", "")[:3000].encode("utf-8", "replace").decode()

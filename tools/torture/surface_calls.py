"""Calls of the public surface with arguments by chance: the API, commands, tools, MCP and pages.

What is called, and with what, follows from signatures and annotations: a new part, method, class,
command or tool is attacked without being listed here. ``GOOD`` adds values that mean something.
"""

from __future__ import annotations

import asyncio
import collections.abc
import dataclasses
import datetime as dt
import decimal
import functools
import inspect
import json
import os
import random
import re
import types
import typing
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
from family_recall.api.arguments import Part
from family_recall.apps import mcp as mcp_server
from family_recall.apps import web
from family_recall.apps.cli import main
from family_recall.apps.llm_tools import dispatch
from family_recall.apps.llm_tools.tools import TOOLS
from family_recall.apps.web.app import CHANGES, EDITING, READING, application
from family_recall.apps.web.pages import FORM_TOKEN, Reader
from family_recall.errors import FamilyRecallError
from family_recall.types.fields import FieldSpec
from family_recall.types.records import Record
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
_BY_TYPE: Mapping[Any, tuple[Any, ...]] = {
    str: (*QUESTIONS, "Priya", "priya", HOME, "note-1", "2026-01-10", "x" * 20_000, "\x1b[31m", ""),
    bytes: (b"", b"\x00" * 32), int: (0, 1, 2, 30, -1, 10**6, 2**62), bool: (True, False),
    float: (0.0, 0.5, 1.0, 20.0, -1.0, 1e12), type(None): (None,), object: ("x", 1),
    dt.datetime: (dt.datetime(2026, 1, 10, tzinfo=dt.UTC), dt.datetime(2026, 1, 10),  # noqa: DTZ001
                  _FIRST, _LAST),
    dt.date: (dt.date(2026, 1, 10), dt.date.min, dt.date.max), dt.timedelta: (
        dt.timedelta(0), dt.timedelta(days=30), dt.timedelta.max, -dt.timedelta.resolution),
    Path: (Path("copy.db"), Path("nosuch/copy"), Path()),
}  # fmt: skip
# open() is called on files of its own, and what is read from the file is not checked again.
_NOT_CALLED = {"close", "open", "as_stored"}
_SERVERS_AND_NETWORK = {"browse", "mcp", "demo", "eval", "compare", "bench", "fetch", "completion"}
_ORIGIN = "http://127.0.0.1:8787"
_SECRET = "a-token-for-this-run-alone"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Call:
    """One call: what it is, for people, and what runs it and says how it ended."""

    text: str
    run: Callable[[], str]


Caller = Callable[[random.Random], Call]


def value(chance: random.Random, name: str, hint: Any = None) -> Any:
    """Return a value for a parameter: sound, of its type, of another meaning, or of any type."""
    throw = chance.random()
    if throw < 0.5 and name in GOOD:
        return chance.choice(GOOD[name])
    if throw < 0.75 and hint is not None:
        try:
            return _of_type(chance, hint)
        except FamilyRecallError:  # a record that may not hold these
            return chance.choice(ODDER)
    return chance.choice(_EVERY_GOOD if throw < 0.85 else ODDER)


def _of_type(chance: random.Random, hint: Any, depth: int = 0) -> Any:  # noqa: C901
    """Return a value that an annotation allows, as far as types tell."""
    kind, parts = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind is typing.Annotated:
        return _of_type(chance, parts[0], depth)
    if kind in {typing.Union, types.UnionType}:
        return _of_type(chance, chance.choice(parts), depth)
    if kind is typing.Literal:
        return chance.choice(parts)
    if kind is collections.abc.Callable:
        return _Anything
    if kind in _BY_TYPE:
        return chance.choice(_BY_TYPE[kind])
    if isinstance(kind, type) and depth < 3:
        if issubclass(kind, os.PathLike):
            return chance.choice(_BY_TYPE[Path])
        if issubclass(kind, collections.abc.Mapping):
            keys, values = parts or (str, str)
            return {
                _of_type(chance, keys, 3): _of_type(chance, values, depth + 1)
                for _ in range(chance.randrange(3))
            }
        if issubclass(kind, collections.abc.Iterable) and parts:
            items = [_of_type(chance, parts[0], depth + 1) for _ in range(chance.randrange(4))]
            return tuple(items) if issubclass(kind, tuple) else items
        if issubclass(kind, Record):  # made by the library alone
            return kind.from_json(value(chance, "record"))
        if kind.__module__.startswith("family_recall.types"):
            hints = _hints(hint)
            return kind(**{
                name: value(chance, name, hints.get(name)) if chance.random() < 0.2
                else _of_type(chance, hints.get(name, str), depth + 1)
                for name, parameter in inspect.signature(kind).parameters.items()
                if parameter.default is parameter.empty or chance.random() < 0.3
            })  # fmt: skip
    return chance.choice(ODDER)


@functools.cache
def _hints(of: Any) -> Mapping[str, Any]:
    """Return the annotations of a function's or class's parameters."""
    try:
        return typing.get_type_hints(inspect.unwrap(of))
    except (NameError, TypeError):  # of a class that is not there at run time
        return {}


def _for_tool(chance: random.Random, spec: FieldSpec) -> Any:
    """Return a value for a tool's argument."""
    types_of = {"texts": list[str], "flag": bool, "integer": int, "number": float}
    if spec.choices and chance.random() < 0.7:
        return chance.choice(tuple(spec.choices))
    return value(chance, spec.name, types_of.get(spec.type, str))


def api(home: FamilyRecall, _: Path) -> Caller:
    """Call methods of a household, its parts and what they return, and make public classes."""
    parts = {name: part for name, part in vars(home).items() if isinstance(part, Part)}
    targets = [
        *_methods("home", home),
        *(each for name, part in parts.items() for each in _methods(f"home.{name}", part)),
        *_public(),
    ]
    returned: dict[str, list[tuple[str, Callable[..., Any]]]] = {}

    def make(chance: random.Random) -> Call:
        name, target = chance.choice(targets)
        if returned and chance.random() < 0.1:
            name, target = chance.choice(returned[chance.choice(sorted(returned))])
        positional, keywords = _arguments(chance, target)
        said = [repr(each) for each in positional] + [f"{k}={v!r}" for k, v in keywords.items()]

        def run() -> str:
            result = target(*positional, **keywords)
            if inspect.iscoroutine(result):
                result = asyncio.run(result)
            result = result[0] if isinstance(result, list | tuple) and result else result
            kind = type(result)
            if kind.__module__.startswith("family_recall.types"):
                returned[kind.__name__] = list(_methods(kind.__name__, result))
                if not returned[kind.__name__]:
                    del returned[kind.__name__]
            return "accepted"

        return Call(f"{name}({', '.join(said)})", run)

    return make


def opening(_: FamilyRecall, path: Path) -> Caller:
    """Open files, which are there, are none, or are made."""

    def make(chance: random.Random) -> Call:
        _, named = _arguments(chance, FamilyRecall.open)
        keywords = {name: named[name] for name in chance.sample(sorted(named), min(2, len(named)))}
        keywords["path"] = (
            path if chance.random() < 0.5 else value(chance, "path", str | os.PathLike[str])
        )
        keywords.setdefault("models", Path("nosuch"))
        said = ", ".join(f"{name}={each!r}" for name, each in keywords.items())

        def run() -> str:
            FamilyRecall.open(**keywords).close()
            return "accepted"

        return Call(f"FamilyRecall.open({said})", run)

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
            spec.name: _for_tool(chance, spec)
            for spec in chosen.arguments
            if spec.required or chance.random() < 0.3
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
    client = TestClient(application(reader, _SECRET), base_url=_ORIGIN)
    client.get(f"/?token={_SECRET}")
    names = _fields_of_pages()
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


def protocol(home: FamilyRecall, _: Path) -> Caller:
    """Post messages to the MCP server: calls of tools, other methods, and what is no message."""
    server = mcp_server.build(home, RecallContext("priya", time_budget_ms=50.0))
    headers = {
        "Authorization": f"Bearer {_SECRET}",
        "Accept": "application/json",
        "Content-Type": "application/json",
    }

    def make(chance: random.Random) -> Call:
        chosen = chance.choice(TOOLS)
        message: Any = {
            "jsonrpc": "2.0",
            "id": chance.choice((1, "a", None, -1, 1.5)),
            "method": chance.choice((*["tools/call"] * 6, "tools/list", "initialize", "ping", "x")),
            "params": {
                "name": chosen.name,
                "arguments": {
                    spec.name: _for_tool(chance, spec)
                    for spec in chosen.arguments
                    if spec.required or chance.random() < 0.3
                },
            },
        }
        if chance.random() < 0.3:
            damaged = message["params"] if chance.random() < 0.5 else message
            damaged[chance.choice(list(damaged))] = chance.choice(ODDER)
        body = json.dumps(message, default=str).encode("utf-8", "replace")
        if chance.random() < 0.1:
            body = body[: chance.randrange(len(body))]

        def run() -> str:
            app = mcp_server.application(server, _SECRET)
            with TestClient(app, base_url=_ORIGIN) as client:
                answer = client.post(mcp_server.PATH, content=body, headers=headers)
            if "inside the server" in answer.text or '"code":-32603' in answer.text:
                return f"status 500 ({answer.text[:200]})"
            return f"status {answer.status_code}"

        return Call(f"POST {body[:500]!r}", run)

    return make


CALLERS: Mapping[str, Callable[[FamilyRecall, Path], Caller]] = {
    "api": api,
    "open": opening,
    "command": command,
    "tool": tool,
    "mcp": protocol,
    "form": form,
}


@functools.cache
def _fields_of_pages() -> tuple[str, ...]:
    """Return the names of all fields of forms, and of links, in the pages."""
    sources = Path(web.__file__).parent.rglob("*")
    texts = [path.read_text("utf-8") for path in sources if path.suffix in {".py", ".jinja"}]
    pattern = r'name="(\w+)"|[?&](\w+)=|(?:text|get|getlist)\("(\w+)"'
    named = re.findall(pattern, "\n".join(texts))
    return tuple(sorted({name for groups in named for name in groups if name}))


def _methods(name: str, of: object) -> Iterator[tuple[str, Callable[..., Any]]]:
    for attribute in sorted(dir(type(of))):
        if attribute.startswith("_") or attribute in _NOT_CALLED:
            continue
        if callable(getattr(type(of), attribute)):
            yield f"{name}.{attribute}", getattr(of, attribute)


def _public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the classes and functions that the package exports, and classmethods of these."""
    for name in family_recall.__all__:
        made = getattr(family_recall, name)
        if made is FamilyRecall or (isinstance(made, type) and issubclass(made, Exception)):
            continue
        if not (isinstance(made, type) and issubclass(made, Record)):  # callers only read it back
            yield name, made
        for attribute, member in sorted(inspect.getmembers(made, inspect.ismethod)):
            if not attribute.startswith("_") and attribute not in _NOT_CALLED:
                yield f"{name}.{attribute}", member


def _arguments(
    chance: random.Random, target: Callable[..., Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Choose arguments that the signature has, nearly always enough of them."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    hints = _hints(target)
    for parameter in inspect.signature(target).parameters.values():
        hint = hints.get(parameter.name)
        if parameter.kind is parameter.VAR_KEYWORD:
            fields = _hints(typing.get_args(hint)[0]) if typing.get_args(hint) else {}
            n_given = min(len(fields), chance.choice((0, 0, 1, 2)))
            for name in chance.sample(sorted(fields), n_given):
                keywords.setdefault(name, value(chance, name, fields[name]))
            continue
        is_required = parameter.default is parameter.empty
        if chance.random() < (0.02 if is_required else 0.6):
            continue
        made = value(chance, parameter.name, hint)
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

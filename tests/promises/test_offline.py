"""Offline: nothing opens a network socket, and no code that was read from a file is run."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

from family_recall import FamilyRecall
from family_recall.api import files
from family_recall.encoders.loader import Models
from family_recall.encoders.manifest import find_models

ROOT = Path(__file__).resolve().parents[2]

# One call of every public name of a household; a socket that the audit hook sees is a failure.
SURFACE = """
import asyncio, datetime, json, sys
from pathlib import Path
from typing import get_type_hints

sockets = []

def hook(event, arguments):
    if event.startswith("socket."):
        if event == "socket.__new__" and arguments[1] not in (2, 10):  # AF_INET, AF_INET6
            return  # asyncio's own pair of ends
        if event in ("socket.bind", "socket.connect") and isinstance(arguments[1], str):
            return
        sockets.append(event)
        raise RuntimeError(f"a network socket was opened: {event}")

sys.addaudithook(hook)
import socket
try:
    socket.socket()
except RuntimeError:
    sockets.clear()
else:
    sys.exit("the hook sees nothing")

import family_recall as fr
from family_recall.api import files
from family_recall.apps.cli.doctor import examine

folder = Path(sys.argv[1])
used = set()
PARTS = get_type_hints(fr.FamilyRecall)

class Recording:  # notes which names are used of an object, and of a household's parts
    def __init__(self, target, prefix=""):
        self.target, self.prefix = target, prefix

    def __getattr__(self, name):
        value = getattr(self.target, name)
        if not self.prefix and name in PARTS:
            return Recording(value, f"{name}.")
        used.add(f"{self.prefix}{name}")
        return value

household = Recording(fr.FamilyRecall)
home = Recording(household.open(folder / "family.db", timezone="Europe/Berlin"))
home.warmup()
home.spaces.add(fr.Space("s", "shared")); home.spaces.add(fr.Space("p", "private"))
for person_id in ("ana", "ben"):
    home.people.add(fr.Person(person_id, person_id.title()))
    home.spaces.grant(fr.Grant(person_id, "s", "owner"))
home.remember("The spare key is under the blue pot", space_id="s", doc_id="key", author="Ana")
home.remember_many([fr.Memory(f"note {n} of the garden", "s", doc_id=f"n{n}") for n in range(5)],
                   embed="later")
home.relations.add(fr.Relation("Ana", "sister of", "Ben", "s"))
home.flush(); home.maintenance.rebuild()
context = fr.RecallContext(person_id="ana", time_budget_ms=60_000)
question = "where is the spare key?"
answer = home.recall(question, context)
assert answer.results[0].doc_id == "key", answer
assert answer.trace.embedder, answer.degraded
home.explain(question, "key", context); home.inspect(question, context)
home.understand(question, context); home.opening(context)
home.feedback(answer, "key", True, ctx=context)
relation = fr.Relation("Ana", "sister of", "Ben", "s")
assert home.relations.may_remove(relation, person_id="ana")
assert home.relations.remove(relation, person_id="ana")
assert home.memories.may_correct("n0", person_id="ana")
assert home.correct("n0", person_id="ana", text="note 0 of the yard").changed
home.relations.all(context); home.memories.page(context); home.memories.entities(context)
home.memories.ids("ana")
home.spaces.accessible("ana"); home.spaces.private("ana"); home.zone
assert home.memories.get("key", context)
home.learning.all("ana"); home.learning.undo(person_id="ana"); home.learning.reset("ana")
home.people.add_guardian("ana", "ben"); assert home.people.guardians() == {"ben": ("ana",)}
assert home.people.remove_guardian("ana", "ben")
home.spaces.hide(fr.Hidden("s", "guest", ("author",))); assert home.spaces.hidden()
home.people.add(fr.Person("cem", "Cem")); home.spaces.grant(fr.Grant("cem", "s", "guest"))
assert home.spaces.revoke("cem", "s")
assert home.audit.entries("ana"); home.audit.keep_days(7)
plan = home.forget(fr.Selection(doc_ids=("n1", "n2")), person_id="ana", dry_run=True)
receipt = home.forget(["n1", "n2"], person_id="ana", token=plan.token,
                    undo_for=datetime.timedelta(days=1))
assert home.erasure.undo(receipt.receipt_id, person_id="ana") == 2
gone = home.forget("n3", person_id="ana")
assert home.erasure.verify(gone).forgotten and home.erasure.receipts() == [gone]
home.erasure.set_rule("event", 30); assert home.erasure.rules()
assert home.erasure.apply_rules(dry_run=True).doc_ids == () and home.erasure.apply_rules() is None
asyncio.run(home.arecall(question, context))
asyncio.run(home.aremember(fr.Memory("a late note", "s")))
asyncio.run(home.aremember_many([fr.Memory("a later note", "s", doc_id="later")]))
asyncio.run(home.aforget("later", person_id="ana")); asyncio.run(home.aflush())
asyncio.run(home.arun(home.people.all))
home.sources.write("calendar", "1", "Swimming on Tuesday", space_id="s")
assert home.sources.keys("calendar") == ["1"] and home.sources.all()
home.sources.withdraw("calendar", "1"); home.sources.forget("calendar")
event = "BEGIN:VEVENT\\nUID:a\\nDTSTART:20260901T163000Z\\nRRULE:FREQ=WEEKLY\\nSUMMARY:Choir"
for name, text in {
    "a.txt": "30/10/2025, 18:05 - Ana: The tap drips",
    "a.ics": f"BEGIN:VCALENDAR\\n{event}\\nEND:VEVENT\\nEND:VCALENDAR",
    "a.vcf": "BEGIN:VCARD\\nVERSION:3.0\\nFN:Ana\\nTEL:1\\nPHOTO;VALUE=uri:http://x.example/a\\nEND:VCARD",
    "a.md": "---\\ntitle: Note\\n---\\n![picture](http://x.example/a.png)",
    "a.csv": "note\\nBuy milk",
    "a.mbox": "From x\\nFrom: a@x.example\\nContent-Type: text/html\\n\\n<img src=http://x.example/>Hi",
}.items():
    (folder / name).write_text(text)
    assert home.sources.import_file(folder / name, space_id="s").created, name
home.people.remove("cem", said="keep")
home.move(timezone="Asia/Kolkata")
home.people.all(); home.spaces.all(); home.spaces.grants(); home.region
home.maintenance.stats(); home.maintenance.pending(); home.maintenance.check()
home.maintenance.reset_unreadable()
home.maintenance.backup(folder / "backup.db"); home.maintenance.reembed()
home.maintenance.export_to(folder / "export.jsonl", feedback=True, log=True)
fr.understand("what did we do last summer?")
with fr.FamilyRecall.open(folder / "new.db") as new:
    Recording(new).maintenance.import_from(folder / "export.jsonl")
home.close(); asyncio.run(home.aclose())
asyncio.run(home.aopen(folder / "family.db")).close()
closed = Recording(files, "files.")
closed.copy_file(folder / "family.db", folder / "copy.db")
closed.restore(folder / "family.db", folder / "backup.db")
closed.migrate(folder / "family.db")
closed.rekey(folder / "copy.db", new_key="a phrase")
report = examine(folder / "family.db")
assert report.ok, [check for check in report.checks if not check.ok]
print(json.dumps({"sockets": sockets, "used": sorted(used)}))
"""


@pytest.fixture(scope="module")
def surface(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Call everything in a process that may open no socket; return sockets and used names."""
    done = subprocess.run(
        [sys.executable, "-c", SURFACE, str(tmp_path_factory.mktemp("offline"))],
        capture_output=True, text=True, check=False, timeout=220, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    read: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return read


def test_no_call_opens_a_socket(surface: dict[str, list[str]]) -> None:
    """With the shipped models and a real file, everything works without a socket."""
    assert surface["sockets"] == []


def test_nothing_of_the_surface_is_left_out(surface: dict[str, list[str]]) -> None:
    """Every public name of a household is called above."""
    parts = get_type_hints(FamilyRecall)
    public = {name for name, _ in inspect.getmembers(FamilyRecall) if not name.startswith("_")}
    public |= {
        f"{part}.{name}"
        for part, kind in parts.items()
        for name, _ in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }
    public |= {
        f"files.{name}"
        for name, function in inspect.getmembers(files, inspect.isfunction)
        if function.__module__ == files.__name__
    }

    assert public <= set(surface["used"])


def test_nothing_that_was_read_is_run() -> None:
    """No module unpickles, evaluates or executes, and NumPy loads no objects."""
    running = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / "family_recall").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call) and runs_data(node)
    ]

    assert not running, running


def runs_data(node: ast.Import | ast.ImportFrom | ast.Call) -> bool:
    """Whether a statement could run what it reads."""
    if not isinstance(node, ast.Call):
        names = [alias.name for alias in node.names]
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        unpicklers = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "joblib"}
        return bool({name.split(".")[0] for name in names} & unpicklers)
    called = node.func
    if isinstance(called, ast.Name):
        return called.id in {"eval", "exec", "compile", "__import__"}
    return (
        isinstance(called, ast.Attribute)
        and called.attr == "load"
        and any(
            keyword.arg == "allow_pickle"
            and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
            for keyword in node.keywords
        )
    )


def test_a_model_that_was_altered_is_not_loaded(tmp_path: Path) -> None:
    """A model file with one changed byte does not have the manifest's hash, and is left out."""
    for file in find_models().iterdir():
        if file.name != "static.npz":
            (tmp_path / file.name).symlink_to(file)
    content = bytearray((find_models() / "static.npz").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "static.npz").write_bytes(content)

    models = Models(tmp_path)
    assert models.static() is None
    models.close()

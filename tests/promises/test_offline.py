"""Offline: nothing asks the network, and nothing that was read is ever run."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from family_recall import FamilyRecall
from family_recall.encoders.loader import Models
from family_recall.encoders.manifest import find_models

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "family_recall").rglob("*.py"))

# One call of every public name of a household; what the audit hook hears is a failure.
SURFACE = """
import asyncio, datetime, json, sys
from pathlib import Path

heard = []

def hook(event, arguments):
    if event.startswith("socket."):
        if event == "socket.__new__" and arguments[1] not in (2, 10):  # AF_INET, AF_INET6
            return  # asyncio's own pair of ends
        if event in ("socket.bind", "socket.connect") and isinstance(arguments[1], str):
            return
        heard.append(event)
        raise RuntimeError(f"the network was asked: {event}")

sys.addaudithook(hook)
import socket
try:
    socket.socket()
except RuntimeError:
    heard.clear()
else:
    sys.exit("the hook hears nothing")

import family_recall as fr
from family_recall.api import files
from family_recall.cli.doctor import examine

folder = Path(sys.argv[1])
home = fr.FamilyRecall.open(folder / "family.db", timezone="Europe/Berlin")
used = set()

class Noting:
    def __getattr__(self, name):
        used.add(name)
        return getattr(home, name)

it = Noting()
it.warmup()
it.spaces.add(fr.Space("s", "shared")); it.spaces.add(fr.Space("p", "private"))
for one in ("ana", "ben"):
    it.people.add(fr.Person(one, one.title())); it.spaces.grant(fr.Grant(one, "s", "owner"))
it.remember(fr.Memory("The spare key is under the blue pot", "s", doc_id="key", author="Ana"))
it.remember_many([fr.Memory(f"note {n} of the garden", "s", doc_id=f"n{n}") for n in range(5)],
                 embed="later")
it.relations.add(fr.Relation("Ana", "sister of", "Ben", "s"))
it.flush(); it.maintenance.rebuild()
context = fr.RecallContext(person_id="ana", time_budget_ms=60_000)
question = "where is the spare key?"
answer = it.recall(question, context)
assert answer.results[0].doc_id == "key", answer
assert answer.trace.embedder, answer.degraded
it.explain(question, "key", context); it.inspect(question, context)
it.understand(question, context); it.opening(context)
it.feedback(answer, "key", True, ctx=context)
told = fr.Relation("Ana", "sister of", "Ben", "s")
assert it.relations.may_remove(told, person_id="ana") and it.relations.remove(told, person_id="ana")
assert it.memories.may_correct("n0", person_id="ana")
assert it.correct("n0", person_id="ana", text="note 0 of the yard").changed
it.relations.all(context); it.memories.page(context); it.memories.entities(context); it.spaces.accessible("ana"); it.zone
assert it.memories.get("key", context)
it.learning.all("ana"); it.learning.undo(person_id="ana"); it.learning.reset("ana")
it.people.add_guardian("ana", "ben"); assert it.people.guardians() == {"ben": ("ana",)}
assert it.people.remove_guardian("ana", "ben")
it.spaces.hide(fr.Hidden("s", "guest", ("author",))); assert it.spaces.hidden()
it.people.add(fr.Person("cem", "Cem")); it.spaces.grant(fr.Grant("cem", "s", "guest"))
assert it.spaces.revoke("cem", "s")
assert it.audit.entries("ana"); it.audit.keep_days(7)
plan = it.forget(fr.Selection(doc_ids=("n1", "n2")), person_id="ana", dry_run=True)
receipt = it.forget(["n1", "n2"], person_id="ana", token=plan.token,
                    undo_for=datetime.timedelta(days=1))
assert it.erasure.undo(receipt.receipt_id, person_id="ana") == 2
gone = it.forget("n3", person_id="ana")
assert it.erasure.verify(gone).forgotten and it.erasure.receipts() == [gone]
it.erasure.set_rule("event", 30); assert it.erasure.rules()
assert it.erasure.apply_rules(dry_run=True).doc_ids == () and it.erasure.apply_rules() is None
asyncio.run(it.arecall(question, context))
asyncio.run(it.aremember(fr.Memory("a late note", "s")))
it.people.all(); it.spaces.all(); it.spaces.grants(); it.region; it.maintenance.stats(); it.maintenance.pending(); it.maintenance.check()
it.maintenance.backup(folder / "backup.db"); it.maintenance.reembed()
it.maintenance.export_to(folder / "export.jsonl", judgements=True, log=True)
fr.understand("what did we do last summer?")
with fr.FamilyRecall.open(folder / "new.db") as new:
    new.maintenance.import_from(folder / "export.jsonl"); used.add("import_from")
it.close(); it.close()
files.copy_file(folder / "family.db", folder / "copy.db")
files.restore(folder / "family.db", folder / "backup.db")
files.migrate(folder / "family.db")
used |= {"open", "copy_as_it_is", "restore", "migrate"}
report = examine(folder / "family.db")
assert report.ok, [one for one in report.checks if not one.ok]
print(json.dumps({"heard": heard, "used": sorted(used)}))
"""
ELSEWHERE = {
    "rekey": "tests/stores/test_keys.py",  # needs the extra crypto
}
"""Public names that another test calls, with the one that does."""


@pytest.fixture(scope="module")
def surface(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Call everything in a process that may open no socket; gives what was heard and used."""
    done = subprocess.run(
        [sys.executable, "-c", SURFACE, str(tmp_path_factory.mktemp("offline"))],
        capture_output=True, text=True, check=False, timeout=220, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    read: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return read


def test_no_call_opens_a_socket(surface: dict[str, list[str]]) -> None:
    """With the shipped models and a real file, everything works and no socket is asked for."""
    assert surface["heard"] == []


def test_nothing_of_the_surface_is_left_out(surface: dict[str, list[str]]) -> None:
    """Every public name of a household is called above, or by a test that is named."""
    public = {name for name, _ in inspect.getmembers(FamilyRecall) if not name.startswith("_")}

    assert public - set(surface["used"]) == set(ELSEWHERE)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_that_was_read_is_run(path: Path) -> None:
    """No module unpickles, evaluates or executes, and NumPy loads no objects."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            roots = {name.split(".")[0] for name in names}
            forbidden = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "joblib"}
            assert not roots & forbidden, f"{path}:{node.lineno}"
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name):
                assert called.id not in {"eval", "exec", "compile", "__import__"}, node.lineno
            elif isinstance(called, ast.Attribute) and called.attr == "load":
                objects = [one for one in node.keywords if one.arg == "allow_pickle"]
                assert all(
                    isinstance(one.value, ast.Constant) and one.value.value is False
                    for one in objects
                ), f"{path}:{node.lineno}"


def test_a_model_that_was_altered_is_not_loaded(tmp_path: Path) -> None:
    """One changed byte of a model file, and its hash is not the manifest's: it is left out."""
    for each in find_models().iterdir():
        if each.name != "static.npz":
            (tmp_path / each.name).symlink_to(each)
    content = bytearray((find_models() / "static.npz").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "static.npz").write_bytes(content)

    models = Models(tmp_path)
    assert models.static() is None
    models.close()

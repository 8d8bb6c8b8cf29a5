"""Hand the library broken input by the million: clear errors alone may come of it.

Each input is a sound one, mutated: bytes flipped, cut, doubled and spliced, or values of its JSON
replaced by odd ones. A finding is an error of another kind than the ones the docstrings name, an
input that takes longer than --longest-s, or one that is taken in and does not come out the same.

  question      understand(), on a household of a few memories
  recall        recall(), on the same
  filters       Filters and RecallContext from JSON
  memory        Memory from JSON
  jsonl         lines of a JSON Lines file
  record        records of an export, loaded one by one
  export        whole exports, imported into a new household
  file          a household's file, opened and asked: no text comes of it that nobody told
  answer        Answer from JSON, with its trace
  manifest      entries of a model manifest

Examples:
  python -m tools.torture.fuzz --inputs 20000
  python -m tools.torture.fuzz --inputs 1000000 --seed 3 --json fuzz.json
  python -m tools.torture.fuzz --only question --inputs 5000
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from family_recall import Answer, FamilyRecall, Filters, Hidden, Memory, RecallContext, Relation
from family_recall.encoders.manifest import ModelEntry, convert
from family_recall.errors import (
    DatasetError,
    FamilyRecallError,
    InvalidMemoryError,
    InvalidRequestError,
    ModelError,
)
from family_recall.store import export
from family_recall.store.file.schema import SCHEMA
from family_recall.types.json_lines import read_jsonl
from tools.common import MODELS, parser_of, write_json
from tools.torture.household import HOME, add_family, note, open_home

MANIFEST = MODELS / "manifest.json"
QUESTIONS = (
    "What did I tell Priya about vacation last March?",
    "when does grandma land on the 3rd of July 2025 at 6:40pm?",
    "who is my wife's brother's oldest daughter",
    "what happened between Christmas and New Year's Eve the year before last",
    "order 4711-22, https://example.org/a?b=c and priya@example.org",
    "three weeks after we moved, but not on a Sunday",
    "since yesterday evening: half an hour ago or in two days' time",
)
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 2**70, 0.0, -0.0, 1e308, -1e-308,
    math.nan, math.inf, "", " ", "\x00", "\ud800", "\u202e", "a" * 2000, "ﬃ", "👩‍👩‍👧",
    "2026-02-30", "0001-01-01", "9999-12-31T23:59:59.999999+14:00", "shared", "green", "now",
    [], {}, [[]], [None], {"": None}, ["a", 1], "[]", "{}", "null",
)  # fmt: skip
TOKENS = (
    *"yesterday ago between until since 31 0 -1 99999999999 1e9 2024-02-29 32nd next half".split(),
    *"' \" ( ) * AND OR NOT NEAR ^ : / \\ % _ ; -- ß İ 和 🎂 { } [ ] , null true NaN".split(),
    *("\x00", "\u200d", "\u0301", ""),
)

_REPORT_EVERY = 5_000  # inputs

Run = Callable[[random.Random, Any], object]


@dataclass(frozen=True, slots=True)
class Target:
    """Something that takes input: how often it is chosen, and which errors are allowed."""

    weight: float
    seeds: tuple[Any, ...]
    run: Run
    allowed: tuple[type[BaseException], ...]


@dataclass(slots=True)
class Tally:
    """The result so far."""

    inputs: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    findings: list[dict[str, str]] = field(default_factory=list)


class Changed(Exception):  # noqa: N818  a finding, not an error of anybody's
    """An accepted input did not come out the same."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz; 1 if anything was found."""
    options = _parser().parse_args(arguments)
    started = time.monotonic()

    def report(tally: Tally) -> None:
        if options.json:
            record = {
                "inputs": dict(tally.inputs), "accepted": dict(tally.accepted),
                "total": tally.inputs.total(), "seed": options.seed,
                "seconds": round(time.monotonic() - started, 1), "findings": tally.findings,
            }  # fmt: skip
            write_json(options.json, record)

    tally = fuzz(options.inputs, options.seed, options.only, options.longest_s, report)
    seconds = time.monotonic() - started
    for finding in tally.findings[:20]:
        print(f"{finding['target']}: {finding['input']}\n{finding['error']}\n")
    for name, n in sorted(tally.inputs.items()):
        print(f"{name:<10} {n:>9,} inputs, {tally.accepted[name]:>9,} accepted")
    n_findings = len(tally.findings)
    print(f"{tally.inputs.total():,} inputs in {seconds:,.0f} s, {n_findings} findings")
    return 1 if n_findings else 0


def fuzz(
    inputs: int,
    seed: int,
    only: Sequence[str] | None = None,
    longest_s: float = 5.0,
    report: Callable[[Tally], None] | None = None,
) -> Tally:
    """Run this many inputs; the same seed makes the same ones.

    ``report`` is called with the tally so far, regularly and at the end.
    """
    chance, tally = random.Random(seed), Tally()
    with _targets() as targets:
        chosen = [name for name in targets if not only or name in only]
        weights = [targets[name].weight for name in chosen]
        for n, name in enumerate(chance.choices(chosen, weights, k=inputs), start=1):
            target = targets[name]
            value = _mutated(chance, chance.choice(target.seeds), target.seeds)
            started = time.monotonic()
            tally.inputs[name] += 1
            try:
                target.run(chance, value)
                tally.accepted[name] += 1
            except target.allowed:
                pass
            except Exception:  # noqa: BLE001  what is searched for
                _find(tally, name, value, traceback.format_exc(limit=-6))
            if (took_s := time.monotonic() - started) > longest_s:
                _find(tally, name, value, f"took {took_s:.1f} s")
            if report is not None and n % _REPORT_EVERY == 0:
                report(tally)
    if report is not None:
        report(tally)
    return tally


@contextlib.contextmanager
def _targets() -> Iterator[dict[str, Target]]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with open_home(place / "family.db") as home:
            add_family(home)
            home.remember_many([note(f"note-{number}", 0, 1) for number in range(40)])
            home.relations.add(Relation("Priya", "sister of", "Rajesh", HOME, evidence=("note-1",)))
            home.remember(note("note-1", 1, 1))
            home.erasure.set_rule("casual", 30_000)
            home.people.add_guardian("priya", "rajesh")
            home.spaces.hide(Hidden(HOME, "guest", ("author",)))
            answer = home.recall(QUESTIONS[0], RecallContext(person_id="priya"))
            home.feedback(answer, answer.results[0].doc_id, True, ctx=RecallContext("priya"))
            home.forget("note-39", person_id="priya")
            home.audit.entries("priya")  # so that the log is written
            home.maintenance.export_to(place / "export.jsonl", feedback=True, log=True)
            home.maintenance.backup(place / "backup.db")
            yield _targets_on(home, place)


def _targets_on(home: FamilyRecall, place: Path) -> dict[str, Target]:
    export, backup = (place / "export.jsonl").read_bytes(), (place / "backup.db").read_bytes()
    answers = [home.recall(question).to_json() for question in QUESTIONS]
    context = RecallContext(time_budget_ms=1000.0)
    records = [json.loads(line) for line in export.splitlines()[1:]]
    memories = [note(f"m{number}", 0, 2).to_json() for number in range(20)]
    filters = [
        {"kinds": ["fact"], "authors": ["Priya"], "labels": ["a"], "after": "2025-01-01"},
        {"sources": ["kitchen"], "before": "2025-06-01T10:00:00+02:00", "before_session": "t"},
        {"allow_shared": False},
    ]
    lines = [b"\n".join(export.splitlines()[start : start + 3]) for start in range(0, 60, 3)]
    requests, memory = (InvalidRequestError,), (InvalidMemoryError, TypeError)
    importing = (DatasetError, InvalidRequestError)
    # An answer comes from the host: Python's own errors are enough.
    broken = (KeyError, TypeError, ValueError, AttributeError, IndexError)
    return {
        "question": Target(3, QUESTIONS, lambda _, text: home.understand(text), requests),
        "recall": Target(1, QUESTIONS, lambda _, text: home.recall(text, context), requests),
        "filters": Target(20, tuple(filters), _filters, requests),
        "memory": Target(25, tuple(memories), _memory, memory),
        "jsonl": Target(15, tuple(lines), _lines_in(place / "lines.jsonl"), (DatasetError,)),
        "record": Target(15, tuple(records), _record(records), (*importing, *memory)),
        "export": Target(0.1, (export,), _import_in(place), importing),
        "file": Target(1, (backup,), _open_in(place, records), (FamilyRecallError,)),
        "answer": Target(10, tuple(answers), _answer, broken),
        "manifest": Target(20, tuple(_entries()), _manifest, (ModelError,)),
    }


def _filters(_: random.Random, record: Any) -> None:
    filters = Filters.from_json(record)
    if Filters.from_json(filters.to_json()) != filters:
        raise Changed


def _memory(_: random.Random, record: Any) -> None:
    memory = Memory.from_json(record)
    if Memory.from_json(memory.to_json()) != memory:
        raise Changed


def _answer(_: random.Random, record: Any) -> None:
    answer = Answer.from_json(record)
    answer.to_json()


def _manifest(_: random.Random, record: Any) -> None:
    convert(Path("models/manifest.json"), record, ModelEntry)


def _entries() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(MANIFEST.read_text(encoding="utf-8"))["models"]
    return entries


def _lines_in(path: Path) -> Run:
    def run(_: random.Random, content: bytes) -> None:
        path.write_bytes(content)
        for _line_no, record in read_jsonl(path):
            json.dumps(record)

    return run


def _record(records: Sequence[Mapping[str, Any]]) -> Run:
    """Load records into a household in memory, in place of the originals, and roll back."""
    connection = apsw.Connection(":memory:")
    connection.execute(SCHEMA)
    columns = export.columns_of(connection)
    for whole in records:
        fields = {name: whole[name] for name in whole if name != "table"}
        export.load_record(connection, columns, whole["table"], fields)
    keys = {
        table: [
            str(name)
            for (name,) in connection.execute(
                "SELECT name FROM pragma_table_info(?) WHERE pk > 0", (table,)
            ).fetchall()
        ]
        for table in {whole["table"] for whole in records}
    }

    def clear(table: str, fields: Mapping[str, Any]) -> None:
        values = [fields.get(name) for name in keys[table]]
        if all(
            isinstance(value, str) or (type(value) is int and abs(value) < 2**63)
            for value in values
        ):
            where = " AND ".join(f"{name} = ?" for name in keys[table])
            # A lone surrogate is no key of anything.
            with contextlib.suppress(UnicodeEncodeError):
                connection.execute(f"DELETE FROM {table} WHERE {where}", values)

    def run(_: random.Random, record: Any) -> None:
        fields = dict(record)
        table = fields.pop("table", None)
        if not isinstance(table, str):
            raise DatasetError("no table")
        connection.execute("BEGIN")
        try:
            if table in keys:
                clear(table, fields)
            export.load_record(connection, columns, table, fields)
        finally:
            connection.execute("ROLLBACK")

    return run


def _open_in(place: Path, records: Sequence[Mapping[str, Any]]) -> Run:
    texts = {record["text"] for record in records if record["table"] == "memory"}

    def run(_: random.Random, content: bytes) -> None:
        for made in place.glob("damaged.db*"):
            made.unlink()
        (place / "damaged.db").write_bytes(content)
        with open_home(place / "damaged.db", create=False) as home:
            for question in QUESTIONS[:2]:
                texts_returned = {result.text for result in home.recall(question).results}
                if texts_returned - texts:
                    raise Changed(texts_returned - texts)
            home.maintenance.check()

    return run


def _import_in(place: Path) -> Run:
    def run(_: random.Random, content: bytes) -> None:
        broken, again = place / "broken.jsonl", place / "again.jsonl"
        broken.write_bytes(content)
        for made in place.glob("imported.db*"):
            made.unlink()
        with open_home(place / "imported.db") as home:
            home.maintenance.import_from(broken)
            home.maintenance.export_to(again, feedback=True, log=True, overwrite=True)
            wrong = [finding for finding in home.maintenance.check() if finding.problem]
            home.flush()
            home.recall(QUESTIONS[0])
        if wrong:
            raise Changed(wrong)

    return run


def _mutated(chance: random.Random, seed: Any, seeds: Sequence[Any]) -> Any:
    if isinstance(seed, bytes):
        return mutated_bytes(chance, seed, others=seeds)
    if isinstance(seed, str):
        return _mutated_text(chance, seed)
    return _mutated_value(chance, seed)


def mutated_bytes(
    chance: random.Random,
    content: bytes,
    tokens: Sequence[str] = TOKENS,
    others: Sequence[bytes] = (),
    most: int = sys.maxsize,
) -> bytes:
    """Flip, cut, double (``most`` bytes), shuffle or insert tokens, or splice with others."""
    data = bytearray(content)
    for _ in range(chance.randint(0, 4)):
        at = chance.randrange(len(data) + 1)
        length = int(math.exp(chance.uniform(0, math.log(len(data) + 2))))
        match chance.randrange(7):
            case 0 if data:
                data[at % len(data)] = chance.randrange(256)
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = data[at : at + min(length, most)]
            case 3:
                data[at:at] = chance.choice(tokens).encode("utf-8", "surrogatepass")
            case 4 if others:
                other = chance.choice(others)
                data[at:] = other[chance.randrange(len(other) + 1) :]
            case 5:
                pieces = b"[", b'{"a":', b'"', b"\n", b"\r", b"\xff", b"="
                data[at:at] = chance.choice(pieces) * length
            case _:
                lines = bytes(data).split(b"\n")
                chance.shuffle(lines)
                data = bytearray(b"\n".join(lines))
    return bytes(data)


def _mutated_text(chance: random.Random, text: str) -> str:
    words = text.split(" ")
    for _ in range(chance.randint(0, 6)):
        at = chance.randrange(len(words) + 1)
        match chance.randrange(6):
            case 0:
                words[at:at] = [chance.choice(TOKENS)]
            case 1:
                del words[at : at + chance.randint(1, 3)]
            case 2:
                words[at:at] = chance.choice(QUESTIONS).split(" ")
            case 3:
                words[at:at] = [chr(chance.randrange(chance.choice((0x250, 0x110000))))]
            case 4:
                words[at:at] = [chance.choice([*TOKENS, "a", "1"])] * chance.choice((2, 20, 300))
            case _:
                chance.shuffle(words)
    return chance.choice((" ", " ", " ", "")).join(words)


def _mutated_value(chance: random.Random, value: Any) -> Any:
    """Copy JSON with some values replaced, dropped, added or renamed, at any depth."""
    odds = chance.choice((0.0, 0.03, 0.1, 0.4))

    def copied(part: Any) -> Any:
        if chance.random() < odds:
            return chance.choice(ODD)
        if isinstance(part, dict):
            made = {_renamed(chance, name, odds / 4): copied(part) for name, part in part.items()}
            if chance.random() < odds / 2:
                made[str(chance.choice(ODD))] = chance.choice(ODD)
            return made
        if isinstance(part, list):
            return [copied(part) for part in part if chance.random() >= odds / 4]
        if isinstance(part, str) and chance.random() < odds:
            return _mutated_text(chance, part)
        return part

    made = copied(value)
    return made if isinstance(made, dict) else {"value": made}


def _renamed(chance: random.Random, name: str, odds: float) -> str:
    return chance.choice(("", "text", "id", "x" * 50)) if chance.random() < odds else name


def _find(tally: Tally, name: str, value: Any, error: str) -> None:
    tally.findings.append({"target": name, "input": repr(value)[:2000], "error": error})


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--inputs", type=int, default=20_000, metavar="N", help="how many (default: 20000)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of chance (default: 1)")
    parser.add_argument("--only", action="append", metavar="NAME", help="this target alone; repeat")
    parser.add_argument(
        "--longest-s", type=float, default=5.0, metavar="S", help="a finding past it (default: 5)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there")
    return parser


if __name__ == "__main__":
    sys.exit(main())

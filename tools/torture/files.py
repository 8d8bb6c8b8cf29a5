"""Import hostile files: each is stored, or refused with its place, soon and in little memory.

Files of every format are made by the hundred: sound ones with hostile lines in place of some of
theirs (rules without end, parameters that a pattern reads in exponentially many ways, deep nesting,
runs of one character, bombs of aliases and of zeros), and mutated ones. Each is imported into a
household of its own by a child process. A finding is an error that is none of errors.py, an import
that takes longer than --longest-s or more memory than --most-mib, and a child that dies.

Examples:
  python -m tools.torture.files --files 500
  python -m tools.torture.files --files 20000 --seed 3 --only vcard --json files.json
"""

from __future__ import annotations

import argparse
import functools
import io
import json
import math
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from family_recall.errors import CONTROL, FamilyRecallError
from tools.common import memory_mib, parser_of, write_json
from tools.torture.fuzz import mutated_bytes
from tools.torture.household import HOME, add_family, note, open_home

_KILL_S, _KILL_MIB = 12, 4096
_STORED = 20  # memories: a file with more is read, and not stored, as that has other costs
_LONGEST_MESSAGE = 2_000  # characters
_LARGEST = 400_000  # characters of one hostile run

Chance = random.Random
Hostile = Callable[[Chance], str]


@dataclass(slots=True)
class Tally:
    """The result so far: files by reader and outcome, and what went wrong."""

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    slowest_s: dict[str, float] = field(default_factory=dict)
    largest_mib: dict[str, float] = field(default_factory=dict)
    findings: list[dict[str, str]] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Import hostile files; 1 if anything was found."""
    options = _parser().parse_args(arguments)
    tally = torture(
        options.files, options.seed, options.only, options.longest_s, options.most_mib, options.keep
    )
    for finding in tally.findings[:20]:
        print(f"{finding['reader']} ({finding['made']}): {finding['error']}\n")
    print(f"{len(tally.findings)} findings")
    if options.json:
        record = {
            "outcomes": {name: dict(counts) for name, counts in tally.outcomes.items()},
            "slowest_s": tally.slowest_s, "largest_mib": tally.largest_mib,
            "seed": options.seed, "findings": tally.findings,
        }  # fmt: skip
        write_json(options.json, record)
    return 1 if tally.findings else 0


def torture(
    files: int,
    seed: int,
    only: Sequence[str] | None = None,
    longest_s: float = 5.0,
    most_mib: float = 300.0,
    keep: Path | None = None,
) -> Tally:
    """Import this many files of each reader; the same seed makes the same ones."""
    tally = Tally()
    _warm_up()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with open_home(place / "family.db") as home:
            add_family(home)
        for name in (name for name in READERS if not only or name in only):
            chance = random.Random(f"{seed} {name}")
            counts = tally.outcomes.setdefault(name, Counter())
            slowest_s = largest_mib = 0.0
            for number in range(files):
                made, content = _made(chance, name)
                outcome, error, took_s, mib = _imported(place, name, content)
                counts[outcome] += 1
                slowest_s, largest_mib = max(slowest_s, took_s), max(largest_mib, mib)
                if outcome in {"stored", "refused"} and took_s > longest_s:
                    outcome, error = "slow", f"{took_s:.1f} s; {error}"
                if outcome in {"stored", "refused"} and mib > most_mib:
                    outcome, error = "large", f"{mib:,.0f} MiB; {error}"
                if outcome not in {"stored", "refused"}:
                    if outcome in {"slow", "large"}:
                        counts[outcome] += 1
                    tally.findings.append({"reader": name, "made": made, "error": error})
                    if keep:
                        keep.mkdir(exist_ok=True)
                        (keep / f"{name}-{number}-{outcome}").write_bytes(content)
            tally.slowest_s[name], tally.largest_mib[name] = slowest_s, largest_mib
            said = ", ".join(f"{n:,} {outcome}" for outcome, n in sorted(counts.items()))
            print(
                f"{name:<10} {files:,} files: {said}; slowest {slowest_s:.2f} s, largest "
                f"{largest_mib:.0f} MiB", flush=True
            )  # fmt: skip
    return tally


def _warm_up() -> None:
    """Load what readers load, so that no child is charged for it."""
    from family_recall.apps.importing.drafts import library  # noqa: PLC0415

    for name in ("icalendar", "recurring_ical_events", "yaml"):
        library(name)


def _imported(place: Path, name: str, content: bytes) -> tuple[str, str, float, float]:
    """Import a file in a child; return outcome, error, seconds and MiB."""
    (place / "home").mkdir(exist_ok=True)
    path = _written(place, name, content)
    receiver, sender = os.pipe()
    if (child := os.fork()) == 0:
        os.close(receiver)
        resource.setrlimit(resource.RLIMIT_CPU, (_KILL_S, _KILL_S))
        address_space = int(memory_mib("VmSize") + _KILL_MIB) << 20  # the parent's may be large
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
        signal.alarm(20 * _KILL_S)  # of what waits; the processors may be busy
        Path("/proc/self/clear_refs").write_text("5", "ascii")
        before_mib = memory_mib("VmRSS")
        outcome, error = _outcome(place, name, path)
        record = [outcome, error[-3000:], memory_mib("VmHWM") - before_mib]
        os.write(sender, json.dumps(record).encode())
        os._exit(0)
    os.close(sender)
    started = time.monotonic()
    with os.fdopen(receiver, "rb") as file:
        answer = file.read()
    _, status, used = os.wait4(child, 0)
    took_s = used.ru_utime + used.ru_stime
    for made in (place / "home").iterdir():
        made.unlink()
    if not answer:
        died = f"died with {status} after {time.monotonic() - started:.1f} s"
        return "died", died, took_s, used.ru_maxrss / 1024
    outcome, error, mib = json.loads(answer)
    return outcome, error, took_s, mib


def _outcome(place: Path, name: str, path: Path) -> tuple[str, str]:
    try:
        if name == "export":
            with open_home(place / "home" / "family.db") as home:
                home.maintenance.import_from(path)
        else:
            database = place / "home" / "family.db"
            database.write_bytes((place / "family.db").read_bytes())
            with open_home(database) as home:
                said = home.sources.import_file(path, space_id=HOME, dry_run=True)
                if said.created <= _STORED:
                    home.sources.import_file(path, space_id=HOME, embed="later")
    except FamilyRecallError as error:
        message = str(error)
        if CONTROL.search(message):
            return "raw", f"control characters: {message!r}"
        if len(message) > _LONGEST_MESSAGE:
            return "raw", f"{len(message):,} characters: {message[:200]}"
        if path.name not in message:
            return "raw", f"no place: {message!r}"
        return "refused", message
    except BaseException:  # noqa: BLE001  what is searched for
        return "raw", traceback.format_exc(limit=-6)
    return "stored", ""


def _written(place: Path, name: str, content: bytes) -> Path:
    path = place / f"file{READERS[name].suffix}"
    if path.is_dir():
        for made in path.iterdir():
            made.unlink()
    if name == "notes":
        path.mkdir(exist_ok=True)
        (path / "a sound one.md").write_text("Swimming is on Tuesday.")
        if not (path / "a pipe.md").exists():
            os.mkfifo(path / "a pipe.md")
        path_of_note = path / "hostile.md"
        path_of_note.write_bytes(content)
    else:
        path.write_bytes(content)
    return path


# What files are made of


def _made(chance: Chance, name: str) -> tuple[str, bytes]:
    """Return how a file was made, and its content."""
    reader = READERS[name]
    lines = reader.sound.strip("\n").split("\n")
    labels = []
    hostile = list(reader.hostile)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        label = chance.choice(hostile)
        fragment = reader.hostile[label](chance)
        labels.append(label)
        times = chance.choice((1, 1, 1, 2, 30)) if len(fragment) < 2_000 else 1
        if label == "whole":
            lines = fragment.split("\n")
        else:
            at = chance.choice(reader.places(lines))
            replaced = 0 if lines[at : at + 1] in ([reader.last], []) else chance.choice((0, 0, 1))
            lines[at : at + replaced] = [fragment] * times
    content = chance.choice(("\n", "\n", "\r\n")).join(lines).encode("utf-8", "surrogatepass")
    if chance.random() < 0.15:
        labels.append("mutated")
        content = _mutated(chance, content)
    if name == "zip":
        content, label = _zipped(chance, content)
        labels.append(label)
    return " + ".join(labels), content


def _mutated(chance: Chance, content: bytes) -> bytes:
    return mutated_bytes(chance, content, _TOKENS, most=_LARGEST)


def _zipped(chance: Chance, content: bytes) -> tuple[bytes, str]:
    """Pack a chat, with a bomb, odd entries or broken bytes."""
    label = chance.choice(("packed", "bomb", "lies", "many", "broken", "encrypted"))
    raw = io.BytesIO()
    if label == "bomb":
        tails = ("\n", "0", "\n1/1/26, 1:00 - a: b", "👩", "\n30/10/2026, 18:04 - Tom: Hello")
        return _bomb(chance.choice(tails), chance.choice((4, 30, 60))), label
    method = chance.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(raw, "w", method) as archive:
        archive.writestr("_chat.txt", content)
        for number in range(2_000 if label == "many" else 0):
            archive.writestr(f"picture {number}.jpg", b"", zipfile.ZIP_STORED)
    data = bytearray(raw.getvalue())
    if label == "lies":  # a size in the directory that is not the file's
        at = data.rfind(b"PK\x01\x02")
        data[at + 24 : at + 28] = chance.choice((0, 1, 2**31, 2**32 - 2)).to_bytes(4, "little")
    if label == "encrypted":
        at = data.rfind(b"PK\x01\x02")
        data[at + 8] |= chance.choice((1, 0x40))
    if label == "broken":
        return _mutated(chance, bytes(data)), label
    return bytes(data), label


@functools.cache
def _bomb(tail: str, mib: int) -> bytes:
    """Return a small archive of a large chat."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        n = (mib << 20) // len(tail.encode())
        archive.writestr("_chat.txt", "30/10/2026, 18:04 - Tom: Hi" + tail * n)
    return raw.getvalue()


def _run(chance: Chance, *texts: str) -> str:
    """Return one of some texts, repeated up to the length of a hostile run."""
    text = chance.choice(texts)
    length = int(math.exp(chance.uniform(1, math.log(_LARGEST))))
    return text * (length // len(text) + 1)


def _odd(chance: Chance) -> str:
    return chance.choice(_TOKENS)


_TOKENS = (
    "", " ", "\x00", "\x1b[2J\x1b]0;title\x07", "\ud800", "\u202e", "\u2028", "\x85", "ß", "👩‍👩‍👧",
    "0", "-1", "99999999999999999999", "1e999", "1" * 5000, "nan", "00000000", "00010101",
    "99991231", "99991231T235959Z", "00010101T000000", "20260230", "20261030T250000", "2026-10-30",
    "P99999999W", "\\", '"', "'", "=", ";", ":", ",", "%", "&#x110000;", "&#55555;",
    "=?utf-8?b?////?=", "=?utf-8?q?=ZZ?=", "=?x?b?a?=", "<", "-->", "]]>", "{", "[",
    "!!python/object:os.system", "*a",
)  # fmt: skip
_EVENT = "BEGIN:VEVENT\nUID:{uid}\nDTSTART:{start}\nSUMMARY:x\n{more}\nEND:VEVENT"


def _event(chance: Chance, more: str, start: str | None = None) -> str:
    starts = ("20260101T100000", "20260101T100000Z", "20260101", "00010101T000000", "18000101")
    return _EVENT.format(uid=chance.random(), start=start or chance.choice(starts), more=more)


def _rule(chance: Chance) -> str:
    """Return a rule of any parts, such as one that never comes true."""
    parts = [
        f"FREQ={chance.choice('SECONDLY MINUTELY HOURLY DAILY WEEKLY MONTHLY YEARLY'.split())}"
    ]
    lists = {
        "INTERVAL": ("0", "1", "-1", "99999999", "2147483648", "7"),
        "COUNT": ("0", "1", "-5", "1000000000"),
        "UNTIL": ("99991231", "99991231T235959Z", "20270101T000000", "00010101"),
        "BYHOUR": (_numbers(0, 24), "25", "9"),
        "BYMINUTE": (_numbers(0, 60), "30"),
        "BYSECOND": (_numbers(0, 60), "60"),
        "BYDAY": ("MO,TU,WE,TH,FR,SA,SU", "53MO", "-5FR", "XX", "MO"),
        "BYMONTH": ("2", "13", _numbers(1, 13)),
        "BYMONTHDAY": ("30", "31", "-31", _numbers(1, 32)),
        "BYYEARDAY": (_numbers(1, 367), "366", "-366"),
        "BYWEEKNO": (_numbers(1, 54), "53"),
        "BYSETPOS": (_numbers(1, 367), "-1", "366"),
        "WKST": ("SU", "XX"),
        "BYEASTER": ("0", "-1"),
    }
    names = chance.sample(list(lists), chance.randint(0, 6))
    return "RRULE:" + ";".join(parts + [f"{name}={chance.choice(lists[name])}" for name in names])


def _numbers(first: int, end: int) -> str:
    return ",".join(map(str, range(first, end)))


def _zone(chance: Chance) -> str:
    """Return a time zone whose changes follow a rule of their own."""
    name = chance.choice(("Own", "Europe/Berlin"))
    change = (
        f"BEGIN:STANDARD\nDTSTART:{chance.choice(('16010101T000000', '19700101T000000'))}\n"
        f"TZOFFSETFROM:{chance.choice(('+0100', '+9999', '+0000', '-2359'))}\nTZOFFSETTO:+0200\n"
        f"{_rule(chance)}\nEND:STANDARD\n"
    )
    return (
        f"BEGIN:VTIMEZONE\nTZID:{name}\n{change * chance.choice((1, 1, 50))}END:VTIMEZONE\n"
        f"BEGIN:VEVENT\nUID:z{chance.random()}\nDTSTART;TZID={name}:20261030T100000\nSUMMARY:z\n"
        f"{chance.choice(('', _rule(chance)))}\nEND:VEVENT"
    )


def _parameters(chance: Chance) -> str:
    """Return parameters that a pattern may read in many ways."""
    n = int(math.exp(chance.uniform(1, 9)))
    return chance.choice(
        (
            ';TYPE="a"' + ',"a"' * n + "!", ";TYPE=" + "a," * n + '"', ";a" * n + "!",
            ';a="' + "b" * n, ";=" * n, ";a=" + "=" * n + '"', ";TYPE=" + '"",' * n + "?",
            ";ENCODING=QUOTED-PRINTABLE" * (n % 50 + 1), ";CHARSET=nonsense", ";ENCODING=B",
            ";ENCODING=BASE64", ";VALUE=date", ";TZID=Nowhere", ";" + "a" * n, ";X" + "," * n,
        )
    )  # fmt: skip


def _nested(chance: Chance, open_: str, close: str = "") -> str:
    n = chance.choice((10, 100, 900, 3_000, 20_000))
    return open_ * n + close * chance.choice((0, n))


def _moment(chance: Chance) -> str:
    return (
        f"{chance.randint(0, 40)}/{chance.randint(0, 14)}/{chance.choice((0, 1, 26, 2026, 9999))}, "
        f"{chance.randint(0, 25)}:{chance.randint(0, 61):02}"
    )


_CHATS: Mapping[str, Hostile] = {
    "long line": lambda c: f"30/10/2026, 18:05 - Tom: {_run(c, 'a', 'a ', '<', '<a', '.', 'a.b ')}",
    "media": lambda c: f"30/10/2026, 18:05 - Tom: {_run(c, '<a: a', 'x.jpg (', '‎<', 'IMG-')}",
    "edited": lambda c: f"30/10/2026, 18:05 - Tom: a{_run(c, '<', '< ', ' <x')} edited",
    "author": lambda c: f"30/10/2026, 18:05 - {_run(c, ' ', 'a ', ':', ' :', '~', 'changed the ')}",
    "header": lambda c: _run(
        c, "1/1/1, 1:1", "[", "\u200e", "30/10/2026,  ", "1", "[1/1/26, 1:00] "
    ),
    "spaces": lambda c: "30/10/2026," + _run(c, " ", "\u00a0") + "18:05 - Tom: Hello",
    "blank lines": lambda c: _run(c, "\n", " \n", "\u200e\n", "\u2028"),
    "moments": lambda c: "\n".join(
        f"{_moment(c)} - Tom: Hi {n}" for n in range(c.choice((9, 3000)))
    ),
    "same": lambda c: "30/10/2026, 18:05 - Tom: Ok\n" * c.choice((10, 5_000)) + "x",
    "authors": lambda c: "\n".join(
        f"30/10/2026, 18:05 - T{n}: Hi" for n in range(c.choice((9, 3_000)))
    ),
    "odd": lambda c: f"30/10/2026, 18:05 - Tom{_odd(c)}: {_odd(c)}",
    "whole": lambda c: _run(c, "\n", "30/10/2026, 18:04", "[", "[1/1/26, 1:00:00] a: b\n"),
}
_CALENDARS: Mapping[str, Hostile] = {
    "rule": lambda c: _event(c, _rule(c)),
    "rules": lambda c: _event(c, "\n".join(_rule(c) for _ in range(c.choice((2, 20))))),
    "endless": lambda c: _event(
        c,
        f"RRULE:FREQ={c.choice(('DAILY', 'MONTHLY'))};BYMONTH=2;"
        f"BYMONTHDAY={c.choice(('30', '31'))}{c.choice(('', ';COUNT=9'))}",
    ),
    "within a day": lambda c: _event(
        c,
        f"RRULE:FREQ={c.choice(('DAILY', 'YEARLY'))};BYHOUR="
        f"{_numbers(0, 24)};BYMINUTE={_numbers(0, 60)};BYSECOND="
        f"{_numbers(0, 60)}",
    ),
    "old": lambda c: _event(c, _rule(c), "00010101T000000"),
    "moved": lambda c: (
        "\n".join(
            _EVENT.format(
                uid="same",
                start="20260101T100000",
                more=f"RECURRENCE-ID:2026{1 + n % 12:02}{1 + n % 28:02}T{n % 24:02}0000",
            )
            for n in range(c.choice((3, 300)))
        )
        + "\n"
        + _EVENT.format(uid="same", start="20250101T100000", more=_rule(c))
    ),
    "many": lambda c: "\n".join(_event(c, _rule(c)) for _ in range(c.choice((20, 60)))),
    "dates": lambda c: _event(
        c,
        f"{c.choice(('RDATE', 'EXDATE'))}:" + ",".join(["20260101T100000"] * c.choice((5, 5_000))),
    ),
    "periods": lambda c: _event(c, f"RDATE;VALUE=PERIOD:20260101T100000/{_odd(c)}"),
    "duration": lambda c: _event(c, f"DURATION:P{c.choice(('9' * 9, '1', '99999999999', '-9'))}W"),
    "zone": _zone,
    "nested": lambda c: _nested(
        c, f"BEGIN:{c.choice(('VEVENT', 'VALARM', 'X', 'VCALENDAR'))}\n", "END:VEVENT\n"
    ),
    "parameters": lambda c: _event(c, f"LOCATION{_parameters(c)}:x"),
    "long line": lambda c: _event(c, "DESCRIPTION:" + _run(c, "a", "\\", "\\n", ";", ",", "^")),
    "folded": lambda c: _event(c, "DESCRIPTION:a" + _run(c, "\n a", "\n ", "\n \n ")),
    "value": lambda c: _event(
        c, f"{c.choice('DTEND DTSTART RECURRENCE-ID EXDATE URL'.split())}:{_odd(c)}"
    ),
    "name": lambda c: _event(c, f"{_odd(c)}:{_odd(c)}"),
    "uid": lambda c: (
        f"BEGIN:VEVENT\nUID:{_run(c, 'a', '@')}\nSUMMARY:x\nDTSTART:20261030\nEND:VEVENT"
    ),
    "categories": lambda c: _event(c, "CATEGORIES:" + _run(c, ",", "a,", "\\,")),
    "spaces": lambda c: _run(c, "\n", " \n", "\n\t"),
    "odd": _odd,
}
_CONTACTS: Mapping[str, Hostile] = {
    "parameters": lambda c: f"TEL{_parameters(c)}:1",
    "no colon": lambda c: f"TEL{_parameters(c)}",
    "group": lambda c: f"{_run(c, 'item1.', 'a', '.')}TEL:1",
    "folded": lambda c: "NOTE:a" + _run(c, "\n a", "\n ", "\n ="),
    "quoted": lambda c: "NOTE;QUOTED-PRINTABLE:a" + _run(c, "=\n", "=\n=\n", "=\n =", "="),
    "photo": lambda c: "PHOTO;ENCODING=b;TYPE=JPEG:" + _run(c, "QUJD\n ", "A", "="),
    "long": lambda c: (
        f"{c.choice('NOTE FN N ADR ORG CATEGORIES TEL'.split())}:"
        "" + _run(c, ";", ",", "a", "\\", "\\;", " ")
    ),
    "nested": lambda c: _nested(c, "BEGIN:VCARD\n", "END:VCARD\n"),
    "cards": lambda c: "END:VCARD\nBEGIN:VCARD\nVERSION:3.0\nFN:A\nTEL:1\n" * c.choice((5, 2_000)),
    "lines": lambda c: "TEL:1\n" * c.choice((5, 5_000)),
    "labels": lambda c: "".join(
        f"i{n}.TEL:{n}\ni{n}.X-ABLabel:l{n}\n" for n in range(c.choice((5, 2_000)))
    ),
    "related": lambda c: f"RELATED;TYPE=child:{_run(c, 'a', 'a:', 'urn:')}",
    "bday": lambda c: f"BDAY:{_odd(c)}",
    "label": lambda c: f"i.TEL:1\ni.X-ABLabel:{_run(c, '_$!<', '>!$_')}",
    "odd": lambda c: (
        f"{c.choice('TEL NOTE FN UID N ADR VERSION BEGIN'.split())}{_odd(c)}:{_odd(c)}"
    ),
    "whole": lambda c: "BEGIN:VCARD\n" + _run(c, "\n", " ", "a", "BEGIN:VCARD", "BEGIN:"),
}


def _front(text: str) -> str:
    return f"---\n{text}\n---\n# Swimming\nIt is on Tuesday."


def _aliases(chance: Chance) -> str:
    n, width = chance.choice(((4, 3), (9, 9), (30, 2), (12, 9)))
    lines = ["a0: &a0 [x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, n)]
    name = chance.choice(("tags", "labels", "date", "title", "author"))
    return "\n".join((*lines, f"{name}: {chance.choice(('', '['))}*a{n - 1}"))


_NOTES: Mapping[str, Hostile] = {
    "whole": lambda c: _front(
        c.choice(
            (
                _aliases(c),
                "tags: &a [*a]",
                "a: &a {b: *a}\n<<: *a",
                "? " * c.choice((5, 400, 5_000)) + "a",
                _nested(c, "[", "]"),
                _nested(c, "{a: ", "}"),
                _nested(c, "- "),
                "tags: " + _run(c, "[", "a, "),
                "title: " + _run(c, "a", "'", '"', "\\", "&", "*", "!", "%"),
                f"title: {_odd(c)}",
                f"date: {_odd(c)}",
                f"date: {c.choice(('0x' + 'f' * 9999, '1:' * 4000 + '1', '2026-99-99'))}",
                "a: " + "9" * c.choice((10, 5_000, 200_000)),
                "tags:" + "\n- a" * c.choice((5, 20_000)),
                "".join(f"k{n}: {n}\n" for n in range(c.choice((10, 8_000)))),
                "<<: [" + "{a: 1}, " * 900 + "]",
                "a: !!binary " + _run(c, "QQ==", "="),
                "a: !!set {x, y}",
                "a: !!timestamp x",
                "!!float x: 1",
                "a: !!omap [a: 1]",
                "a: !!pairs x",
                "a: !!int ''",
                "a: !!float ''",
                "a: !!bool x",
                "- [a]: b",
                "? [a, b]\n: c",
                "? {a: b}\n: c",
                "date: {a: b}",
                "date: [2026-10-30]",
                "#" + _run(c, "\n#"),
            )
        ),
    ),
    "heading": lambda c: _run(c, "#", "# ", "# a\n", "###### a\na\n", "# a" + "#"),
    "fence": lambda c: _run(c, "```\n", "~~~ ", " ", " \n"),
    "dashes": lambda c: _run(c, "---\n", "--- ", "...\n", "- - ", "\n"),
    "sections": lambda c: "\n".join(
        f"{'#' * (1 + n % 6)} {n}\ntext" for n in range(c.choice((9, 4_000)))
    ),
    "same": lambda c: "# a\nb\n" * c.choice((9, 4_000)),
    "long": lambda c: _run(c, "a", "a ", "<", "![](", "[[", "*", "\u202e"),
    "odd": _odd,
}
_ROWS: Mapping[str, Hostile] = {
    "quotes": lambda c: _run(c, '"', '""', '",', 'a"', ",", ";", "\t"),
    "open": lambda c: '"' + _run(c, "a", "\n", ",", '""'),
    "long": lambda c: f"{_run(c, 'a', 'a ', ' ')},Tom,2026-10-30",
    "date": lambda c: f"x,Tom,{_odd(c)}",
    "digits": lambda c: f"x,Tom,{_run(c, '1', '1/', ' ', '1.', 'January ', '30/10/2026 1')}",
    "rows": lambda c: "x,Tom,30/10/2026\n" * c.choice((9, 8_000)),
    "header": lambda c: _run(c, "text,", "a,", ",", '"'),
    "blank": lambda c: _run(c, "\n", " \n", ",\n", "\r"),
    "odd": lambda c: f"{_odd(c)},{_odd(c)},{_odd(c)}",
    "whole": lambda c: (
        "text,author,date,importance,labels,kind,space_id\n"
        f"x,Tom,2026-10-30,{_odd(c)},{_run(c, ';', 'a;')},{_odd(c)},{_odd(c)}"
    ),
}


def _message(chance: Chance, head: str, body: str) -> str:
    return (
        f"From a@b Fri Oct 30 18:04:00 2026\nMessage-ID: <{chance.random()}@b>\nFrom: Tom <t@b>\n"
        f"Subject: Swimming\nDate: Fri, 30 Oct 2026 18:04:00 +0100\n{head}\n\n{body}\n"
    )


def _multipart(chance: Chance) -> str:
    n = chance.choice((3, 50, 300, 2_000))
    parts = [f'Content-Type: multipart/mixed; boundary="b{i}"\n\n--b{i}\n' for i in range(n)]
    if chance.random() < 0.5:
        parts = ['Content-Type: multipart/mixed; boundary="b"\n\n' + "--b\n\nx\n" * n]
    if chance.random() < 0.3:
        parts = ["Content-Type: message/rfc822\n\n" * n]
    return _message(chance, "".join(parts), "Hi")


_HTML = "Content-Type: text/html"
_CHARSETS = "utf-7 idna punycode hex zlib rot13 unicode_escape undefined utf-16".split()
_HEADERS = (
    "Subject From Message-ID References Date Content-Type Content-Disposition X-Gmail-Labels"
).split()
_MESSAGES: Mapping[str, Hostile] = {
    "html": lambda c: _message(
        c,
        _HTML,
        "<p>Hi</p>"
        + _run(
            c,
            "<!--",
            "<a =",
            "<",
            "</",
            "<!",
            "<?",
            "<![CDATA[",
            "&",
            "&#",
            "<a a=' ",
            "<script>",
            "<p>",
            "<a ",
            "<blockquote>",
            "</script",
            "<!-",
            "<style><",
            "<a\n",
            "<td>",
            '<a href="',
            "<!doctype",
            "<a/",
            "<a x=y",
            "<!--\n-",
            "--!",
            "<title>",
            "<textarea>",
            "<![if",
            "<%",
        ),
    ),
    "blank lines": lambda c: _message(
        c, "", "Hi" + _run(c, "\n", " \n", "\n\u00a0", "\n_") + c.choice(("", "x", "> a"))
    ),
    "quotes": lambda c: _message(
        c, "", "Hi\n" + _run(c, "> a\n", ">\n\n", "wrote:\n>\n", "On a\n>a\n")
    ),
    "attribution": lambda c: _message(
        c, "", f"On {_run(c, 'a', ' ', 'wrote ', 'on a ', ':')}\nx wrote:\n> a"
    ),
    "dashes": lambda c: _message(
        c, "", _run(c, "-", "--- ", "---- original", "-- original message\n")
    ),
    "outlook": lambda c: _message(c, "", _run(c, "From: a\n", "*from:* ", " ", "from:\nsent: a\n")),
    "device": lambda c: _message(
        c, "", f"Hi\n{_run(c, 'von meinem ', 'sent from my ', 'gesendet')}"
    ),
    "forwarded": lambda c: _message(c, "", _run(c, "\n", " ", "---", "\n ", " \n-- ")),
    "multipart": _multipart,
    "encoded": lambda c: _message(
        c,
        "Content-Transfer-Encoding: "
        + c.choice(("base64", "quoted-printable", "uuencode", "x-uue", "x")),
        _run(c, "=", "QQ==", "=3D", "begin 666 a\n", "=\n", "A"),
    ),
    "charset": lambda c: _message(
        c,
        f"Content-Type: text/plain; charset={c.choice((*_CHARSETS, _odd(c)))}",
        _run(c, "a", "+", "\\", "é", "-"),
    ),
    "header": lambda c: _message(
        c,
        f"{c.choice(_HEADERS)}: "
        + _run(
            c,
            "=?utf-8?q?a?= ",
            "=?",
            "a",
            "<",
            "(",
            "\\",
            '"',
            ",",
            "a;",
            ";*0*=",
            " ",
            "\n a",
            "((",
        ),
        "Hi",
    ),
    "odd header": lambda c: _message(
        c, f"{c.choice(('Date', 'Content-Type', 'From', 'Subject'))}: {_odd(c)}", "Hi"
    ),
    "parameters": lambda c: _message(
        c, "Content-Type: text/plain" + _run(c, "; a=b", ";", "; a*0=b", '; a="'), "Hi"
    ),
    "headers": lambda c: _message(
        c, "".join(f"X-{n}: a\n" for n in range(c.choice((9, 20_000)))) + "X: y", "Hi"
    ),
    "messages": lambda c: "".join(_message(c, "", f"Hi {n}") for n in range(c.choice((9, 1_000)))),
    "from lines": lambda c: _run(c, "From \n", "From a\n\n", ">From "),
    "long line": lambda c: _message(c, "", _run(c, "a", "a ", "<", ">", "\u202e")),
    "odd": lambda c: _message(c, _odd(c), _odd(c)),
}


def _records() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        with open_home(Path(folder) / "family.db") as home:
            add_family(home)
            home.remember_many([note(f"n{number}", 0, 1) for number in range(3)])
            home.maintenance.export_to(Path(folder) / "e.jsonl", feedback=True, log=True)
        lines = (Path(folder) / "e.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _record(chance: Chance) -> str:
    """Return a record of an export with a hostile value."""
    record = json.loads(chance.choice(_SOUND_EXPORT))
    name = chance.choice(list(record))
    deep = _nested(chance, "[", "]") if chance.random() < 0.5 else _nested(chance, '{"a":', "}")
    value = chance.choice(
        (
            json.dumps(_odd(chance)), json.dumps(_run(chance, "a", "\u0001", "é")), deep,
            "[" + ",".join(["0"] * chance.choice((9, 200_000))) + "]", "9" * 5_000, "-1", "1e400",
            "{" + ",".join(f'"{n}":{{}}' for n in range(chance.choice((9, 50_000)))) + "}", "null",
            "true", '"\\ud800"', "NaN", "-0", "9223372036854775808", "[{},[],{}]", "1.5",
            "[" + ",".join(["[]"] * chance.choice((9, 200_000))) + "]",
        )
    )  # fmt: skip
    others = ",".join(f"{json.dumps(k)}:{json.dumps(v)}" for k, v in record.items() if k != name)
    return f"{{{others},{json.dumps(name)}:{value}}}"


_EXPORTS: Mapping[str, Hostile] = {
    "record": _record,
    "whole": lambda c: (
        _record(c) if c.random() < 0.5 else _run(c, "[", '{"a":', "{}\n", " ", "\n", '"')
    ),
    "line": lambda c: _run(c, "[", '{"a":', "\n", " ", "{}", "0", '"'),
    "odd": _odd,
}


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader: its files' suffix, a sound file, hostile parts, and where these may stand."""

    suffix: str
    sound: str
    hostile: Mapping[str, Hostile]
    places: Callable[[Sequence[str]], Sequence[int]] = lambda lines: range(1, len(lines) + 1)

    @property
    def last(self) -> str:
        """The last line, which stays."""
        return self.sound.strip("\n").rpartition("\n")[2]


def _between(mark: str) -> Callable[[Sequence[str]], Sequence[int]]:
    return lambda lines: [n for n, line in enumerate(lines) if line.startswith(mark)] or [0]


_SOUND_EXPORT: Sequence[str] = [json.dumps(record) for record in _records()]
_CHAT = "30/10/2026, 18:04 - Tom: Swimming is on Tuesday\n13/11/2026, 18:04 - Ann: At six\n"
READERS: Mapping[str, Reader] = {
    "whatsapp": Reader(".txt", _CHAT, _CHATS),
    "zip": Reader(".zip", _CHAT, _CHATS),
    "icalendar": Reader(
        ".ics",
        "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\nBEGIN:VEVENT\nUID:1\nDTSTART:20261030T180000\n"
        "SUMMARY:Swimming\nEND:VEVENT\nEND:VCALENDAR\n",
        _CALENDARS,
        _between("END:VCALENDAR"),
    ),
    "vcard": Reader(
        ".vcf",
        "BEGIN:VCARD\nVERSION:3.0\nUID:1\nFN:Tom Lee\nTEL;TYPE=cell:1234\nEND:VCARD\n",
        _CONTACTS,
        _between("END:VCARD"),
    ),
    "notes": Reader("", "# Swimming\nIt is on Tuesday.\n", _NOTES),
    "csv": Reader(".csv", "text,author,date\nSwimming,Tom,2026-10-30\nTea,Ann,2026-11-01\n", _ROWS),
    "mbox": Reader(
        ".mbox", _message(random.Random(0), "", "At six."), _MESSAGES, _between("From ")
    ),
    "export": Reader(".jsonl", "\n".join(_SOUND_EXPORT), _EXPORTS),
}


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--files", type=int, default=500, metavar="N", help="of each reader (default: 500)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of chance (default: 1)")
    parser.add_argument("--only", action="append", metavar="READER", help="this one alone; repeat")
    parser.add_argument(
        "--longest-s", type=float, default=5.0, metavar="S", help="a finding past it (default: 5)"
    )
    parser.add_argument(
        "--most-mib", type=float, default=300.0, metavar="MIB", help="a finding past it (300)"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the files that found something"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there")
    return parser


if __name__ == "__main__":
    sys.exit(main())

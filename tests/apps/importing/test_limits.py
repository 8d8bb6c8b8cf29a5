"""No file hangs an import: what a crafted one costs is bounded, and the rest is kept."""

from __future__ import annotations

import _thread
import contextlib
import dataclasses
import os
import threading
import time
import zipfile
from pathlib import Path

import pytest

from family_recall.apps.importing import Limits, Reading, format_of, read
from family_recall.apps.importing.limits import Budget, OutOfTime
from family_recall.errors import DatasetError
from family_recall.types.browsing import FORMATS
from tests.importing_settings import SETTINGS, reasons, texts

CALENDAR = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\n{}END:VCALENDAR\n"
EVENT = "BEGIN:VEVENT\nUID:{}\nDTSTART:20260101T100000\nSUMMARY:{}\n{}END:VEVENT\n"
SOUND = EVENT.format("sound", "Swimming", "")
MAIL = "From a@b Fri Oct 30 18:04:00 2026\nFrom: Tom <t@b>\nSubject: x\n{}\n\n{}\n\n"
LONGEST_S = 5.0
"""Generous: each takes some hundredths of a second, and took minutes before."""


def load(path: Path, content: str | None = None, limits: Limits | None = None) -> Reading:
    """Read a file with some content, in bounded processor time."""
    if content is not None:
        path.write_text(content, "utf-8")
    file_format = format_of(path)
    assert file_format is not None
    settings = SETTINGS if limits is None else dataclasses.replace(SETTINGS, limits=limits)
    started_s = time.process_time()
    try:
        return read(path, file_format, settings)
    finally:
        assert time.process_time() - started_s < LONGEST_S


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=WEEKLY;INTERVAL=0",
        "FREQ=DAILY;BYHOUR={0};BYMINUTE={1};BYSECOND={1}",
        "FREQ=YEARLY;BYYEARDAY=366;BYHOUR={0};BYMINUTE={1}",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=SECONDLY",
    ],
)
def test_a_rule_without_end_is_stored_once(tmp_path: Path, rule: str) -> None:
    """And all other events as usual."""
    numbers = [",".join(map(str, range(n))) for n in (24, 60)]
    hostile = EVENT.format("hostile", "Piano", f"RRULE:{rule.format(*numbers)}\n")

    reading = load(tmp_path / "a.ics", CALENDAR.format(hostile * 1 + SOUND))

    piano, swimming = sorted(texts(reading))
    assert piano.startswith("Piano: Thursday 1 January 2026, 10:00")
    assert swimming.startswith("Swimming: ")


def test_all_rules_of_a_file_share_its_time(tmp_path: Path) -> None:
    """Twenty endless ones take no twenty times as long; each event is stored once."""
    endless = "RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30\n"
    events = "".join(EVENT.format(n, f"Piano {n}", endless) for n in range(20))

    limits = Limits(seconds=0.5)
    reading = load(tmp_path / "a.ics", CALENDAR.format(events + SOUND), limits)

    assert len(reading.drafts) == 21
    assert "repetitions of events whose rule cannot be followed, or not in time" in reasons(reading)


def test_a_calendar_of_components_in_each_other_is_refused(tmp_path: Path) -> None:
    """Each takes as long as all around it."""
    with pytest.raises(DatasetError, match="in each other"):
        load(tmp_path / "a.ics", CALENDAR.format("BEGIN:X\n" * 20_000 + SOUND))


def test_a_zone_that_changes_every_second_is_not_followed(tmp_path: Path) -> None:
    """It is listed with its line; the event is read."""
    zone = "BEGIN:VTIMEZONE\nTZID:x\nBEGIN:STANDARD\nRRULE:FREQ=SECONDLY\nEND:STANDARD\n"

    reading = load(tmp_path / "a.ics", CALENDAR.format(f"{zone}END:VTIMEZONE\n{SOUND}"))

    assert texts(reading) == ["Swimming: Thursday 1 January 2026, 10:00."]
    (item,) = reading.left_out
    assert item.where.endswith("a.ics:7")
    assert item.problem.startswith("expected a time zone that changes once a year")


def test_a_parameter_with_many_readings_is_left_out_at_once(tmp_path: Path) -> None:
    """Its 172 bytes had more ways to be read than there is time."""
    card = 'BEGIN:VCARD\nVERSION:3.0\nFN:Tom\nTEL;TYPE="a"{}!\nEND:VCARD\n'

    left_out, _ = load(tmp_path / "a.vcf", card.format(',"a"' * 5_000)).left_out

    assert left_out.where.endswith("a.vcf:4")
    assert left_out.problem.startswith("expected vCard")


def test_photos_and_folded_lines_take_no_longer_than_they_are(tmp_path: Path) -> None:
    """A photo of 40,000 folded lines is passed over; a note of as many is unfolded."""
    photo, note = "QUJD\n " * 40_000, "a\n " * 40_000
    card = f"BEGIN:VCARD\nVERSION:3.0\nFN:Tom\nPHOTO:{photo}\nNOTE:{note}\nEND:VCARD\n"

    assert texts(load(tmp_path / "a.vcf", card)) == [f"About Tom: {'a' * 40_000}"]


@pytest.mark.parametrize(
    "body",
    ["\n" * 40_000 + "Swimming", "Swimming\n" + " \n" * 40_000, "> a\n\n" * 20_000 + "Swimming"],
)
def test_blank_lines_of_mail_cost_what_they_are(tmp_path: Path, body: str) -> None:
    """Not their number squared."""
    assert texts(load(tmp_path / "a.mbox", MAIL.format("", body))) == ["Swimming"]


@pytest.mark.parametrize(
    "tail", ["<!--", "<a =", "<a ='", '<a "', "<![CDATA[", "</", "<script>", "<a href=\"x'>", "&#"]
)
def test_html_that_nothing_closes_costs_what_it_is(tmp_path: Path, tail: str) -> None:
    """A hundred thousand times the beginning of a tag."""
    page = f"<p>Swimming <b>on</b> Tuesday</p>{tail * 100_000}"

    reading = load(tmp_path / "a.mbox", MAIL.format("Content-Type: text/html", page))

    assert texts(reading)[0].startswith("Swimming on Tuesday")


@pytest.mark.parametrize(
    "header",
    [
        "Content-Type: text/plain" + ";" * 200_000,
        "Content-Type: text/plain" + "; a*0=b" * 50_000,
        "Subject: " + "=?utf-8?q?a" * 40_000,
        "References: " + "(" * 200_000,
        "Content-Type: text/plain; charset=punycode",
    ],
)
def test_one_hostile_message_leaves_the_others(tmp_path: Path, header: str) -> None:
    """It is left out or read; what follows it is read."""
    hostile = MAIL.format(header, "a-" + "a" * 200_000)

    reading = load(tmp_path / "a.mbox", hostile + MAIL.format("", "Swimming"))

    assert texts(reading)[-1] == "Swimming"


def test_of_a_long_message_the_beginning_is_read(tmp_path: Path) -> None:
    """The text comes before what is attached, and the import says that there was more."""
    head = "Content-Type: multipart/mixed; boundary=b"
    parts = "--b\n\nSwimming\n--b\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\n"
    mail = MAIL.format(head, parts + f"{'QUFB' * 19}\n" * 4_000) + MAIL.format("", "Piano")

    reading = load(tmp_path / "a.mbox", mail, Limits(message_megabytes=0.1))

    assert texts(reading) == ["Swimming", "Piano"]
    assert reasons(reading).count("ends of long messages") == 1


def test_aliases_are_no_values(tmp_path: Path) -> None:
    """Nine lines of nine aliases of each other stood for a gigabyte."""
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]" for n in range(9)]

    reading = load(tmp_path / "note.md", "\n".join(["---", *lines, "date: *a9", "---", "Swimming"]))

    assert texts(reading) == ["Swimming"]
    assert reading.left_out[0].where.endswith("note.md:3")
    assert "the alias *a0" in reading.left_out[0].problem


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_values_in_values_are_left_out_at_once(tmp_path: Path, opening: str) -> None:
    """Where they are three thousand deep, each takes as long as all before it."""
    reading = load(tmp_path / "note.md", f"---\n{opening * 3_000}\n---\nSwimming")

    assert texts(reading) == ["Swimming"]
    assert reading.left_out[0].where.endswith("note.md:2")
    assert "lists 11 deep" in reading.left_out[0].problem


def test_a_small_archive_of_a_large_chat_is_refused(tmp_path: Path) -> None:
    """Before it is unpacked whole."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_chat.txt", b"0" * (4 << 20))

    with pytest.raises(DatasetError, match=r"a\.zip/_chat\.txt: expected at most 1,048,576 bytes"):
        load(tmp_path / "a.zip", limits=Limits(megabytes=1))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_pipes_are_left_out(tmp_path: Path) -> None:
    """In a folder of notes; one that is named is refused."""
    os.mkfifo(tmp_path / "a pipe.md")
    (tmp_path / "note.md").write_text("Swimming", "utf-8")

    reading = load(tmp_path)

    assert texts(reading) == ["Swimming"]
    assert reasons(reading) == ["pipes and devices"]
    for file_format in FORMATS:
        if file_format != "markdown":
            with pytest.raises(DatasetError, match="no regular file"):
                read(tmp_path / "a pipe.md", file_format, SETTINGS)


@pytest.mark.parametrize("text", ["<omitted " * 45_000, "a.b <" * 80_000, "a" * 400_000])
def test_a_long_line_of_a_chat_is_one_message(tmp_path: Path, text: str) -> None:
    """Whatever it looks like."""
    chat = f"30/10/2026, 18:04 - Tom: {text.strip()}\n30/10/2026, 18:05 - Tom: Yes\n"

    assert texts(load(tmp_path / "a.txt", chat)) == [text.strip(), "Yes"]


def test_every_limit_refuses_with_its_place(tmp_path: Path) -> None:
    """And is raised by a factor."""
    rows = "text\n" + "Swimming\n" * 50
    small = Limits(lines=20)

    with pytest.raises(DatasetError, match=r"a\.csv:21: .*51; split the file, or raise the limits"):
        load(tmp_path / "a.csv", rows, small)
    with pytest.raises(DatasetError, match=r"a\.csv:12: expected at most 10 memories"):
        load(tmp_path / "a.csv", rows, Limits(items=10))
    with pytest.raises(DatasetError, match=r"a\.csv: expected at most 104 bytes"):
        load(tmp_path / "a.csv", rows, Limits(megabytes=0.0001))
    assert len(load(tmp_path / "a.csv", rows, small.times(10)).drafts) == 50


def test_a_call_that_never_ends_is_stopped() -> None:
    """Even one that catches every error, and by its processor time alone."""

    def endless() -> None:
        while True:
            with contextlib.suppress(Exception):
                sum(range(100))

    budget = Budget(0.2)
    with pytest.raises(OutOfTime):
        budget.run(endless)
    assert budget.left_s <= 0.0
    with pytest.raises(ZeroDivisionError):
        Budget(5.0).run(lambda: 1 / 0)
    assert Budget(0.05).run(lambda: threading.Event().wait(0.1)) is False


def test_an_interrupt_stops_what_is_read() -> None:
    """A Ctrl-C reaches the caller at once, and nothing goes on behind it."""
    steps = 0

    def endless() -> None:
        nonlocal steps
        _thread.interrupt_main()
        while True:
            steps += 1

    with pytest.raises(KeyboardInterrupt):
        Budget(60.0).run(endless)
    at_the_end = steps
    sum(range(100_000))
    assert steps == at_the_end

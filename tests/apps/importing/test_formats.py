"""Formats: recognised by suffix or content; any bytes are read or refused."""

from __future__ import annotations

import contextlib
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import Memory
from family_recall.apps.importing import format_of, read, source_name
from family_recall.apps.importing.drafts import decoded
from family_recall.errors import DatasetError
from family_recall.types.browsing import FORMATS, Format
from tests.importing_settings import SETTINGS, texts

CHAT = "30/10/2026, 18:04 - Tom: Grüße\n"


@pytest.mark.parametrize(
    ("name", "content", "file_format"),
    [
        ("a.ics", b"", "icalendar"),
        ("a.VCF", b"", "vcard"),
        ("a.md", b"", "markdown"),
        ("a.tsv", b"", "csv"),
        ("a.mbox", b"", "mbox"),
        ("a.zip", b"", "whatsapp"),
        ("a.txt", CHAT.encode(), "whatsapp"),
        ("a.txt", b"\n" + CHAT.encode("utf-8-sig"), "whatsapp"),
        ("a.txt", CHAT.encode("utf-16"), "whatsapp"),
        ("inbox", b"From x@y Thu Jan  1\n", "mbox"),
        ("a", b"begin:vcalendar\n", "icalendar"),
        ("a", b"\xef\xbb\xbfBEGIN:VCARD\n", "vcard"),
        ("a.txt", b"Hello\n", None),
    ],
)
def test_a_file_shows_its_format(
    tmp_path: Path, name: str, content: bytes, file_format: str | None
) -> None:
    """By its suffix, else by how it begins."""
    (tmp_path / name).write_bytes(content)

    assert format_of(tmp_path / name) == file_format


def test_a_folder_is_notes_or_a_mailbox_of_a_mac(tmp_path: Path) -> None:
    """Mail on a Mac exports a folder with a file mbox."""
    assert format_of(tmp_path) == "markdown"
    (tmp_path / "mbox").write_bytes(b"From x\nFrom: Tom <t@x>\n\nHi\n")

    assert format_of(tmp_path) == "mbox"
    assert texts(read(tmp_path, "mbox", SETTINGS)) == ["Hi"]
    assert format_of(tmp_path / "not there") is None


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("WhatsApp Chat with Tom.txt", "whatsapp:Tom"),
        ("WhatsApp Chat - Tom.zip", "whatsapp:Tom"),
        ("chat (2).txt", "whatsapp:chat"),
        ("Tom/_chat.txt", "whatsapp:Tom"),
        ("(1).txt", "whatsapp:(1)"),
    ],
)
def test_a_source_is_named_after_its_file(path: str, source: str) -> None:
    """A second download has the name of the first."""
    assert source_name(Path(path), "whatsapp") == source


def test_the_chat_in_an_archive_is_read(tmp_path: Path) -> None:
    """As the app makes it: one text beside the pictures."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_chat.txt", CHAT)
        archive.writestr("0001.jpg", b"\xff")

    reading = read(path, "whatsapp", SETTINGS)

    assert texts(reading) == ["Grüße"]
    assert reading.drafts[0].where == f"{path}/_chat.txt:1"


def test_an_archive_without_one_chat_is_an_error(tmp_path: Path) -> None:
    """None, or two of which neither is the app's; or no archive at all."""
    path = tmp_path / "a.zip"
    for names, message in ((), "got none"), (("a.txt", "b.txt"), "got a.txt, b.txt"):
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, CHAT)
        with pytest.raises(DatasetError, match=message):
            read(path, "whatsapp", SETTINGS)
    path.write_bytes(b"PK no archive")
    with pytest.raises(DatasetError, match="expected a zip archive"):
        read(path, "whatsapp", SETTINGS)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_every_unicode_encoding_is_read(encoding: str) -> None:
    """With a byte order mark or without, whatever ends the lines."""
    assert decoded("Grüße\r\nan alle\rdaheim".encode(encoding), "x") == "Grüße\nan alle\ndaheim"


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (b"caf\xe9", "expected UTF-8 or UTF-16, got byte 0xe9; save the file as UTF-8"),
        (b"b\0cdefgh", "expected text, got the character 0; is it text?"),
    ],
)
@pytest.mark.parametrize(
    ("suffix", "head", "good"),
    [
        ("txt", b"30/10/2026, 18:04 - Tom: ", b"30/10/2026, 18:05 - Tom: "),
        ("csv", b"text\n", b""),
        ("vcf", b"BEGIN:VCARD\nFN:Tom\nUID:1\nNOTE:", b"TITLE:plumber "),
    ],
)
def test_what_is_in_another_encoding_is_left_out(
    tmp_path: Path, suffix: str, head: bytes, good: bytes, bad: bytes, problem: str
) -> None:
    """With its place and what to do; the rest is read, and none of it in its stead."""
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(head + bad + b"\n" + good + b"hello\nEND:VCARD\n")

    reading = read(path, format_of(path) or "csv", SETTINGS)

    assert any("hello" in text for text in texts(reading))
    assert not any("caf" in text or "cdef" in text for text in texts(reading))
    (unread,) = (item for item in reading.left_out if item.problem)
    assert unread.problem == problem


def test_a_fold_may_lie_inside_a_character(tmp_path: Path) -> None:
    """As RFC 6350 and 5545 allow: lines are unfolded before they are decoded."""
    card = "BEGIN:VCARD\nFN:Zoë\nNOTE:the größere 🔑 key\nEND:VCARD\n"
    event = "BEGIN:VEVENT\nUID:1\nDTSTART:20261110T170000\nSUMMARY:the größere 🔑 key\nEND:VEVENT\n"
    calendar = f"BEGIN:VCALENDAR\n{event}END:VCALENDAR\n"
    for name, text in (("a.vcf", card), ("a.ics", calendar)):
        path, content = tmp_path / name, text.encode()
        for at in range(content.index(b"the"), content.index(b" key")):
            folded = b"\r\n " + content[at : at + 1] + b"\r\n\t"
            path.write_bytes(content[:at] + folded + content[at + 1 :])
            (told,) = texts(read(path, format_of(path) or "csv", SETTINGS))
            assert "the größere 🔑 key" in told


@pytest.mark.parametrize("name", ["a.vcf", "a.ics", "a.csv", "a.txt", "a.md", "a.mbox"])
def test_half_a_character_of_utf_16_leaves_the_rest(tmp_path: Path, name: str) -> None:
    """It is left out with its line, and raises nothing."""
    path = tmp_path / name
    half = "a \ud83d b".encode("utf-16-le", "surrogatepass")
    path.write_bytes(b"\xff\xfe" + "BEGIN:VCARD\nFN:Zoë\nNOTE:".encode("utf-16-le") + half)

    with contextlib.suppress(DatasetError):
        assert texts(read(path, format_of(path) or "csv", SETTINGS)) == []


def test_what_is_there_twice_or_too_long_is_left_out(tmp_path: Path) -> None:
    """Of two rows with one id the first counts; a key that is no id is replaced by a digest."""
    path = tmp_path / "t.csv"
    path.write_text(f"id,text\n7,a\n7,b\n{'k' * 600},c\n8,{'x' * 1_000_001}\n", "utf-8")

    reading = read(path, "csv", SETTINGS)

    assert texts(reading) == ["a", "c"]
    assert len(reading.drafts[1].key) == 16
    assert [(item.where, item.reason) for item in reading.left_out] == [
        (f"{path}:3", "what is there twice"),
        (f"{path}:5", "texts of more than 1,000,000 characters"),
    ]


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra that brings it; formats that need none are read without."""
    for name in ("icalendar", "yaml", "recurring_ical_events"):
        monkeypatch.setitem(sys.modules, name, None)
    for name, content in (
        ("a.ics", "BEGIN:VCALENDAR\nEND:VCALENDAR\n"),
        ("a.md", "---\ntitle: x\n---\nHi"),
    ):
        path = tmp_path / name
        path.write_text(content, "utf-8")
        with pytest.raises(DatasetError, match=r"pip install 'family-recall\[import\]'"):
            read(path, format_of(path) or "csv", SETTINGS)
    (tmp_path / "b.md").write_text("Hi", "utf-8")
    (tmp_path / "b.txt").write_text(CHAT, "utf-8")
    assert texts(read(tmp_path / "b.md", "markdown", SETTINGS)) == ["Hi"]
    assert texts(read(tmp_path / "b.txt", "whatsapp", SETTINGS)) == ["Grüße"]


_LINES = st.sampled_from([
    b"BEGIN:VCALENDAR\n", b"END:VCALENDAR\n", b"BEGIN:VEVENT\n", b"END:VEVENT\n", b"UID:a\n",
    b"SUMMARY:x\n", b"DTSTART:20261110T170000Z\n", b"DTSTART;VALUE=DATE:20261110\n",
    b"DTSTART;TZID=Nowhere/Else:20261110T170000\n", b"DTEND:20201110T170000Z\n", b"DURATION:P1D\n",
    b"RRULE:FREQ=WEEKLY\n", b"RRULE:FREQ=MONTHLY;BYDAY=9XX\n", b"RDATE:20261111T170000Z\n",
    b"RECURRENCE-ID:20261110\n", b"CATEGORIES:a,b\n", b"SEQUENCE:x\n", b" folded\n",
    b"BEGIN:VCARD\n", b"END:VCARD\n", b"VERSION:3.0\n", b"FN:Anna\n", b"N:a;b\n", b"TEL;CELL:1\n",
    b"BDAY:--0230\n", b"ADR:;;a\n", b"i.X-ABRELATEDNAMES:T\n", b"i.X-ABLabel:x\n", b"ORG:a;b\n",
    b"RELATED:urn:x\n", b"NOTE;ENCODING=QUOTED-PRINTABLE:=ZZ\n", b"PHOTO;ENCODING=b:!!!\n",
    b"30/10/2026, 18:04 - Tom: a\n", b"[1/2/26, 6:04:12 PM] Tom: \xe2\x80\x8eb\n", b"more\n",
    b"99/99/9999, 99:99 - x: y\n", b"1/2/3, 4:05 - : \n",
    b"---\n", b"title: x\n", b"date: 2026-02-30\n", b"date: [a]\n",
    b"tags: {a: b}\n", b"# H\n", b"```\n",
    b"text,date,id\n", b'"a,b\n', b"x,1/2/2026,7\n", b"a;b;c\n",
    b"From a\n", b"From: =?utf-8?b?!!?=\n", b"Date: x\n", b"Subject: \xff\n", b"\n", b"> q\n",
    b"Content-Type: text/plain; charset=\xff\n", b"Content-Type: multipart/mixed; boundary=B\n",
    b"Content-Transfer-Encoding: base64\n", b"--B\n", b"Message-ID: <1@x>\n", b"\0", b"\xff\xfe",
])  # fmt: skip


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    st.sampled_from(FORMATS),
    st.one_of(st.binary(max_size=200), st.lists(_LINES, max_size=14).map(b"".join)),
)
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, file_format: Format, content: bytes
) -> None:
    """Whatever is in a file, it is memories that can be stored, or one error of ours."""
    path = tmp_path_factory.getbasetemp() / f"any.{file_format}"
    path.write_bytes(content)
    try:
        reading = read(path, file_format, SETTINGS)
    except DatasetError as error:
        assert str(path) in str(error)  # noqa: PT017 -- either outcome is right
        return
    for draft in reading.drafts:
        Memory(draft.text, "s", doc_id=draft.key, **dict(draft.fields))
    assert len({draft.key for draft in reading.drafts}) == len(reading.drafts)

"""Mailboxes: who wrote what when, without quotes, signatures, spam and attachments."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from family_recall.apps.importing import Reading
from family_recall.apps.importing.mail import own_words, read_mailbox
from family_recall.errors import DatasetError
from tests.importing_settings import SETTINGS, moments, reasons, texts


def read(tmp_path: Path, *messages: str) -> Reading:
    """Read a mailbox of some messages, each its headers and text."""
    path = tmp_path / "m.mbox"
    path.write_text("".join(f"From x Thu Jan  1 00:00:00 2026\n{m}\n\n" for m in messages), "utf-8")
    return read_mailbox(path, SETTINGS)


def message(body: str, *headers: str) -> str:
    """Return a message from Tom."""
    sent = "Date: Mon, 28 Sep 2026 10:00:00 +0200"
    if any(header.startswith("Date") for header in headers):
        sent = "X-A: b"
    return "\n".join(("From: Tom <tom@example.org>", sent, *headers, "", body))


def test_a_message_is_its_words_with_sender_subject_and_thread(tmp_path: Path) -> None:
    """Encoded headers are decoded; a reply is in the session of what it replies to."""
    reading = read(
        tmp_path,
        message("It costs 85.", "Subject: =?utf-8?q?M=C3=BCller?=", "Message-ID: <1@x>"),
        message("Paid.", "Message-ID: <2@x>", "References: <1@x> <9@x>", "In-Reply-To: <9@x>"),
    )

    assert texts(reading) == ["It costs 85.", "Paid."]
    first, second = reading.drafts
    assert first.author_names == ("Tom", "tom@example.org")
    assert first.fields["title"] == "Müller"
    assert (first.key, first.fields["session_id"]) == ("<1@x>", "<1@x>")
    assert second.fields["session_id"] == "<1@x>"
    assert moments([first]) == [dt.datetime(2026, 9, 28, 8, 0, tzinfo=dt.UTC)]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("At seven.\n\nOn Fri, 30 Oct 2026 at 18:04 Tom <t@x>\nwrote:\n\n> When?\n", "At seven."),
        ("Ja.\n\nAm 30.10.2026 um 18:04 schrieb Tom:\n> Wann?", "Ja."),
        ("On Tuesday we meet.\nTom wrote:\n> When?\nBelow", "On Tuesday we meet.\nBelow"),
        ("> When?\nAt seven.\n> Where?\nHere.", "At seven.\nHere."),
        ("Hi\n\n-----Original Message-----\nFrom: x\nHello", "Hi"),
        ("Hi\n\nFrom: Tom\nSent: Monday\nTo: Anna\n\nHello", "Hi"),
        ("Part one\n____________________\nPart two", "Part one\n____________________\nPart two"),
        ("Hi\n________________________________\nFrom: Tom\nSent: Monday\nHello", "Hi"),
        ("Bye\n-- \nTom\nP.S. 4711", "Bye"),
        ("Best regards,\nTom\nP.S. the key is out", "Best regards,\nTom\nP.S. the key is out"),
        ("See you\n\nSent from my iPhone", "See you"),
        (">From here it is far", "From here it is far"),
        ("Bring:\n- cake", "Bring:\n- cake"),
    ],
)
def test_a_reply_is_what_its_sender_wrote(body: str, words: str) -> None:
    """Quotes, who is quoted and a marked signature go; whatever else is said stays."""
    assert own_words(body) == words


def test_a_forwarded_message_is_whole(tmp_path: Path) -> None:
    """What somebody passes on is what they say, by the subject or by a mark."""
    booking = "FYI\n-- \nTom\n\nFrom: KLM\nSent: Monday\n\n> Code X7"
    marked = "FYI\n\n---------- Forwarded message ---------\nFrom: KLM\nDate: Monday\n\nCode X7"

    assert texts(read(tmp_path, message(booking, "Subject: FW: Flight"), message(marked))) == [
        booking, marked,
    ]  # fmt: skip


def test_html_alone_is_read_as_words(tmp_path: Path) -> None:
    """A plain text beside it is preferred, an attachment never read."""
    page = "<head><style>p {x:y}</style><p>Code <b>X7</b></p><table><tr><td>a<td>b</table>"
    html = message(page, "Content-Type: text/html; charset=utf-8")
    both = message(
        "--B\nContent-Type: text/html\n\n<p>No</p>\n--B\nContent-Type: text/plain\n\nYes\n--B\n"
        "Content-Type: text/plain\nContent-Disposition: attachment\n\nNo\n--B--",
        "Content-Type: multipart/mixed; boundary=B",
    )

    assert texts(read(tmp_path, html, both)) == ["Code X7\n\na b", "Yes"]


def test_what_is_not_stored_is_counted(tmp_path: Path) -> None:
    """Spam, nothing but a quote, the same message under two labels, a date ahead."""
    reading = read(
        tmp_path,
        message("Buy", "X-Gmail-Labels: Inbox,Spam"),
        message("> Hello"),
        message("Once", "Message-ID: <1@x>"),
        message("Once", "Message-ID: <1@x>"),
        message("Late", "Date: Mon, 28 Sep 2037 10:00:00 +0200"),
        message("Never", "Date: whenever"),
    )

    assert texts(reading) == ["Once", "Late", "Never"]
    assert moments(reading.drafts)[1:] == [None, None]
    assert reasons(reading) == [
        "messages in spam or trash",
        "messages without a text",
        "messages that are there twice",
        "impossible dates of messages",
        "impossible dates of messages",
    ]
    assert reading.left_out[0].where.endswith("m.mbox, message 1")


def test_an_unknown_charset_loses_no_message(tmp_path: Path) -> None:
    """What cannot be decoded is replaced, in headers and in texts."""
    reading = read(
        tmp_path,
        message("Hi", "Content-Type: text/plain; charset=klingon", "Subject: =?klingon?q?x?="),
    )

    assert texts(reading) == ["Hi"]
    (tmp_path / "b.mbox").write_bytes("From Zoë\nSubject: =?utµ?q?x?=\n\nHi\n".encode())
    assert texts(read_mailbox(tmp_path / "b.mbox", SETTINGS)) == ["Hi"]


def test_what_is_no_mailbox_is_an_error(tmp_path: Path) -> None:
    """With its first line."""
    (tmp_path / "m.mbox").write_text("Hello", "utf-8")

    with pytest.raises(DatasetError, match=r"m\.mbox:1: expected a line 'From …'"):
        read_mailbox(tmp_path / "m.mbox", SETTINGS)
    with pytest.raises(DatasetError, match="cannot be read"):
        read_mailbox(tmp_path / "none.mbox", SETTINGS)

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
        "Content-Type: multipart/alternative; boundary=B",
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


@pytest.mark.parametrize(
    "header",
    [
        "X-Gmail-Labels: =?UTF-8?Q?Corbeille,Lus?=", "X-Gmail-Labels: Papierkorb,Ungelesen",
        "X-Gmail-Labels: " + "Label,\n " * 300 + "Lixeira", "X-GM-LABELS: \\Inbox,\\Trash",
        "X-Gmail-Labels: =?UTF-8?B?8J+SqQ==?=,=?UTF-8?B?44K044Of566x?=", "X-Status: AD",
        "X-Mozilla-Status: 0009", "X-Mozilla-Status2: 00200000",
    ],
)  # fmt: skip
def test_trash_and_spam_are_left_out_in_every_language(tmp_path: Path, header: str) -> None:
    """By label, or by the mark of what is deleted and still in the file."""
    reading = read(
        tmp_path, message("The code is 1111", header), message("Hi", "X-Gmail-Labels: Bin B")
    )

    assert texts(reading) == ["Hi"]
    assert reasons(reading) == ["messages in spam or trash"]


@pytest.mark.parametrize("name", ["Corbeille.mbox", "Gelöschte Elemente.mbox/mbox", "Junk"])
def test_a_folder_for_trash_is_left_out(tmp_path: Path, name: str) -> None:
    """By the name of its file, or of the folder that a Mac exports."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("From x Thu Jan  1 00:00:00 2026\nFrom: Tom <t@x>\n\nHi\n", "utf-8")

    assert reasons(read_mailbox(path, SETTINGS)) == ["messages in spam or trash"]


@pytest.mark.parametrize(
    ("body", "headers", "problem"),
    [
        ("caf\udce9", ["Content-Type: text/plain"], "expected the character set 'ascii'"),
        ("caf\udce9", ["Content-Type: text/plain; charset=klingon"], "character set 'klingon'"),
        ("R3I=!", ["Content-Transfer-Encoding: base64"], "known encoding, kept to, got 'base64'"),
        ("%&/", ["Content-Transfer-Encoding: x-own"], "known encoding, kept to, got 'x-own'"),
        ("Hi", ["Content-Type: multipart/mixed"], "expected the parts of multipart/mixed"),
        ("Hi", ["Subject: =?klingon?q?x?="], "expected the header Subject in a known character"),
        ("Hi", ["Subject: caf\udce9"], "expected the header Subject in a known character"),
        ("Hi", ["Date: Mon, 28 Sep 2026 10:00:00"], "expected a time zone such as +0100"),
        ("Hi", ["Date: Mon, 28 Sep 2026 10:00:00 XYZ"], "expected a time zone such as +0100"),
        ("Hi", ["Date: gestern"], "expected a date such as Fri, 30 Oct 2026"),
    ],
)
def test_what_is_not_understood_of_a_message_is_listed(
    tmp_path: Path, body: str, headers: list[str], problem: str
) -> None:
    """Nothing is taken for UTF-8, for text or for local time; the others are read."""
    path = tmp_path / "m.mbox"
    text = "".join(
        f"From x Thu Jan  1 00:00:00 2026\n{m}\n\n"
        for m in (message(body, *headers, "Message-ID: <1@x>"), message("Bye"))
    )
    path.write_bytes(text.encode("utf-8", "surrogateescape"))

    reading = read_mailbox(path, SETTINGS)

    assert texts(reading) == (["Hi"] if body == "Hi" and "mixed" not in headers[0] else []) + [
        "Bye"
    ]
    (unread,) = (item for item in reading.left_out if item.problem)
    assert problem in unread.problem
    assert all(
        "occurred_at" not in draft.fields and "title" not in draft.fields
        for draft in reading.drafts[:-1]
    ) or headers[0].startswith("Subject")


def test_every_part_of_a_message_is_read_or_listed(tmp_path: Path) -> None:
    """Texts one after the other; what is attached, quoted or encrypted is counted."""
    mixed = message(
        "--B\nContent-Type: text/plain\n\nOne\n> quoted\n--B\nContent-Type: image/png\n\nx\n"
        "--B\nContent-Type: text/plain; charset=gb2312\nContent-Transfer-Encoding: base64\n\n"
        "1tDOxA==\n--B\nContent-Type: message/rfc822\n\nFrom: Eve <e@x>\n\nNot mine\n--B--",
        "Content-Type: multipart/mixed; boundary=B",
    )
    secret = message("-----BEGIN PGP MESSAGE-----\nabc")

    reading = read(tmp_path, mixed, secret)

    assert texts(reading) == ["One\n\n中文"]
    assert [(item.reason, item.n) for item in reading.left_out] == [
        ("attachments of messages", 1),
        ("attachments of messages", 1),
        ("quoted lines and signatures of messages", 1),
        ("encrypted messages", 1),
        ("messages without a text", 1),
    ]


def test_a_line_that_begins_with_from_is_no_message(tmp_path: Path) -> None:
    """Unless headers follow: in the middle of a text it stays there."""
    reading = read(tmp_path, message("Go left.\n\nFrom here it is far\nBye"), message("Hi"))

    assert texts(reading) == ["Go left.\n\nFrom here it is far\nBye", "Hi"]


def test_a_second_line_from_is_no_text(tmp_path: Path) -> None:
    """As one program writes it, in the form of a quotation, above the headers."""
    doubled = f">From - Sat Apr 12 2025 15:59:28\n{message('Hi')}"

    assert texts(read(tmp_path, doubled, doubled.replace("Hi", "Bye"))) == ["Hi", "Bye"]


def test_one_id_of_two_messages_is_two(tmp_path: Path) -> None:
    """Their keys differ; the same message again is left out."""
    one, two = message("One", "Message-ID: <1@x>"), message("Two", "Message-ID: <1@x>")

    reading = read(tmp_path, one, two)

    assert len({draft.key for draft in reading.drafts}) == 2


def test_what_is_no_mailbox_is_an_error(tmp_path: Path) -> None:
    """With its first line."""
    (tmp_path / "m.mbox").write_text("Hello", "utf-8")

    with pytest.raises(DatasetError, match=r"m\.mbox:1: expected a line 'From …'"):
        read_mailbox(tmp_path / "m.mbox", SETTINGS)
    with pytest.raises(DatasetError, match="cannot be read"):
        read_mailbox(tmp_path / "none.mbox", SETTINGS)

"""WhatsApp chats: both forms, every order of dates, and what the app itself writes."""

from __future__ import annotations

import dataclasses
import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.apps.importing.whatsapp import CONVERSATION_GAP, is_whatsapp_chat, read_chat
from family_recall.errors import DatasetError
from tests.importing_settings import SETTINGS, moments, reasons, texts

ANDROID = """\
30/10/2026, 18:04 - Messages and calls are end-to-end encrypted. Learn more.
30/10/2026, 18:04 - Tom created group "Family"
30/10/2026, 18:05 - Mum: Who fetches Mia?
30/10/2026, 18:06 - Tom: I do.
The key is at "Keller": ring there
30/10/2026, 18:07 - Tom: <Media omitted>
30/10/2026, 18:08 - Tom: IMG-20261030-WA0001.jpg (file attached)
The new bike
30/10/2026, 18:09 - Mum: This message was deleted
30/10/2026, 18:10 - Mum: At six <This message was edited>
30/10/2026, 18:11 - Tom changed the subject from “Us” to “Us: all”
30/10/2026, 18:12 - Tom "Tommy" Ray: Missed voice call from the school, ring back
"""
IOS = (
    "\u200e[10/30/26, 6:04:12\u202fPM] Us: \u200eMessages and calls are end-to-end encrypted.\n"
    "[10/30/26, 6:04:20\u202fPM] ~\u202fSarah: Hello\u200f there\n"
    "\u200e[10/30/26, 6:05:30\u202fPM] Tom: \u200eimage omitted\n"
    "[10/30/26, 6:05:31\u202fPM] \u202a+49 170 123\u202c: \u200e<attached: 0001-PHOTO.jpg>\n"
    "The cake\n"
    "[10/30/26, 6:05:40\u202fPM] Tom: \u200eYou deleted this message.\n"
    "[10/30/26, 12:00:00\u202fAM] Tom: \u200ePOLL:\nPizza?\n\u200eOPTION: Yes (1 vote)\n"
)


def test_an_android_chat_is_its_messages_without_what_the_app_says() -> None:
    """Lines after the first belong to the message; a caption stays when its picture is left out."""
    reading = read_chat(ANDROID, "chat.txt", SETTINGS)

    assert [(draft.author_names, draft.text) for draft in reading.drafts] == [
        (("Mum",), "Who fetches Mia?"),
        (("Tom",), 'I do.\nThe key is at "Keller": ring there'),
        (("Tom",), "The new bike"),
        (("Mum",), "At six"),
        (('Tom "Tommy" Ray',), "Missed voice call from the school, ring back"),
    ]
    assert moments(reading.drafts)[0] == dt.datetime(2026, 10, 30, 18, 5)  # noqa: DTZ001
    assert [(item.where, item.reason) for item in reading.left_out] == [
        ("chat.txt:1", "system lines"),
        ("chat.txt:2", "system lines"),
        ("chat.txt:6", "media without a text"),
        ("chat.txt:7", "media beside a text"),
        ("chat.txt:9", "deleted or unread messages"),
        ("chat.txt:11", "system lines"),
    ]


def test_an_iphone_chat_is_read_through_its_invisible_marks() -> None:
    """Marks of direction and narrow spaces are gone from names, times and texts; polls stay."""
    reading = read_chat(IOS, "_chat.txt", SETTINGS)

    assert [(draft.author_names, draft.text) for draft in reading.drafts] == [
        (("Sarah",), "Hello there"),
        (("+49 170 123",), "The cake"),
        (("Tom",), "POLL:\nPizza?\nOPTION: Yes (1 vote)"),
    ]
    assert moments(reading.drafts)[0] == dt.datetime(2026, 10, 30, 18, 4, 20)  # noqa: DTZ001
    assert moments(reading.drafts)[2] == dt.datetime(2026, 10, 30)  # noqa: DTZ001
    assert reasons(reading) == [
        "system lines",
        "media without a text",
        "media beside a text",
        "deleted or unread messages",
    ]


@pytest.mark.parametrize(
    ("dates", "days"),
    [
        (["03/04/2026", "30/04/2026"], [(4, 3), (4, 30)]),
        (["4/3/26", "4/30/26"], [(4, 3), (4, 30)]),
        (["03.04.26", "04.04.26"], [(4, 3), (4, 4)]),
        (["2026-04-03", "2026-04-04"], [(4, 3), (4, 4)]),
        (["01/09/2026", "01/10/2026"], [(9, 1), (10, 1)]),
        (["09/01/2026", "10/01/2026"], [(9, 1), (10, 1)]),
        (["01/12/2026"], [(1, 12)]),
        (["05/05/2026"], [(5, 5)]),
    ],
)
def test_day_and_month_are_told_by_the_whole_chat(
    dates: list[str], days: list[tuple[int, int]]
) -> None:
    """By a day above 12, a full stop, the year, the order of messages, or because it is past.

    It is 1 November 2026; 1/9, 1/10 is in order either way, and 9 January, 10 January, too: the
    last two of January as well as of September and October. So these name their order.
    """
    chat = "".join(f"{date}, 18:04 - Tom: Hello\n" for date in dates)
    day_first = {"01/09/2026": True, "09/01/2026": False}.get(dates[0])
    options = dataclasses.replace(SETTINGS, day_first=day_first)

    read = moments(read_chat(chat, "chat.txt", options).drafts)

    assert [(at.month, at.day) for at in read if isinstance(at, dt.datetime)] == days


def test_the_order_of_messages_tells_day_and_month() -> None:
    """28 February to 1 March is a day on; in the other order the chat would jump back."""
    chat = "".join(
        f"{date}, 9:00 - Tom: Hi\n" for date in ("01/02/2026", "02/02/2026", "01/03/2026")
    )

    read = moments(read_chat(chat, "chat.txt", SETTINGS).drafts)

    assert read[1:] == [dt.datetime(2026, 2, 2, 9), dt.datetime(2026, 3, 1, 9)]  # noqa: DTZ001


@pytest.mark.parametrize(
    ("chat", "message"),
    [
        ("Hello\n", "chat.txt:1: expected a chat such as"),
        ("", "chat.txt:1: expected a chat such as"),
        ("\n03/04/2026, 18:04 - Tom: a\n", "chat.txt:2: 03/04/2026 may be day/month or month/day"),
        (
            "30/04/2026, 18:04 - Tom: a\n04/30/2026, 18:04 - Tom: b\n",
            "chat.txt:2: 04/30/2026 and 30/04/2026 (chat.txt:1) cannot both be",
        ),
    ],
)
def test_what_cannot_be_told_is_an_error_with_its_line(chat: str, message: str) -> None:
    """An ambiguous date says which options settle it."""
    with pytest.raises(DatasetError) as error:
        read_chat(chat, "chat.txt", SETTINGS)

    assert message in str(error.value)
    assert "may be" not in message or "--day-first or --month-first" in str(error.value)


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (["[2026/7/1 07:10:00] Tom: a", "[2026/7/12 7:10:00] Tom: b"], [(7, 1, 7), (7, 12, 7)]),
        (["26. 7. 1. 18:04 - Tom: a", "26. 7. 31. 18:04 - Tom: b"], [(7, 1, 18), (7, 31, 18)]),
        (["2026. 07. 01. 18:04 - Tom: a", "[1.7.26, 19:04] Tom: b"], [(7, 1, 18), (7, 1, 19)]),
        (["2026年7月1日 下午6:04 - Tom: a", "2026/7/1 中午12:04 - Tom: b"],
         [(7, 1, 18), (7, 1, 12)]),
        (["2026. 7. 1. 오후 6:04 - Tom: a", "2026. 7. 2. 오전 12:04 - Tom: b"],
         [(7, 1, 18), (7, 2, 0)]),
        (["\u200f١٣\u200f/٧\u200f/٢٠٢٦، ٦:٠٤\u00a0م - Tom: a", "31/7/2026, 6:04 ص - Tom: b"],
         [(7, 13, 18), (7, 31, 6)]),
        (["13/7/26 18.04 - Tom: a", "31/7/26 kl. 18.04.12 - Tom: b"], [(7, 13, 18), (7, 31, 18)]),
        (["31/07/2026 à 18 h 04 - Tom: a", "31/07/2026, 6:04 p. m. - Tom: b"],
         [(7, 31, 18), (7, 31, 18)]),
        (["31/07/2014 18:04:12: Tom: a", "31/07/2014 19:05:12: Tom: b"],
         [(7, 31, 18), (7, 31, 19)]),
    ],
)  # fmt: skip
def test_dates_of_other_countries_are_read(
    lines: list[str], shown: list[tuple[int, int, int]]
) -> None:
    """Year first, unpadded, digits, spaces and halves of the day of other languages."""
    drafts = read_chat("\n".join(lines), "chat.txt", SETTINGS).drafts

    assert [draft.text for draft in drafts] == ["a", "b"]
    days = [at for at in moments(drafts) if isinstance(at, dt.datetime)]
    assert [(at.month, at.day, at.hour) for at in days] == shown


@pytest.mark.parametrize(
    "line",
    [
        "30/10/2026, 6:04 xx - Tom: b", "30/13/2026, 18:04 - Tom: b", "10/30/2026, 18:04 - Tom: b",
        "[18:04, 30/10/2026] Tom: b", "[10:30 PM] Tom: b", "30 Oct 18:04 - Tom: b",
        "Fri 30 October 2026 18:04 - Tom left", "[2026-10-30T18:04:12Z] Tom: b",
        "99/99/9999, 99:99 - Tom: b", "3\udcff/10/2026, 18:04 - Tom: b",
    ],
)  # fmt: skip
def test_what_looks_like_a_message_is_never_part_of_another(line: str) -> None:
    """It is listed with its place, and so is what follows it; ``strict`` refuses the chat."""
    chat = f"29/10/2026, 18:04 - Mum: a\n30/10/2026, 8:04 - Mum: c\n{line}\nand more\n"

    reading = read_chat(f"{chat}30/10/2026, 19:04 - Mum: d", "chat.txt", SETTINGS)

    assert texts(reading) == ["a", "c", "d"]
    (unread,) = reading.left_out
    assert (unread.where, bool(unread.problem)) == ("chat.txt:3", True)
    with pytest.raises(DatasetError, match=r"chat\.txt:3: expected"):
        read_chat(chat, "chat.txt", dataclasses.replace(SETTINGS, strict=True))


@pytest.mark.parametrize(
    "line",
    [
        "12.5. 14:00 - dentist", "Meet at 10:30 - bring: cake", "[1] see: the list", "18:04 - Tom",
        "Call 020 7946 0018 - ask for: Ann", "2 - 3: eggs", "- 1/2 cup: sugar", "Room 4 [b]: no",
    ],
)  # fmt: skip
def test_a_line_with_numbers_is_part_of_its_message(line: str) -> None:
    """A timetable, a list and a number to call are no beginning of a message."""
    reading = read_chat(f"30/10/2026, 8:04 - Mum: c\n{line}\n", "chat.txt", SETTINGS)

    assert texts(reading) == [f"c\n{line}"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Diese Nachricht wurde gelöscht.", "deleted or unread messages"),
        ("<Médias omis>", "media without a text"),
        ("<Без медиафайлов>", "media without a text"),
        ("Plan.pdf (Datei angehängt)", "media without a text"),
    ],
)
def test_what_the_app_says_in_other_languages_is_no_text(line: str, reason: str) -> None:
    """Nor is a changed subject with a colon said by anybody."""
    chat = f"30/10/2026, 8:04 - Mum: {line}\n30/10/2026, 8:05 - Tom hat „A: b“ in „C: d“ geändert\n"

    reading = read_chat(chat, "chat.txt", SETTINGS)

    assert (texts(reading), reasons(reading)) == ([], [reason, "system lines"])


def test_a_line_in_brackets_is_a_line() -> None:
    """Only alone it stands for what was sent instead of a text."""
    chat = "30/10/2026, 8:04 - Mum: Look\n<see below>\n30/10/2026, 8:05 - Mum: <none>\n"

    reading = read_chat(chat, "chat.txt", SETTINGS)

    assert (texts(reading), reasons(reading)) == (["Look\n<see below>"], ["media without a text"])


def test_an_order_that_was_asked_for_is_kept_to() -> None:
    """A date that is none in it is an error."""
    options = dataclasses.replace(SETTINGS, day_first=True)

    with pytest.raises(DatasetError, match=r"chat.txt:1: 04/30/2026 is no day/month"):
        read_chat("04/30/2026, 18:04 - Tom: b\n", "chat.txt", options)


def test_a_silence_begins_another_session() -> None:
    """Messages within three hours share one; its name stays when the chat grows."""
    lines = ("30/10/2026, 09:00", "30/10/2026, 11:59", "30/10/2026, 15:00", "30/10/2026, 15:01")
    chat = "".join(f"{line} - Tom: Hello\n" for line in lines)
    assert dt.timedelta(hours=3) == CONVERSATION_GAP

    def sessions(text: str) -> list[object]:
        drafts = read_chat(text, "chat.txt", SETTINGS).drafts
        return [draft.fields["session_id"] for draft in drafts]

    first, second, third, fourth = sessions(chat)
    assert first == second != third == fourth
    assert sessions(chat + "31/10/2026, 15:00 - Tom: Bye\n")[:4] == [first, second, third, fourth]


def test_a_message_from_the_future_has_no_date() -> None:
    """A phone whose clock was wrong loses no message."""
    chat = "30/10/2026, 18:04 - Tom: a\n30/10/2031, 18:05 - Tom: b\n"

    reading = read_chat(chat, "chat.txt", SETTINGS)

    assert texts(reading) == ["a", "b"]
    assert moments(reading.drafts)[1] is None
    assert reasons(reading) == ["dates in the future, left out of their memories"]


def test_an_export_keeps_what_is_older_than_itself() -> None:
    """The app exports only the newest messages; earlier ones, read before, are not missing."""
    (old,) = read_chat("29/10/2026, 18:04 - Tom: a\n", "chat.txt", SETTINGS).drafts
    newer = read_chat("30/10/2026, 18:04 - Tom: b\n", "chat.txt", SETTINGS)

    assert newer.keeps(old.key)
    assert not newer.keeps(newer.drafts[0].key)


FORMS = {
    "ios": "[{at:%d/%m/%Y, %H:%M:%S}] {author}: {text}",
    "ios us": "\u200e[{at.month}/{at.day}/{at:%y, %I:%M:%S}\u202f{at:%p}] {author}: {text}",
    "ios german": "[{at:%d.%m.%y, %H:%M:%S}] {author}: {text}",
    "android": "{at:%d/%m/%Y, %H:%M} - {author}: {text}",
    "android us": "{at.month}/{at.day}/{at:%y, %I:%M}\u202f{at:%p} - {author}: {text}",
    "android italian": "{at:%d/%m/%y, %H:%M} - {author}: {text}",
    "android dutch": "{at:%d-%m-%Y %H:%M} - {author}: {text}",
    "android spanish": "{at.day}/{at.month}/{at:%Y, %I:%M} {half} m. - {author}: {text}",
}
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="<>[]"),
    min_size=1,
    max_size=12,
)
LINE = st.lists(WORDS, min_size=1, max_size=5).map(lambda words: f"w {' '.join(words)}")
MESSAGES = st.lists(
    st.tuples(
        st.sampled_from(["Tom", "Sarah Müller", "+49 170 1234567", "मीरा"]),
        st.lists(LINE, min_size=1, max_size=3).map("\n".join),
        st.integers(0, 40 * 24 * 60),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(MESSAGES, st.sampled_from(sorted(FORMS)), st.sampled_from(["\n", "\r\n"]))
def test_a_chat_is_read_back_as_it_was_written(
    messages: list[tuple[str, str, int]], form: str, newline: str
) -> None:
    """In every form: authors, texts and minutes are what they were, and no line is left out."""
    at = dt.datetime(2025, 1, 31, 0, 5)  # noqa: DTZ001 -- no order but one makes it a day
    written, lines = [], []
    for author, text, minutes in messages:
        lines.append(
            FORMS[form].format(at=at, author=author, text=text, half="ap"[at.hour >= 12] + ".")
        )
        written.append(((author,), text, at))
        at = min(at + dt.timedelta(minutes=minutes), dt.datetime(2026, 10, 31))  # noqa: DTZ001
    chat = newline.join(lines) + newline
    assert is_whatsapp_chat(chat.replace("\r\n", "\n"))

    reading = read_chat(chat.replace("\r\n", "\n"), "chat.txt", SETTINGS)

    read = [(d.author_names, d.text, d.fields["occurred_at"]) for d in reading.drafts]
    assert read == written
    assert reading.left_out == ()
    assert len({draft.key for draft in reading.drafts}) == len(messages)
    again = read_chat(chat.replace("\r\n", "\n"), "chat.txt", SETTINGS)
    assert again.drafts == reading.drafts

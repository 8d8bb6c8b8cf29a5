"""Contacts: facts, birthdays with and without a year, relations, and versions 2.1 to 4.0."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from family_recall.apps.importing import read
from family_recall.apps.importing.contacts import read_contacts
from family_recall.errors import DatasetError
from tests.importing_settings import SETTINGS, texts


def card(*lines: str, version: str = "3.0") -> str:
    """Return a card of some lines."""
    return "\n".join(("BEGIN:VCARD", f"VERSION:{version}", *lines, "END:VCARD", ""))


SARAH = card(
    "UID:1", "FN:Sarah Miller", "NICKNAME:Oma", "TEL;TYPE=CELL:+49 170 1",
    "TEL;TYPE=HOME,VOICE:+49 30 2",
    "item1.EMAIL:sarah@example.org", "item1.X-ABLabel:_$!<Work>!$_",
    "ADR;TYPE=HOME:;;Lindenstr. 5;Berlin;;10969;Germany", "BDAY:1955-03-12",
    "CATEGORIES:Family,Berlin", "NOTE:Allergic to nuts\\, badly", "PHOTO:x",
)  # fmt: skip


def test_a_contact_is_its_facts() -> None:
    """Each with a key and a value, a nickname beside the name."""
    reading = read_contacts(SARAH, "c.vcf", SETTINGS)

    assert texts(reading) == [
        "The mobile phone number of Sarah Miller (Oma) is +49 170 1.",
        "The home phone number of Sarah Miller (Oma) is +49 30 2.",
        "The work e-mail address of Sarah Miller (Oma) is sarah@example.org.",
        "The home address of Sarah Miller (Oma) is Lindenstr. 5, 10969 Berlin, Germany.",
        "The birthday of Sarah Miller (Oma) is on 12 March 1955.",
        "About Sarah Miller (Oma): Allergic to nuts, badly",
    ]
    fields = reading.drafts[4].fields
    assert fields["kind"] == "fact"
    assert fields["labels"] == ("Family", "Berlin")
    assert (fields["fact_key"], fields["fact_value"]) == ("sarah_miller_birthday", "12 March 1955")


def test_a_number_that_changes_keeps_its_key() -> None:
    """So it is a new version of the same memory; another one added leaves it alone."""
    before = read_contacts(SARAH, "c.vcf", SETTINGS)
    changed = SARAH.replace("+49 170 1", "+49 170 9").replace("NOTE", "TEL:+1 2\nNOTE")

    after = read_contacts(changed, "c.vcf", SETTINGS)

    assert {draft.key for draft in before.drafts} < {draft.key for draft in after.drafts}
    assert before.drafts[0].key == after.drafts[0].key
    assert before.drafts[0].text != after.drafts[0].text


@pytest.mark.parametrize(
    ("line", "relation"),
    [
        ("RELATED;TYPE=spouse;VALUE=text:Tom", ("Tom", "spouse of", "Anna")),
        ("RELATED;TYPE=co-worker;VALUE=text:Tom", ("Tom", "colleague of", "Anna")),
        ("RELATED;TYPE=kin:Tom", ("Tom", "related to", "Anna")),
        ("i.X-ABRELATEDNAMES:Tom\ni.X-ABLabel:_$!<Mother>!$_", ("Tom", "mother of", "Anna")),
        ("RELATED;TYPE=child:urn:uuid:7", ("Mia", "child of", "Anna")),
    ],
)
def test_a_relation_is_stated_as_one(line: str, relation: tuple[str, str, str]) -> None:
    """Named, or by the id of another card of the file."""
    cards = card("FN:Anna", line, version="4.0") + card("FN:Mia", "UID:urn:uuid:7", version="4.0")

    (draft,) = read_contacts(cards, "c.vcf", SETTINGS).drafts

    assert draft.relation == relation
    assert draft.text.startswith(f"{relation[0]} is ")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("BDAY:--0312", "12 March"),
        ("BDAY;X-APPLE-OMIT-YEAR=1604:1604-07-04", "4 July"),
        ("BDAY:19550312", "12 March 1955"),
        ("BDAY:1955-03-12T00:00:00Z", "12 March 1955"),
    ],
)
def test_a_birthday_may_have_no_year(line: str, words: str) -> None:
    """As version 4.0 and Apple write it."""
    assert texts(read_contacts(card("FN:Anna", line), "c.vcf", SETTINGS)) == [
        f"The birthday of Anna is on {words}."
    ]


def test_what_says_nothing_is_left_out() -> None:
    """A card of nobody, a birthday that is no day, a relation to a card that is not there."""
    cards = (
        card("TEL:1")
        + card("FN:Bo", "EMAIL:")
        + card("FN:Anna", "BDAY:soon", "RELATED;TYPE=child:urn:uuid:9")
    )

    reading = read_contacts(cards, "c.vcf", SETTINGS)

    assert texts(reading) == []
    assert [(item.where, item.reason) for item in reading.left_out] == [
        ("c.vcf:1", "contacts without a name"),
        ("c.vcf:5", "contacts of which nothing but a name is told"),
        ("c.vcf:13", "birthdays and anniversaries that are no date"),
        ("c.vcf:14", "relations to contacts that are not in the file"),
    ]


def test_an_old_card_is_read() -> None:
    """Version 2.1: quoted-printable, a name in parts, types without a name."""
    old = card(
        "N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;Sarah;;;",
        "TEL;CELL:+49 1",
        version="2.1",
    )

    assert texts(read_contacts(old, "c.vcf", SETTINGS)) == [
        "The mobile phone number of Sarah Müller is +49 1."
    ]


def test_a_firm_is_a_contact() -> None:
    """With what it is, and no work at itself."""
    cards = card("FN:Dr. Weiss", "ORG:Practice Weiss;Teeth", "TITLE:Dentist") + card(
        "ORG:Zoo", "TEL:5"
    )

    assert texts(read_contacts(cards, "c.vcf", SETTINGS)) == [
        "Dr. Weiss works at Practice Weiss, Teeth as Dentist.",
        "The phone number of Zoo is 5.",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (card("FN:Anna", "broken", "TEL:1"), "c.vcf:4: expected vCard, got 'broken'"),
        (card("FN:Anna", "TEL:1")[:-10] + "BEGIN:VCARD\n", "c.vcf:5: expected END:VCARD"),
        (card("FN:Anna", "TEL:1", "TEL:+44 7700 9")[:-11], "c.vcf:5: expected END:VCARD"),
        (card("FN:Anna", "TEL:1") + "TEL:2\n", "c.vcf:6: expected BEGIN:VCARD, got 'TEL:2'"),
        (card("FN:Anna", "TEL:1", "NOTE;ENCODING=X:a"), "c.vcf:5: expected an encoding"),
        (card("FN:Anna", "TEL:1", "NOTE;CHARSET=X;QUOTED-PRINTABLE:=FF"), "c.vcf:5: expected an e"),
        (card("FN:Anna", "TEL:1", "BDAY:10/03/90"), "c.vcf:5: expected a date such as"),
    ],
)
def test_what_is_not_understood_of_a_card_is_listed(text: str, message: str) -> None:
    """With its line, and the rest is read; ``strict`` refuses the file."""
    reading = read_contacts(text, "c.vcf", SETTINGS)

    assert texts(reading) == ["The phone number of Anna is 1."]
    unread = [item for item in reading.left_out if item.problem]
    assert f"{unread[0].where}: {unread[0].problem}".startswith(message)
    with pytest.raises(DatasetError, match=re.escape(message)):
        read_contacts(text, "c.vcf", dataclasses.replace(SETTINGS, strict=True))


def test_a_file_that_is_no_vcard_is_an_error() -> None:
    """With its first line."""
    with pytest.raises(DatasetError, match=r"c\.vcf:1: expected BEGIN:VCARD, got 'hello'"):
        read_contacts("hello", "c.vcf", SETTINGS)


@pytest.mark.parametrize(
    "cards",
    [
        card("UID:1", "FN:Anna", "TEL;TYPE=CELL:1", "TEL;TYPE=CELL:2"),
        card("UID:1", "FN:Anna", "TEL;TYPE=CELL:1") + card("UID:2", "FN:Anna", "TEL;CELL:2"),
        card("UID:1", "FN:Anna", "TEL;TYPE=CELL:1") + card("UID:1", "FN:Anna", "TEL;CELL:2"),
        card("FN:Anna", "TEL;TYPE=CELL:1") + card("FN:ANNA", "TEL;TYPE=CELL:2"),
    ],
)
def test_each_of_several_has_a_key_of_its_own(cards: str) -> None:
    """Numbers of one kind, contacts of one name or id: in any order, and with one added or gone."""
    drafts = read_contacts(cards, "c.vcf", SETTINGS).drafts
    more = cards.replace("TEL;TYPE=CELL:1", "TEL;TYPE=CELL:3\nTEL;TYPE=CELL:1")

    assert len(drafts) == len({draft.key for draft in drafts}) == 2
    assert len({draft.fields["fact_key"] for draft in drafts}) == 2
    keys = {draft.key: draft.text for draft in read_contacts(more, "c.vcf", SETTINGS).drafts}
    assert all(keys.get(draft.key, draft.text) == draft.text for draft in drafts)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (("FN:Mum", "N:Miller;Sarah;;;"), ["The full name of Mum is Sarah Miller."]),
        (("FN:Anna", "NOTE:a", "NOTE:b"), ["About Anna: a", "About Anna: b"]),
        (("FN:Anna", "NOTE:at\\n home\\; a\\\\b"), ["About Anna: at home; a\\b"]),
        (("FN:Anna", "TEL;TYPE=x-boat:1"), ["The boat phone number of Anna is 1."]),
        (("FN:Anna", "ORG:Zoo", "ORG:Shop", "ROLE:vet"),
         ["Anna works at Zoo as vet.", "Anna works at Shop."]),
        (("FN:Anna", "NOTE;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:caf=E9 =", "im Dorf"),
         ["About Anna: café im Dorf"]),
        (("FN:Anna", "NOTE;ENCODING=QUOTED-PRINTABLE:a =", "TEL:1"),
         ["The phone number of Anna is 1.", "About Anna: a"]),
        (("FN:Anna", "PHOTO;BASE64:QUJD", "QUJD", "TEL:1"), ["The phone number of Anna is 1."]),
        (("FN:Anna", "AGENT:", "BEGIN:VCARD", "FN:Bo", "TEL:2", "END:VCARD", "TEL:1"),
         ["The phone number of Anna is 1."]),
    ],
)  # fmt: skip
def test_every_line_is_told(lines: tuple[str, ...], told: list[str]) -> None:
    """Also a second one of its kind; whatever follows an encoded one stays a line of its own."""
    assert texts(read_contacts(card(*lines), "c.vcf", SETTINGS)) == told


def test_a_card_in_another_character_set_is_read(tmp_path: Path) -> None:
    """The one that its line names, also where a line without any is left out."""
    path = tmp_path / "c.vcf"
    lines = card("N;CHARSET=Windows-1251:Иванова;Ольга;;;", "TEL:1", "TITLE:врач", version="2.1")
    path.write_bytes(lines.encode("cp1251"))

    reading = read(path, "vcard", SETTINGS)

    assert texts(reading) == ["The phone number of Ольга Иванова is 1."]
    assert [item.problem[:38] for item in reading.left_out] == [
        "expected UTF-8 or UTF-16, got byte 0xe"
    ]


def test_a_torn_name_leaves_the_rest() -> None:
    """An empty line in it, as one exporter writes."""
    reading = read_contacts(card("FN:Jo Bela", "", "Kiss-Nagy", "TEL:1"), "c.vcf", SETTINGS)

    assert texts(reading) == ["The phone number of Jo Bela is 1."]
    assert [(item.where, bool(item.problem)) for item in reading.left_out] == [("c.vcf:5", True)]


def test_what_is_not_kept_is_listed() -> None:
    """By its name, and without a problem: a photo, and nothing else of a whole card."""
    (photo,) = read_contacts(SARAH, "c.vcf", SETTINGS).left_out

    assert (photo.where, photo.reason, photo.problem) == ("c.vcf:14", "lines PHOTO", "")

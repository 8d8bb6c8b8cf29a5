"""Whatever becomes of a file: what was read and what was listed is all of it, each its own."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.apps.importing import Draft, read
from family_recall.errors import DatasetError
from family_recall.types.browsing import Format
from tests.importing_settings import SETTINGS

NAMES = ("Anna", "Mum", "Zoë Müller", "Tom")


def message(n: int) -> str:
    """Return a message of a chat."""
    return f"{20 + n}/09/2026, 18:0{n} - {NAMES[n % 4]}: the code is word{n}\nand more word{n}b\n"


def contact(n: int) -> str:
    """Return a card."""
    return (
        f"BEGIN:VCARD\nVERSION:3.0\nFN:{NAMES[n % 4]} {n}\nTEL;TYPE=CELL:word{n}\n"
        f"NOTE:the key is with word{n}b\nEND:VCARD\n"
    )


def row(n: int) -> str:
    """Return a row of a table."""
    return f'{NAMES[n % 4]},"the code is word{n}",{20 + n}/09/2026\n'


def mail(n: int) -> str:
    """Return a message of a mailbox."""
    return (
        f"From a@b Fri Oct 30 18:0{n}:00 2026\nFrom: {NAMES[n % 4].split()[0]} <a@b>\n"
        f"Date: Fri, 30 Oct 2026 18:0{n}:00 +0100\nMessage-ID: <{n}@x>\n\nthe code is word{n}\n\n"
    )


def section(n: int) -> str:
    """Return a section of a note."""
    return f"## {NAMES[n % 4]} {n}\n\nthe code is word{n}\n{'A long story. ' * 60}\n\n"


UNITS: dict[Format, tuple[str, Callable[[int], str]]] = {
    "whatsapp": ("", message),
    "vcard": ("", contact),
    "csv": ("author,text,date\n", row),
    "mbox": ("", mail),
    "markdown": ("---\ntitle: A note\ndate: 2026-09-01\n---\n", section),
}
BYTES = (b"\xff", b"\xe9", b"\0", b'"', b":", b";", b"=", b"-", b"7", b"")


def mutated(content: bytes, choice: random.Random) -> bytes:
    """Return a content with some lines or bytes dropped, doubled, moved, cut or changed."""
    for _ in range(choice.randint(1, 4)):
        lines = content.splitlines(keepends=True)
        at, other = (choice.randrange(len(lines)) for _ in range(2))
        place = choice.randrange(len(content))
        match choice.randrange(8):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[at])
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines = [content[: max(place, 1)]]
            case 4:
                lines = [content.decode("utf-8", "replace").encode("latin-1", "replace")]
            case 5:
                lines.insert(at, b"\n" if place % 2 else b"something else\n")
            case _:
                lines = [content[:place], choice.choice(BYTES), content[place + 1 :]]
        content = b"".join(lines) or content
    return content


def line_of(where: str) -> int:
    """Return the line, or the number of a message, of a place."""
    match = re.search(r"(?::| message )(\d+)$", where)
    return int(match[1]) if match else 1


def owner_of(draft: Draft) -> str:
    """Return who or what a draft is about."""
    return " ".join((*draft.author_names, str(draft.fields.get("section", "")), draft.text))


def problems(file_format: Format, path: Path, units: Sequence[str]) -> list[str]:
    """Return which words of intact units are neither read as their own nor listed."""
    content = path.read_bytes().decode("utf-8", "surrogateescape")
    try:
        reading = read(path, file_format, SETTINGS)
    except DatasetError:
        return []
    # A draft or what is left out reaches from its line to the next one's.
    is_read = {line_of(draft.where): True for draft in reading.drafts}
    is_read |= {line_of(item.where): False for item in reading.left_out}
    found = []
    for n, unit in enumerate(units):
        own, *others = (NAMES[(n + at) % 4].split()[0] for at in range(4))
        for match in re.finditer(rf"word{n}b?\b", content):
            word, line_no = match[0], content.count("\n", 0, match.start()) + 1
            drafts = [draft for draft in reading.drafts if re.search(rf"{word}\b", draft.text)]
            line = content.split("\n")[line_no - 1]
            is_whole = unit in content and file_format != "markdown"
            if file_format == "whatsapp":
                is_whole = own in line
            for owner in map(owner_of, drafts if is_whole else ()):
                if own not in owner.split(":")[0] and any(name in owner for name in others):
                    found += [f"{word} is attached to another's"]
            if file_format == "mbox":
                is_listed = len(reading.left_out) >= 1
            else:
                is_listed = not is_read.get(max((at for at in is_read if at <= line_no), default=0))
            if not drafts and not is_listed:
                found += [f"{word} in line {line_no} is neither read nor listed"]
    return found


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.sampled_from(sorted(UNITS)), st.randoms(use_true_random=False))
def test_what_was_read_and_listed_is_all_of_it(
    tmp_path_factory: pytest.TempPathFactory, file_format: Format, choice: random.Random
) -> None:
    """Every intact part of a damaged file is stored as its own, or listed with its place."""
    head, unit = UNITS[file_format]
    units = [unit(n) for n in range(6)]
    path = tmp_path_factory.getbasetemp() / f"damaged.{file_format}"
    path.write_bytes(mutated((head + "".join(units)).encode(), choice))

    assert problems(file_format, path, units) == []

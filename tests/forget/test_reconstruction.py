"""Reconstruction: an attack that reads forgotten texts back, from what a file holds of them.

An earlier version kept a digest of every run of 8 bytes in its receipts, and the key beside them:
who knows eight bytes of a text finds the ninth by trying 256. The attack is here in full, and must
succeed on such a file, so that its failure on a file of today means something.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import itertools
import json
import re
import secrets
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import apsw

from family_recall.store.words import stem_number
from tests.conftest import HOME, move_in, open_home, remember

FORGOTTEN = "the password of the safe behind the clock is mahogany trapeze 7394 quicksilver 82"
NUMBER = "7394"
SEEDS = (b"the password", b"password of ", b"birthday", b"remember")
"""What somebody guesses without knowing anything: words that many secrets begin with."""

RUN = 8


def stored_values(path: Path) -> Iterator[str | bytes]:
    """Yield every text and blob in every table of a file, those of SQLite and FTS5 too."""
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        names = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        ).fetchall()
        for (name,) in names:
            for row in connection.execute(f'SELECT * FROM "{name}"'):
                yield from (value for value in row if isinstance(value, str | bytes))


def raw_bytes(path: Path) -> bytes:
    """Return the bytes of every file of a household: tables, unused pages, gaps and logs."""
    return b"\n".join(file.read_bytes() for file in sorted(path.parent.iterdir()))


def possible_keys(material: Iterable[bytes]) -> set[bytes]:
    """Return whatever may be a key of 32 bytes: 64 hexadecimal digits anywhere."""
    return {
        bytes.fromhex(digits.decode())
        for data in material
        for digits in re.findall(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", data)
    }


def possible_digests(material: Iterable[bytes]) -> set[bytes]:
    """Return whatever may be a digest of 8 bytes: in hexadecimal or base 64, anywhere."""
    digests: set[bytes] = set()
    for data in material:
        digests |= {bytes.fromhex(one.decode()) for one in re.findall(rb"[0-9a-f]{16}", data)}
        for text in re.findall(rb"[A-Za-z0-9+/]{11,}={0,2}", data):
            for start in range(4):
                piece = text[start : start + (len(text) - start) // 4 * 4]
                with contextlib.suppress(binascii.Error):
                    packed = base64.b64decode(piece)
                    for shift in range(RUN):
                        digests |= {
                            packed[at : at + RUN] for at in range(shift, len(packed) - 7, RUN)
                        }
    return digests


def extended(seed: bytes, keys: Iterable[bytes], digests: set[bytes]) -> bytes:
    """Extend a guess byte by byte, forwards and backwards, as long as some digest confirms it."""

    def is_confirmed(key: bytes, run: bytes) -> bool:
        return hmac.digest(key, b"run\0" + run, hashlib.sha256)[:RUN] in digests

    for key in keys:
        if not is_confirmed(key, seed[:RUN]):
            continue
        text = seed
        for at_end in (True, False):
            while True:
                tries = (bytes([byte]) for byte in range(256))
                if at_end:
                    longer = (text + one for one in tries if is_confirmed(key, text[-7:] + one))
                else:
                    longer = (one + text for one in tries if is_confirmed(key, one + text[:7]))
                following = next(longer, None)
                if following is None:
                    break
                text = following
        return text
    return b""


def from_digests(path: Path) -> bytes:
    """Attack what receipts, keys and anything else of a file may hold in digests."""
    material = [
        raw_bytes(path),
        *(one if isinstance(one, bytes) else one.encode() for one in stored_values(path)),
    ]
    keys, digests = possible_keys(material), possible_digests(material)
    return max((extended(seed, keys, digests) for seed in SEEDS), key=len)


def from_bytes(path: Path) -> set[bytes]:
    """Attack the bytes of the files: every run of 5 of the text, as written and in lower case."""
    raw = raw_bytes(path)
    runs = {FORGOTTEN.encode()[at : at + 5] for at in range(len(FORGOTTEN) - 4)}
    return {run for run in runs if run in raw}


def from_counted_words(path: Path) -> set[str]:
    """Attack the numbers of words that are counted: try every number of four digits."""
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        counted = {stem for (stem,) in connection.execute("SELECT stem FROM word_count")}
    tries = ("".join(digits) for digits in itertools.product("0123456789", repeat=4))
    return {one for one in tries if zlib.crc32(one.encode()) in counted}


def earlier_digests(key: bytes, text: str) -> dict[str, Any]:
    """Return what receipts of schema 6 to 10 held of a text."""
    data = text.encode()
    runs = [data[at : at + RUN] for at in range(len(data) - RUN + 1)]
    multiplier = int.from_bytes(hmac.digest(key, b"sieve\0", hashlib.sha256)[:8], "little") | 1
    marks = {(int.from_bytes(run, "little") * multiplier & (1 << 64) - 1) >> 32 for run in runs}
    digests = sorted(hmac.digest(key, b"run\0" + run, hashlib.sha256)[:RUN] for run in runs)
    return {
        "rows": [hmac.digest(key, b"row\0" + bytes(8), hashlib.sha256)[:RUN].hex()],
        "documents": [],
        "terms": [hmac.digest(key, b"term\0mahogani", hashlib.sha256)[:RUN].hex()],
        "runs": base64.b64encode(b"".join(digests)).decode(),
        "prefilter": base64.b64encode(
            b"".join(mark.to_bytes(4, "little") for mark in sorted(marks))
        ).decode(),
        "prefilter_bits": 32,
        "stride": 1,
    }


def household(path: Path) -> None:
    """Make a household that has forgotten the secret."""
    path.parent.mkdir(exist_ok=True)
    with open_home(path) as home:
        move_in(home)
        remember(home, "The clock in the hall runs late", HOME)
        doc_id = remember(home, FORGOTTEN, author="Rajesh")
        home.forget(doc_id, person_id="rajesh")


def earlier_household(path: Path) -> dict[str, Any]:
    """Make such a household with keyed digests in its receipt; return the digests in it."""
    household(path)
    key = secrets.token_bytes(32)
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        connection.execute("INSERT INTO info VALUES('forgetting_key', ?)", (key.hex(),))
        digests = earlier_digests(key, FORGOTTEN)
        # Twice, and not overwritten in between: copies lie in the gaps of pages.
        connection.execute("PRAGMA secure_delete = OFF")
        for _ in range(2):
            connection.execute(
                "UPDATE receipt SET record = json_set(json_remove(record, '$.digests'),"
                " '$.digests', json(?))",
                (json.dumps(digests),),
            )
        connection.execute(
            "INSERT INTO receipt SELECT 'copy', at_s, clean, record FROM receipt;"
            "DELETE FROM receipt WHERE receipt_id = 'copy'"
        )
    return digests


def nothing_is_reconstructed(path: Path) -> None:
    """Fail if any attack reads anything of the secret."""
    assert from_digests(path) == b""
    assert NUMBER not in from_counted_words(path)
    kept = b"The clock in the hall runs late"
    assert {run for run in from_bytes(path) if run not in kept.lower() + kept} <= {b" the "}


def test_the_attack_reads_a_text_from_an_earlier_receipt(tmp_path: Path) -> None:
    """From one guessed phrase all of it comes back: 81 characters, with the numbers in it."""
    path = tmp_path / "home" / "family.db"
    earlier_household(path)

    assert from_digests(path).decode() == FORGOTTEN


def test_the_attack_reads_what_is_stored(tmp_path: Path) -> None:
    """The other attacks find a text that was not forgotten."""
    path = tmp_path / "home" / "family.db"
    path.parent.mkdir()
    with open_home(path) as home:
        move_in(home)
        remember(home, FORGOTTEN, author="Rajesh")

    assert len(from_bytes(path)) > 70
    assert NUMBER in from_counted_words(path)
    assert stem_number(NUMBER) == zlib.crc32(NUMBER.encode())


def test_the_attack_reads_nothing_from_a_file_of_today(tmp_path: Path) -> None:
    """Neither from its receipts nor from any byte of it."""
    path = tmp_path / "home" / "family.db"
    household(path)

    nothing_is_reconstructed(path)

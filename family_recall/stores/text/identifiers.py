"""Identifiers: what memories quote that stands for one thing; exact and prefix look-up out.

A row is a partition, a value and a memory. A value is ``space:form``, where the form is what
two spellings of the same identifier share, so that equal things are equal text:

- ``number`` order numbers, issues, tickets and plates, capitals and digits alone;
- ``phone`` the digits from the last to the first, without the zeros a country puts in front,
  so that numbers with the same end begin alike;
- ``url`` without scheme and www, its ``host`` once more by itself, as is an e-mail's;
- ``email``, ``isbn`` (13 digits) and ``path`` as they are, in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import apsw
import numpy as np

from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import partition_of
from family_recall.stores.records import Hits, Identifier, Texts

WHOLE, PART = 1.0, 0.5
"""Scores of a memory that holds an identifier whole, and of one that holds it in part."""

SHORTEST_END = 8
"""Digits from which two phone numbers with the same end are the same."""

_BATCH = 500  # memories
_AFTER_ALL = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class _Sought:
    """One value to look up, or all that begin with it."""

    value: str
    score: float = WHOLE
    prefix: bool = False


def put(connection: apsw.Connection, memory: int, found: Iterable[Identifier]) -> None:
    """Keep the identifiers of a memory, in place of those it had."""
    remove(connection, memory)
    partition = partition_of(memory)
    connection.executemany(
        "INSERT OR IGNORE INTO identifier(partition, value, memory) VALUES(?, ?, ?)",
        [(partition, value, memory) for one in found for value in _stored(one)],
    )


def remove(connection: apsw.Connection, memory: int) -> None:
    """Take away every identifier of a memory."""
    connection.execute("DELETE FROM identifier WHERE memory = ?", (memory,))


def clear(connection: apsw.Connection) -> None:
    """Take away every identifier of every memory."""
    connection.execute("DELETE FROM identifier")


def texts(connection: apsw.Connection) -> Iterator[tuple[int, Texts]]:
    """Go through what may hold identifiers, each memory's with its id, superseded ones too."""
    after = -1
    while True:
        rows = sql.rows(
            connection,
            "SELECT id, title, text, summary, url, fact_key, fact_value FROM memory"
            " WHERE id > ? ORDER BY id LIMIT ?",
            (after, _BATCH),
        )
        for memory, *views in rows:
            yield memory, Texts(*views)
        if len(rows) < _BATCH:
            return
        after = rows[-1][0]


def find(
    connection: apsw.Connection,
    identifiers: Sequence[Identifier],
    partitions: Sequence[int],
    condition: tuple[str, tuple[object, ...]],
    k: int,
) -> Hits:
    """Find memories of some partitions that hold any of the identifiers.

    Of each value and partition the k newest by id are looked at that meet the condition on
    ``memory m``. What comes back is ordered by score, then the newest to happen first, then by id.
    """
    scores: dict[int, float] = {}
    moments: dict[int, float] = {}
    mine = sql.id_array(np.array(partitions, np.int64))
    for sought in dict.fromkeys(each for one in identifiers for each in _sought(one)):
        values = (sought.value, sought.value + _AFTER_ALL) if sought.prefix else (sought.value,)
        held = "i.value >= ? AND i.value < ?" if sought.prefix else "i.value = ?"
        # Inside, ids alone are walked, newest first, until k of a partition are visible.
        rows = sql.rows(
            connection,
            "SELECT o.id, o.order_s FROM carray(?) p CROSS JOIN memory o WHERE o.id IN ("
            "  SELECT DISTINCT m.id FROM identifier i CROSS JOIN memory m ON m.id = i.memory"
            f"  WHERE i.partition = p.value AND {held} AND {condition[0]}"
            "  ORDER BY i.memory DESC LIMIT ?)",
            (mine, *values, *condition[1], k),
        )
        for memory, order_s in rows:
            scores[memory] = max(sought.score, scores.get(memory, 0.0))
            moments[memory] = order_s
    best = sorted(scores, key=lambda one: (-scores[one], -moments[one], one))[:k]
    return Hits(np.array(best, np.int64), np.array([scores[one] for one in best], np.float32))


def _stored(one: Identifier) -> list[str]:
    """Give the values a memory with an identifier is found by."""
    if one.kind == "url":
        address = _address(one.normalised)
        return [f"url:{address}", f"host:{_host(address)}"]
    if one.kind == "email":
        return [f"email:{one.normalised}", f"host:{one.normalised.rsplit('@', 1)[1]}"]
    if one.kind == "path":
        return [f"path:{one.normalised.lower()}"]
    if one.kind == "phone":
        return [f"phone:{_from_the_end(one.normalised)}"]
    if one.kind == "isbn":
        digits = _ten_digits(one)
        alike = [f"phone:{_from_the_end(digits)}", f"number:{digits}"] if digits else []
        return [f"isbn:{one.normalised}", *alike]
    return [f"number:{_compact(one.normalised)}"]


def _sought(one: Identifier) -> list[_Sought]:
    """Give what to look up for an identifier of a question."""
    if one.kind == "url":
        address = _address(one.normalised)
        part = (
            _Sought(f"url:{address}/", PART, prefix=True)
            if "/" in address
            else _Sought(f"host:{address}", PART)
        )
        return [_Sought(f"url:{address}"), part]
    if one.kind == "email":
        return [_Sought(f"email:{one.normalised}")]
    if one.kind == "path":
        path = one.normalised.lower().rstrip("/")
        return [_Sought(f"path:{path}"), _Sought(f"path:{path}/", PART, prefix=True)]
    if one.kind == "phone":
        digits = one.normalised
        alike = [] if digits.startswith("+") else [_Sought(f"number:{digits}")]
        return [*_phones(digits), *alike]
    if one.kind == "isbn":
        digits = _ten_digits(one)
        alike = [*_phones(digits), _Sought(f"number:{digits}")] if digits else []
        return [_Sought(f"isbn:{one.normalised}"), *alike]
    return [_Sought(f"number:{_compact(one.normalised)}")]


def _phones(digits: str) -> list[_Sought]:
    """Look for a number, for its end alone, and for longer ones that end with it."""
    turned = _from_the_end(digits)
    ends = [_Sought(f"phone:{turned[:n]}", PART) for n in range(SHORTEST_END, len(turned))]
    longer = [_Sought(f"phone:{turned}", PART, prefix=True)] if len(turned) >= SHORTEST_END else []
    return [_Sought(f"phone:{turned}"), *ends, *longer]


def _from_the_end(digits: str) -> str:
    """Turn a number round: +91 98450-12345 and 098450 12345 then begin with the same ten digits.

    >>> _from_the_end("+919845012345"), _from_the_end("09845012345")
    ('543210548919', '5432105489')
    """
    return digits.lstrip("+0")[::-1]


def _ten_digits(one: Identifier) -> str:
    """Give the digits of an ISBN-10, which one telephone number in eleven could be, else none."""
    digits = "".join(str(int(ch)) for ch in one.text if ch.isdecimal())
    return digits if len(digits) == 10 else ""


def _compact(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z]", "", text).upper()


def _address(url: str) -> str:
    """Reduce a URL to what two ways to write it share; what follows its path becomes a part of it.

    >>> _address("https://www.example.org/cake?page=2"), _address("example.org/cake/")
    ('example.org/cake/?page=2', 'example.org/cake')
    """
    address = re.sub(r"^(?:https?://)?(?:www\.)?", "", url.lower())
    return re.sub(r"/*([?#])", r"/\1", address, count=1).rstrip("/")


def _host(address: str) -> str:
    return address.split("/", 1)[0]

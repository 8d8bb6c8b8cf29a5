"""The identifiers that memories quote, such as numbers and addresses, found whole or in part.

A row is a partition, a value and a memory. A value is ``kind:form``, where the form is what two
spellings of the same identifier share:

- ``number`` order numbers, issues, tickets and plates, capitals and digits alone;
- ``phone`` the digits from the last to the first, without leading zeros, so that numbers with the
  same end begin alike;
- ``url`` without scheme and www, and its ``host`` by itself, as is an e-mail's;
- ``email``, ``isbn`` (13 digits) and ``path`` as they are, in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import apsw
import numpy as np

from family_recall.store.file import sql
from family_recall.store.file.schema import partition_of
from family_recall.store.scope_sql import Condition, Hits
from family_recall.types.understanding import Identifier

WHOLE, PART = 1.0, 0.5
"""Scores of a memory that holds an identifier whole, and of one that holds it in part."""
SHORTEST_END = 8
"""Digits from which two phone numbers with the same end are the same."""
_ANY_MORE = "\U0010ffff"
"""The last character, after a value of which the beginning is looked up."""


def put(connection: apsw.Connection, memory: int, new: Iterable[Identifier]) -> None:
    """Write the identifiers of a memory, in place of those it had."""
    connection.execute("DELETE FROM identifier WHERE memory = ?", (memory,))
    partition = partition_of(memory)
    connection.executemany(
        "INSERT OR IGNORE INTO identifier(partition, value, memory) VALUES(?, ?, ?)",
        [(partition, value, memory) for identifier in new for value in _values(identifier)],
    )


def find(
    connection: apsw.Connection,
    identifiers: Sequence[Identifier],
    partitions: Sequence[int],
    condition: Condition,
    k: int,
) -> Hits:
    """Find memories of some partitions that hold any of the identifiers.

    Of each value and partition the k newest by id that meet the condition on ``memory m`` are
    considered. Results are ordered by score, then the latest to happen first, then by id.
    """
    best: dict[int, tuple[float, float]] = {}
    partition_array = sql.id_array(np.array(partitions, np.int64))
    lookups = dict.fromkeys(each for identifier in identifiers for each in _lookups(identifier))
    for value, score in lookups:
        is_prefix = value.endswith(_ANY_MORE)
        values = (value[:-1], value) if is_prefix else (value,)
        matching = "i.value >= ? AND i.value < ?" if is_prefix else "i.value = ?"
        # Inside, ids alone are walked, newest first, until k of a partition are visible.
        rows = sql.rows(
            connection,
            "SELECT o.id, o.order_s FROM carray(?) p CROSS JOIN memory o WHERE o.id IN ("
            "  SELECT DISTINCT m.id FROM identifier i CROSS JOIN memory m ON m.id = i.memory"
            f"  WHERE i.partition = p.value AND {matching} AND {condition[0]}"
            "  ORDER BY i.memory DESC LIMIT ?)",
            (partition_array, *values, *condition[1], k),
        )
        for memory, order_s in rows:
            best[memory] = max((score, order_s), best.get(memory, (0.0, order_s)))
    ids = sorted(best, key=lambda memory: (-best[memory][0], -best[memory][1], memory))[:k]
    return Hits(np.array(ids, np.int64), np.array([best[id_][0] for id_ in ids], np.float32))


def _values(identifier: Identifier) -> list[str]:
    """Return the values that a memory with an identifier is stored under."""
    form = identifier.normalised
    match identifier.kind:
        case "url":
            address = _address(form)
            return [f"url:{address}", f"host:{_host(address)}"]
        case "email":
            return [f"email:{form}", f"host:{form.rsplit('@', 1)[1]}"]
        case "path":
            return [f"path:{form.lower()}"]
        case "phone":
            return [f"phone:{_reversed(form)}"]
        case "isbn":
            digits = _ten_digits(identifier)
            others = [f"phone:{_reversed(digits)}", f"number:{digits}"] if digits else []
            return [f"isbn:{form}", *others]
        case _:
            return [f"number:{_compact(form)}"]


def _lookups(identifier: Identifier) -> list[tuple[str, float]]:
    """Return the values to look up, with a score; one that ends in any more is a beginning."""
    form = identifier.normalised
    whole = [(value, WHOLE) for value in _values(identifier) if not value.startswith("host:")]
    match identifier.kind:
        case "url":
            address = _address(form)
            part = f"url:{address}/{_ANY_MORE}" if "/" in address else f"host:{address}"
            return [*whole, (part, PART)]
        case "path":
            path = form.lower().rstrip("/")
            return [(f"path:{path}", WHOLE), (f"path:{path}/{_ANY_MORE}", PART)]
        case "phone":
            number = [] if form.startswith("+") else [(f"number:{form}", WHOLE)]
            return [*whole, *_parts(form), *number]
        case "isbn":
            digits = _ten_digits(identifier)
            return [*whole, *(_parts(digits) if digits else ())]
        case _:
            return whole


def _parts(digits: str) -> list[tuple[str, float]]:
    """Look up the end of a number alone, and longer numbers that end with it."""
    backwards = _reversed(digits)
    ends = [f"phone:{backwards[:n]}" for n in range(SHORTEST_END, len(backwards))]
    longer = [f"phone:{backwards}{_ANY_MORE}"] if len(backwards) >= SHORTEST_END else []
    return [(value, PART) for value in (*ends, *longer)]


def _reversed(digits: str) -> str:
    """Reverse a number: +91 98450-12345 and 098450 12345 then begin with the same ten digits.

    >>> _reversed("+919845012345"), _reversed("09845012345")
    ('543210548919', '5432105489')
    """
    return digits.lstrip("+0")[::-1]


def _ten_digits(isbn: Identifier) -> str:
    """Return the digits of an ISBN-10, which one telephone number in eleven could be, else none."""
    digits = "".join(str(int(ch)) for ch in isbn.text if ch.isdecimal())
    return digits if len(digits) == 10 else ""


def _compact(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z]", "", text).upper()


def _address(url: str) -> str:
    """Reduce a URL to what two spellings of it share; a query becomes a part of its path.

    >>> _address("https://www.example.org/cake?page=2"), _address("example.org/cake/")
    ('example.org/cake/?page=2', 'example.org/cake')
    """
    address = re.sub(r"^(?:https?://)?(?:www\.)?", "", url.lower())
    return re.sub(r"/*([?#])", r"/\1", address, count=1).rstrip("/")


def _host(address: str) -> str:
    return address.split("/", 1)[0]

"""Checks of an export's lines against what the library itself would store."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from family_recall.errors import DatasetError
from family_recall.store.file import archive
from family_recall.store.file.archive_loader import current_name
from family_recall.store.memories import MAX_MOMENT_S, MIN_MOMENT_S
from family_recall.types import Call, Grant, Memory, Person, Relation, Space
from family_recall.types.erasure import Receipt
from family_recall.types.json_lines import shown

KIND = "family_recall"
FORMAT = 2
MAX_RECORDS = 50_000_000

_MOMENTS = ("occurred_s", "valid_from_s", "valid_until_s")
_STORED_ONLY = {
    "id", "space", "context_id", "recorded_s", "superseded_s", "content_hash", "redacted_view",
    *_MOMENTS,
}  # fmt: skip
"""Columns of a memory's row that are no fields of a memory."""
_INFO_PATTERNS = {"audit_days": r"\d{1,5}"}
_EARLIER_KEY = "forgetting_key"
"""In exports of earlier versions, by which digests in their receipts were made; neither is read."""


def checked_header(
    path: Path, lines: Iterator[tuple[int, dict[str, Any]]]
) -> tuple[dict[str, str], dict[str, int]]:
    """Read the first line: the household's own facts, and the number of records by table.

    Raises:
        DatasetError: If it is not the first line of an export that this version reads.
    """
    _, header = next(lines, (0, {}))
    if header.get(KIND) != "export":
        raise DatasetError(f"{path}:1: expected the first line of an export, got {shown(header)}")
    version = header.get("format")
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version <= FORMAT:
        raise DatasetError(
            f"{path}:1: format {shown(version)}, this version reads up to {FORMAT}; "
            "upgrade the library"
        )
    info, counts = header.get("info"), header.get("records")
    if not isinstance(info, dict) or not all(isinstance(text, str) for text in info.values()):
        raise DatasetError(f"{path}:1: expected info to be names and texts, got {shown(info)}")
    info = {name: text for name, text in info.items() if name != _EARLIER_KEY}
    known_info = (*archive.INFO, *archive.LOG_INFO)
    if not set(info) <= set(known_info):
        raise DatasetError(f"{path}:1: expected info of {known_info}, got {shown(sorted(info))}")
    for name, pattern in _INFO_PATTERNS.items():
        if name in info and not re.fullmatch(pattern, info[name], re.ASCII):
            raise DatasetError(
                f"{path}:1: expected {name} to match {pattern}, got {shown(info[name])}"
            )
    if not isinstance(counts, dict) or not all(
        type(n) is int and 0 <= n <= MAX_RECORDS for n in counts.values()
    ):
        raise DatasetError(
            f"{path}:1: expected records to be counts up to {MAX_RECORDS:,}, got {shown(counts)}"
        )
    return info, {current_name(table): n for table, n in counts.items()}


def checked_record(table: str, record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Refuse a record that the library itself would not store; return it as this version stores it.

    Raises:
        FamilyRecallError: If a field is missing, of another type or out of range.
    """
    if table == "receipt":
        return _checked_receipt(record)
    if (check := _CHECKS.get(table)) is not None:
        check(record)
    return record


def _check_memory(record: Mapping[str, Any]) -> None:
    fields = {name: value for name, value in record.items() if name not in _STORED_ONLY}
    Memory.from_json({**fields, "space_id": "its number is checked with all others"})
    start, end = record.get("valid_from_s"), record.get("valid_until_s")
    if start is not None and end is not None and not start < end:
        raise DatasetError(f"expected valid_from_s below valid_until_s, got {start}, {end}")
    for name in ("recorded_s", "superseded_s", *_MOMENTS):
        _check_moment(name, record.get(name))


def _check_person(record: Mapping[str, Any]) -> None:
    Person(record.get("person_id", ""), record.get("name", ""), record.get("aliases", ()))


def _check_space(record: Mapping[str, Any]) -> None:
    Space(record.get("space_id", ""), record.get("kind", ""), record.get("name"))


def _check_access(record: Mapping[str, Any]) -> None:
    Grant("a", "s", record.get("role", ""))
    _check_moment("expires_s", record.get("expires_s"))


def _check_relation(record: Mapping[str, Any]) -> None:
    Relation("a", record.get("relation", ""), "b", "s", confidence=record.get("confidence", -1))


def _check_audit(record: Mapping[str, Any]) -> None:
    _check_moment("at_s", record.get("at_s"))
    calls = get_args(Call)
    if record.get("call") not in calls:
        raise DatasetError(f"expected a call of {calls}, got {shown(record.get('call'))}")
    _check_minimum("lost", record.get("lost", 0), 0)


def _check_audit_memory(record: Mapping[str, Any]) -> None:
    _check_minimum("rank", record.get("rank"), 1)


def _checked_receipt(record: Mapping[str, Any]) -> dict[str, Any]:
    """Check a receipt; one of an earlier version loses its digests, and has no proof yet."""
    _check_moment("at_s", record.get("at_s"))
    fields = record.get("record")
    receipt = Receipt.from_json(fields if isinstance(fields, dict) else {})
    if receipt.receipt_id != record.get("receipt_id"):
        raise DatasetError(
            f"expected a receipt under its id, got {shown(record.get('receipt_id'))}"
        )
    return {**record, "record": receipt.to_json(), "clean": int(receipt.proof is not None)}


_CHECKS: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    "memory": _check_memory,
    "person": _check_person,
    "space": _check_space,
    "access": _check_access,
    "relation": _check_relation,
    "audit": _check_audit,
    "audit_memory": _check_audit_memory,
}


def _check_minimum(name: str, value: object, minimum: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise DatasetError(f"expected {name} to be {minimum} or more, got {shown(value)}")


def _check_moment(name: str, value: object) -> None:
    if value is not None and (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or not MIN_MOMENT_S <= value <= MAX_MOMENT_S
    ):
        raise DatasetError(f"expected {name} to lie in the years 2 to 9998, got {shown(value)}")

"""Datasets: what is read, and the message when it cannot be."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import pytest

from family_recall.apps.evaluation.datasets import load_dataset, to_memory
from family_recall.errors import DatasetError
from family_recall.types.json_lines import read_jsonl

if TYPE_CHECKING:
    from pathlib import Path

CAKE = {
    "id": "home/1",
    "text": "Mira baked the cake",
    "speaker": "Mira",
    "occurred_at": "2024-05-08T13:56:00",
    "session": "S001",
    "space": "home",
}
WHO = {
    "id": "home/q1",
    "text": "Who baked the cake?",
    "space": "home",
    "as_of": "2024-06-01",
    "category": "single-hop",
    "gold": ["home/1"],
    "asker": None,
    "session": "S002",
    "gold_audited": ["home/1"],
    "context": ["Arjun: I am hungry"],
}


def dataset(folder: Path, memories: list[Any], queries: list[Any]) -> Path:
    """Write a dataset; a string goes in as it is."""
    for name, records in (("memories", memories), ("queries", queries)):
        lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_a_folder_becomes_memories_and_questions(tmp_path: Path) -> None:
    """Every field of the two files arrives; blank lines and ``context`` are passed over."""
    read = load_dataset(dataset(tmp_path, [CAKE, "", "  "], [WHO]))

    assert read.name == tmp_path.name
    (memory,), (query,) = read.memories, read.queries
    assert (memory.id, memory.text, memory.space) == ("home/1", "Mira baked the cake", "home")
    assert (memory.speaker, memory.session) == ("Mira", "S001")
    assert memory.occurred_at == dt.datetime(2024, 5, 8, 13, 56)  # noqa: DTZ001 -- naive as read
    assert query.gold == query.gold_audited == ("home/1",)
    assert query.as_of == dt.datetime(2024, 6, 1)  # noqa: DTZ001 -- naive as read
    assert (query.category, query.session, query.asker) == ("single-hop", "S002", None)


def test_a_development_half_is_called_after_its_set(tmp_path: Path) -> None:
    """The dataset in ``locomo/dev`` is called locomo."""
    folder = tmp_path / "locomo" / "dev"
    folder.mkdir(parents=True)

    assert load_dataset(dataset(folder, [CAKE], [WHO])).name == "locomo"


def test_a_memory_keeps_its_id_speaker_and_session_in_the_store(tmp_path: Path) -> None:
    """The id becomes the doc_id, the speaker the author, the space the space_id."""
    stored = to_memory(load_dataset(dataset(tmp_path, [CAKE], [WHO])).memories[0])

    assert (stored.doc_id, stored.author, stored.session_id) == ("home/1", "Mira", "S001")
    assert (stored.space_id, stored.text) == ("home", "Mira baked the cake")


@pytest.mark.parametrize(
    ("memories", "queries", "message"),
    [
        ([CAKE, "{oops"], [WHO], r"memories\.jsonl:2: expected one JSON object, got '\{oops'"),
        ([CAKE, "[1]"], [WHO], r"memories\.jsonl:2: expected one JSON object"),
        ([CAKE, "[" * 100_000], [WHO], r"memories\.jsonl:2: expected one JSON object"),
        ([CAKE, CAKE], [WHO], r"memories\.jsonl:2: id 'home/1' is taken"),
        ([{**CAKE, "text": " "}], [WHO], r"memories\.jsonl:1: .*text"),
        (
            [{**CAKE, "txt": "x"}],
            [WHO],
            r"memories\.jsonl:1: .*unknown field `txt`",
        ),
        ([{"id": "a", "text": "b"}], [WHO], r"memories\.jsonl:1: .*missing required field `space`"),
        ([{**CAKE, "occurred_at": "May"}], [WHO], r"memories\.jsonl:1: occurred_at must be an ISO"),
        ([CAKE], [{**WHO, "gold": "home/1"}], r"queries\.jsonl:1: Expected `array`.*gold"),
        ([CAKE], [{**WHO, "gold": ["home/9"]}], r"queries\.jsonl:1: gold 'home/9' is no memory"),
        ([CAKE], [{**WHO, "space": "x"}], r"queries\.jsonl:1: no memory is in space 'x'"),
        ([CAKE], [WHO, WHO], r"queries\.jsonl:2: id 'home/q1' is taken"),
        ([CAKE], [], r"queries\.jsonl: expected at least one question"),
    ],
)
def test_what_cannot_be_read_is_named_with_file_and_line(
    tmp_path: Path, memories: list[Any], queries: list[Any], message: str
) -> None:
    """A broken line, a repeated id or a gold that is not there ends the reading."""
    with pytest.raises(DatasetError, match=message):
        load_dataset(dataset(tmp_path, memories, queries))


def test_a_missing_file_says_to_check_the_path(tmp_path: Path) -> None:
    """A folder without ``memories.jsonl`` is a ``DatasetError``, not an ``OSError``."""
    with pytest.raises(DatasetError, match=r"memories\.jsonl: cannot be read .*check the path"):
        load_dataset(tmp_path)


def test_bytes_that_are_no_utf_8_are_named_with_their_column(tmp_path: Path) -> None:
    """A Latin-1 é (0xe9) in line 1, column 4, is pointed at."""
    path = tmp_path / "notes.jsonl"
    path.write_bytes(b'{"a\xe9": 1}\n')

    with pytest.raises(DatasetError, match=r"notes\.jsonl:1: expected UTF-8, got byte 0xe9 .* 4;"):
        list(read_jsonl(path))


def test_a_line_without_an_end_is_not_read_into_memory(tmp_path: Path) -> None:
    """Reading stops one byte past the longest line allowed."""
    path = tmp_path / "notes.jsonl"
    path.write_text('{"text": "' + "x" * 1000, encoding="utf-8")

    with pytest.raises(DatasetError, match=r"notes\.jsonl:1: expected at most 100 bytes"):
        list(read_jsonl(path, max_line_bytes=100))


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    """What an editor on Windows saves reads like any other file."""
    path = tmp_path / "notes.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n{"a": 2}\r\n')

    assert list(read_jsonl(path)) == [(1, {"a": 1}), (2, {"a": 2})]

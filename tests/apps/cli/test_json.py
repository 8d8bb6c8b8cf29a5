"""Every command: its JSON is as promised, and no escape code reaches a pipe."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from family_recall.apps.cli.output import json_text
from tests.apps.cli.every_command import every_output, with_json
from tests.apps.cli.json_schemas import SCHEMAS


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[tuple[str, Any]]]]:
    """Return what each command prints: text, and JSON, a pair for each call."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("no_proxy", "127.0.0.1")
        said: dict[str, list[tuple[str, Any]]] = {}
        for words, text, record in every_output(tmp_path_factory.mktemp("every")):
            said.setdefault(words, []).append((text, record))
        yield said


def test_every_command_with_json_is_called_and_has_a_schema(
    outputs: dict[str, list[tuple[str, Any]]],
) -> None:
    """A new command, or one that gets --json, has to say what it promises."""
    assert set(with_json()) == set(SCHEMAS) == set(outputs)


def test_the_json_is_as_promised(outputs: dict[str, list[tuple[str, Any]]]) -> None:
    """Keys, types and ranges."""
    faults = []
    for words, pairs in outputs.items():
        jsonschema.Draft202012Validator.check_schema(SCHEMAS[words])
        validator = jsonschema.Draft202012Validator(SCHEMAS[words])
        faults += [(words, e.message) for _, record in pairs for e in validator.iter_errors(record)]

    assert faults == []


def test_no_escape_code_reaches_a_pipe(outputs: dict[str, list[tuple[str, Any]]]) -> None:
    """What is printed for people is plain text where it goes into a pipe."""
    texts = {words: text for words, pairs in outputs.items() for text, _ in pairs}
    assert [words for words, text in texts.items() if "\x1b" in text] == []


def test_json_cannot_steer_a_terminal() -> None:
    """Control characters, those that turn the direction, and half characters are escaped."""
    hostile = [chr(code) for code in (*range(32), *range(127, 160), 0x61C, *range(0x200E, 0x2010),
               *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xDFFF, 0xD800)]  # fmt: skip
    record = {"text": "".join(hostile) + "é, שלום"}

    text = json_text(record)

    assert json.loads(text) == record
    assert not set(hostile) - {"\n"} & set(text)
    assert "é, שלום" in text


def test_the_folder_of_models_is_printed(
    outputs: dict[str, list[tuple[str, Any]]],
) -> None:
    """What import and fetch write is where they say."""
    for words in ("models import", "models fetch"):
        assert Path(outputs[words][-1][1]["folder"]).is_dir()

"""Every command: its JSON is as promised, and no escape code reaches a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.every_command import every_output, with_json
from tests.cli.json_schemas import SCHEMAS


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


@pytest.mark.parametrize("words", with_json())
def test_the_json_is_as_promised(words: str, outputs: dict[str, list[tuple[str, Any]]]) -> None:
    """Keys, types and ranges."""
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[words])
    for _, record in outputs[words]:
        jsonschema.validate(record, SCHEMAS[words], jsonschema.Draft202012Validator)


@pytest.mark.parametrize("words", with_json())
def test_no_escape_code_reaches_a_pipe(
    words: str, outputs: dict[str, list[tuple[str, Any]]]
) -> None:
    """What is said to people is plain text where nobody looks at a terminal."""
    assert all("\x1b" not in text for text, _ in outputs[words])


def test_the_folder_of_models_is_told_with_its_path(
    outputs: dict[str, list[tuple[str, Any]]],
) -> None:
    """What import and fetch put somewhere is there."""
    for words in ("models import", "models fetch"):
        assert Path(outputs[words][-1][1]["folder"]).is_dir()

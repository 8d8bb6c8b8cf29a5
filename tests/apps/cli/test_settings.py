"""Settings: an option before the environment, that before the config file, that before nothing."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import click
import pytest

from family_recall.apps.cli import main
from family_recall.apps.cli.settings import SETTINGS
from tests.apps.cli.runner import call

WAYS = ("option", "environment", "file")
VALUES = {"number": ("10.0", "20.0", "30.0"), "text": ("a", "b", "c"), "file": ("a", "b", "c")}


def config(path: Path, text: str) -> Path:
    """Write a config file."""
    path.write_text(text, encoding="utf-8")
    return path


def in_effect(*args: str | Path, env: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the settings as ``config --json`` tells of them."""
    result = call(*args, "--json", env=env)
    assert result.exit_code == 0, result.output
    settings = json.loads(result.stdout)["settings"]
    assert isinstance(settings, dict)
    return settings


def test_the_first_way_that_sets_a_value_is_in_effect(tmp_path: Path) -> None:
    """Of each subset of the three ways the first wins, and is named; without any, the default."""
    subsets = [ways for n in range(4) for ways in itertools.combinations(WAYS, n)]
    faults = []
    for name, ways in itertools.product(SETTINGS, subsets):
        setting = SETTINGS[name]
        values = dict(zip(WAYS, VALUES[setting.kind], strict=True))
        written = values["file"] if setting.kind == "number" else f'"{values["file"]}"'
        file = config(tmp_path / "c.toml", f"{name} = {written}\n" if "file" in ways else "")
        env = {setting.variable: values["environment"]} if "environment" in ways else {}
        option = [setting.flag, values["option"]] if "option" in ways else []
        winner = ways[0] if ways else "default"
        value: Any = values.get(winner, setting.default)
        if winner == "file" and setting.kind == "file":
            value = str(tmp_path / "c")
        elif setting.kind == "number":
            value = float(value)

        effect = in_effect("--config", file, "config", *option, env=env)[name]
        if effect != {"value": value, "source": winner}:
            faults.append((name, ways, effect))

    assert faults == []


@pytest.mark.parametrize(
    "args",
    [("stats", "--db", "{db}"), ("--db", "{db}", "stats")],
    ids=["on the command", "on the group"],
)
def test_the_household_is_named_on_either_side(args: tuple[str, ...], tmp_path: Path) -> None:
    """Both come before the environment."""
    db = tmp_path / "family.db"
    assert call("init", "--db", db, "--person", "alice").exit_code == 0

    result = call(*(a.format(db=db) for a in args), env={"FAMILY_RECALL_DB": "nowhere.db"})

    assert result.exit_code == 0, result.output
    assert call("stats", env={"FAMILY_RECALL_DB": "nowhere.db"}).exit_code == 1


def test_the_command_comes_before_the_group(tmp_path: Path) -> None:
    """What stands nearest to the command is meant."""
    found = in_effect("--db", tmp_path / "far", "config", "--db", tmp_path / "near")

    assert found["db"] == {"value": str(tmp_path / "near"), "source": "option"}


@pytest.mark.parametrize(
    ("args", "one"),
    [
        (("stats",), "db"),
        (("recall", "x"), "db"),
        (("people",), "db"),
        (("bench",), "db"),
        (("forget", "x", "--db", "{db}"), "person"),
        (("feedback", "q", "x", "--accept", "--db", "{db}"), "person"),
        (("audit", "--db", "{db}"), "person"),
    ],
)
def test_a_missing_one_names_the_three_ways(
    args: tuple[str, ...], one: str, tmp_path: Path
) -> None:
    """Option, variable, and the line for the config file with its path; the exit code is 2."""
    setting = SETTINGS[one]

    result = call(*(arg.format(db=tmp_path / "f.db") for arg in args))

    assert result.exit_code == 2
    for way in (f"Give {setting.flag} ", setting.variable, f"{one} = {setting.example} in /"):
        assert way in result.stderr
    assert result.stdout == ""


def test_a_household_person_and_time_are_configured_once(tmp_path: Path) -> None:
    """With a file, a question is all there is to say; paths in it are relative to it."""
    assert call("init", "--db", tmp_path / "family.db", "--person", "alice").exit_code == 0
    file = config(
        tmp_path / "config.toml",
        'db = "family.db"\nperson = "alice"\nspace = "private:alice"\nbudget_ms = 2000\n',
    )
    env = {"FAMILY_RECALL_CONFIG": str(file)}
    assert call("add", "The blue pot hides a key", env=env).exit_code == 0

    answer = json.loads(call("where is the key?", "--json", "--no-rerank", env=env).stdout)

    (found,) = answer["results"]
    assert (found["space_id"], found["author"]) == ("private:alice", "alice")
    assert (
        json.loads(call("--db", tmp_path / "family.db", "recall", "key", "--json").stdout)[
            "results"
        ]
        == []
    )


def test_the_users_own_file_is_read_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --config it is in the folder that the system has for that; it may be missing."""
    own = tmp_path / "own" / "config.toml"
    monkeypatch.setattr(click, "get_app_dir", lambda _: str(tmp_path / "own"))
    assert in_effect("config")["person"]["source"] == "default"
    own.parent.mkdir()
    config(own, 'person = "zoe"')

    assert in_effect("config")["person"] == {"value": "zoe", "source": "file"}
    assert f"config file {own}\n" in call("config").stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("person = ", "expected TOML such as person = "),
        ("persn = 'alice'", "unknown key 'persn'; expected one of db, key_file, person"),
        ("[recall]\ndb = 'x'", "unknown key 'recall'"),
        ("person = 7", "expected person to be a text that is not empty, such as person = "),
        ("person = ''", "expected person to be a text that is not empty"),
        ("db = ['x']", "expected db to be a text"),
        ("budget_ms = 'fast'", "expected budget_ms to be a number, such as budget_ms = 60, got"),
        ("budget_ms = true", "expected budget_ms to be a number"),
    ],
)
def test_a_config_file_that_cannot_be_meant_is_told_of(
    text: str, message: str, tmp_path: Path
) -> None:
    """File, key, what was expected and what was found, on one line; help is there all the same."""
    file = config(tmp_path / "c.toml", text)

    result = call("--config", file, "recall", "x", "--db", tmp_path / "f.db")

    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {file}: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert call("--config", file, "recall", "--help").exit_code == 0


def test_a_config_file_that_was_named_has_to_be_there(tmp_path: Path) -> None:
    """One that nobody named need not."""
    missing = tmp_path / "c.toml"

    for result in (
        call("--config", missing, "config"),
        call("config", env={"FAMILY_RECALL_CONFIG": str(missing)}),
    ):
        assert (result.exit_code, "no such config file; make it" in result.stderr) == (1, True)
    (tmp_path / "bytes").write_bytes(b"\xff")
    assert "expected TOML" in call("--config", tmp_path / "bytes", "config").stderr
    assert "cannot be read" in call("config", env={"FAMILY_RECALL_CONFIG": str(tmp_path)}).stderr


def test_a_variable_that_is_no_number_is_named() -> None:
    """The message says where it came from."""
    result = call("config", env={"FAMILY_RECALL_BUDGET_MS": "fast"})

    assert result.exit_code == 2
    assert "'fast' is not a valid float" in result.stderr
    assert "FAMILY_RECALL_BUDGET_MS" in result.stderr


def test_a_measurement_is_not_configured() -> None:
    """What eval measures does not depend on who runs it where."""
    measured = {option.name: option for option in main.commands["eval"].params}

    assert not any(isinstance(o, click.Option) and o.envvar for o in measured.values())

"""The files beside the code agree with it: what Home Assistant's own check looks at and more."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import voluptuous as vol
from awesomeversion import AwesomeVersion
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers import selector
from homeassistant.util.yaml import load_yaml_dict, parse_yaml

from custom_components.family_recall import const, services
from custom_components.family_recall.config_flow import OPTIONS_SCHEMA
from custom_components.family_recall.sensor import SENSORS
from family_recall import __version__

FOLDER = Path(services.__file__).parent
SCHEMAS = {
    "recall": services.RECALL_SCHEMA,
    "timeline": services.TIMELINE_SCHEMA,
    "remember": services.REMEMBER_SCHEMA,
    "forget": services.FORGET_SCHEMA,
}


def read(name: str) -> Any:
    """Return a JSON file of the component."""
    return json.loads((FOLDER / name).read_text("utf-8"))


MANIFEST, STRINGS, ICONS = read("manifest.json"), read("translations/en.json"), read("icons.json")
ACTIONS = load_yaml_dict(str(FOLDER / "services.yaml"))


def test_the_manifest() -> None:
    """It has what a custom integration needs, sorted, and requires the library of this version."""
    assert list(MANIFEST) == ["domain", "name", *sorted(set(MANIFEST) - {"domain", "name"})]
    assert MANIFEST["domain"] == FOLDER.name == const.DOMAIN
    assert MANIFEST["integration_type"] == "service"
    assert MANIFEST["iot_class"] == "calculated"
    assert AwesomeVersion(MANIFEST["version"]).valid
    assert MANIFEST["requirements"] == [f"family-recall-core=={__version__}"]
    assert MANIFEST["documentation"].startswith("https://")
    assert MANIFEST["issue_tracker"].startswith("https://")


def test_hacs_knows_what_it_needs() -> None:
    """The oldest version of Home Assistant is the one that is tested."""
    hacs = json.loads((FOLDER.parent.parent / "hacs.json").read_text("utf-8"))
    assert hacs == {"name": MANIFEST["name"], "homeassistant": "2025.4.0"}


def imported() -> set[str]:
    """Return the integrations that the component imports from."""
    found = set()
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                match = re.match(r"homeassistant\.components\.(\w+)", node.module)
                found.update(match.groups() if match else ())
    return found


def test_dependencies_are_declared() -> None:
    """Every integration that is imported from is a dependency, or comes with Home Assistant."""
    declared = {*MANIFEST["dependencies"], *MANIFEST["after_dependencies"]}
    assert imported() - {"repairs", "sensor"} <= declared


def test_only_the_public_interface_is_used() -> None:
    """Of the library it imports what applications may import."""
    used = set(re.findall(r"^from (family_recall[\w.]*) import", written(), re.MULTILINE))
    assert used == {
        "family_recall",
        "family_recall.api.files",
        "family_recall.errors",
        "family_recall.apps.llm_tools",
        "family_recall.english",
    }


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_action_is_described_as_it_is(name: str) -> None:
    """Its fields, their names, descriptions, selectors and icon; what is required is required."""
    fields = ACTIONS[name]["fields"]
    markers = {marker.schema: marker for marker in SCHEMAS[name].schema}
    described = STRINGS["services"][name]
    assert set(fields) == set(markers) == set(described["fields"])
    assert all({"name", "description"} == set(text) for text in described["fields"].values())
    assert {"name", "description"} <= set(described)
    assert re.fullmatch("mdi:[a-z-]+", ICONS["services"][name]["service"])
    for field, spec in fields.items():
        selector.validate_selector(spec["selector"])
        marker = markers[field]
        assert spec.get("required", False) == isinstance(marker, vol.Required)
        default = vol.UNDEFINED if marker.default is vol.UNDEFINED else marker.default()
        assert spec.get("default", vol.UNDEFINED) == default


def test_nothing_else_is_described() -> None:
    """No action and no icon is left over."""
    assert set(ACTIONS) == set(SCHEMAS) == set(STRINGS["services"]) == set(ICONS["services"])


def texts(tree: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield every text of a tree of strings, with its place."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from texts(value, (*path, key))
        else:
            yield ".".join((*path, key)), value


@pytest.mark.parametrize(("place", "text"), list(texts(STRINGS)))
def test_a_text_is_plain(place: str, text: str) -> None:
    """No markup, no address, no blanks around it, no quoted placeholder."""
    assert cv.string_with_no_html(text) == text.strip() == text, place
    assert not re.search(r"https?://|www\.[a-z]|'\{\w+\}'", text), place
    keys = place.split(".")
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9_-]*", key) for key in keys), place


def test_every_sensor_has_a_name_and_an_icon() -> None:
    """Under its translation key."""
    keys = {sensor.translation_key for sensor in SENSORS}
    assert keys == set(STRINGS["entity"]["sensor"]) == set(ICONS["entity"]["sensor"])


def test_every_option_has_a_text() -> None:
    """A label and what it means."""
    step = STRINGS["options"]["step"]["init"]
    options = {marker.schema for marker in OPTIONS_SCHEMA.schema}
    assert options == set(step["data"]) == set(step["data_description"])
    assert set(STRINGS["selector"]["role"]["options"]) == set(const.ROLES)


def written() -> str:
    """Return the code of the component."""
    return "\n".join(path.read_text("utf-8") for path in sorted(FOLDER.glob("*.py")))


@pytest.mark.parametrize("kind", ["exceptions", "issues"])
def test_every_key_that_is_raised_is_translated(kind: str) -> None:
    """And every translation is used."""
    if kind == "exceptions":
        pattern = r'(?:translation_key=|_refusal\()"(\w+)"'
        used = set(re.findall(pattern, written())) - {s.translation_key for s in SENSORS}
    else:
        used = {value for name, value in vars(const).items() if name.startswith("ISSUE_")}
    assert used == set(STRINGS[kind])


@pytest.mark.parametrize(
    "flow", ["config", *(f"config_subentries.{k}" for k in ("person", "device"))]
)
def test_every_error_and_abort_of_a_flow_is_translated(flow: str) -> None:
    """Those of config_flow.py; the rest are Home Assistant's own."""
    strings: Any = STRINGS
    for key in flow.split("."):
        strings = strings[key]
    code = (FOLDER / "config_flow.py").read_text("utf-8")
    aborts = set(re.findall(r'reason="(\w+)"', code))
    errors = set(re.findall(r'return \[\], "(\w+)"', code))
    assert set(strings.get("error", ())) == (errors if flow == "config" else set())
    known = {"reconfigure_successful", "single_instance_allowed"}
    assert set(strings["abort"]) <= aborts | known
    assert "reconfigure_successful" in strings["abort"]


def test_the_quality_scale() -> None:
    """Each rule is done, or has a reason; bronze and silver are done but for publishing."""
    rules = load_yaml_dict(str(FOLDER / "quality_scale.yaml"))["rules"]
    lacking = set()
    for name, rule in rules.items():
        status = rule if isinstance(rule, str) else rule["status"]
        assert isinstance(rule, str) or rule["comment"], name
        lacking |= {name} if status == "todo" else set()
    assert lacking == {"brands", "integration-owner"}


def test_the_guides_examples_can_be_called() -> None:
    """Each action of the guide's automations takes the data that is shown."""
    guide = FOLDER.parents[1] / "docs" / "how-to" / "use-it-in-home-assistant.md"
    (example,) = re.findall(r"```yaml\n(.*?)```", guide.read_text("utf-8"), re.DOTALL)
    called = set()
    for step in parse_yaml(example)["actions"]:
        domain, _, name = step.get("action", "").partition(".")
        if domain == const.DOMAIN:
            SCHEMAS[name](step["data"])
            called.add(name)
    assert called == {"recall", "remember"}

"""Read checked values from a JSON object, with errors that name the field."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from family_recall.encoders.bounded import read_json
from family_recall.errors import ModelError

KNOWN_FORMAT = 1


class Fields:
    """An object of a manifest or catalogue.

    `missing` is the value of an optional field that is absent.
    """

    def __init__(self, path: Path, name: str, content: object) -> None:
        """Wrap the object called `name` in the file at `path`.

        Raises:
            ModelError: If it is not an object.
        """
        if not isinstance(content, dict):
            raise ModelError(f"{path}: {name} is {type(content).__name__}, expected an object")
        self.path = path
        self.name = name
        self.content: dict[str, Any] = content

    def text(self, key: str, *, empty: bool = False, missing: str | None = None) -> str:
        """Return a text; an empty one only if `empty` is true."""
        value = self.content.get(key, missing)
        if not isinstance(value, str) or not (value or empty):
            raise self.wrong(key, value, "a text")
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        """Return one of the given texts."""
        value = self.text(key)
        if value not in choices:
            raise self.wrong(key, value, f"one of {choices}")
        return value

    def count(self, key: str, *, missing: int | None = None) -> int:
        """Return a whole number, 1 or more."""
        if missing is not None and key not in self.content:
            return missing
        value = self.content.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.wrong(key, value, "a whole number above 0")
        return value

    def flag(self, key: str, *, missing: bool) -> bool:
        """Return true or false."""
        value = self.content.get(key, missing)
        if not isinstance(value, bool):
            raise self.wrong(key, value, "true or false")
        return value

    def items(self, key: str, *, missing: list[object] | None = None) -> list[object]:
        """Return a list."""
        value = self.content.get(key, missing)
        if not isinstance(value, list):
            raise self.wrong(key, value, "a list")
        return value

    def group(self, key: str) -> Fields:
        """Return an object inside this one."""
        return Fields(self.path, key, self.content.get(key))

    def inside(self, key: str) -> str:
        """Return a path below a folder, parts joined by ``/``; it cannot lead out of the folder."""
        value = self.text(key)
        parts = PurePosixPath(value).parts
        if not parts or {"..", "/"} & set(parts) or set(value) & set("\\:"):
            raise self.wrong(key, value, "a path inside the folder")
        return value

    def wrong(self, key: str, value: object, expected: str) -> ModelError:
        """Return an error that names the field, its value and what was expected."""
        return ModelError(f"{self.path}: {self.name}.{key} is {value!r}, expected {expected}")


def read_models(path: Path, name: str, *, way_out: str = "") -> list[object]:
    """Read the ``models`` of a manifest or catalogue file; `way_out` ends the message.

    Raises:
        ModelError: If the file cannot be read, or this version cannot interpret it.
    """
    fields = Fields(path, name, read_json(path, way_out=way_out))
    if (number := fields.count("format")) > KNOWN_FORMAT:
        raise ModelError(
            f"{path}: format {number}, this version reads up to {KNOWN_FORMAT}; upgrade the library"
        )
    return fields.items("models")

"""What importing a file of a family's does: counts, what was left out, and who wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from family_recall.types.memory import Memory

Format = Literal["whatsapp", "icalendar", "vcard", "markdown", "csv", "mbox"]
FORMATS: tuple[Format, ...] = get_args(Format)
"""What a file may be."""


@dataclass(frozen=True, slots=True)
class Omission:
    """What an import left out: how many of what (in the plural), and where the first stands."""

    reason: str
    n: int
    first: str


@dataclass(frozen=True, slots=True)
class Imported:
    """The outcome of importing a file, or what it would be.

    Args:
        path: The file or folder.
        file_format: Its format.
        source: The source that it is stored as.
        space_id: The space that it is stored in.
        dry_run: Whether nothing was stored.
        created: Memories that were new.
        updated: Memories in place of an earlier version, or of one in another space.
        unchanged: Memories that were there already.
        withdrawn: Memories that the file no longer has.
        left_out: What was not stored, the most frequent first.
        authors: Each author as the file names them, and the person's id; None for nobody's name.
        examples: The first memories of the file, three at most.
    """

    path: str
    file_format: str
    source: str
    space_id: str
    dry_run: bool
    created: int
    updated: int
    unchanged: int
    withdrawn: int
    left_out: tuple[Omission, ...]
    authors: Mapping[str, str | None]
    examples: tuple[Memory, ...]

    def to_json(self) -> dict[str, Any]:
        """Return every field."""
        return {
            "path": self.path,
            "file_format": self.file_format,
            "source": self.source,
            "space_id": self.space_id,
            "dry_run": self.dry_run,
            "created": self.created,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "withdrawn": self.withdrawn,
            "left_out": [
                {"reason": omission.reason, "n": omission.n, "first": omission.first}
                for omission in self.left_out
            ],
            "authors": dict(self.authors),
            "examples": [memory.to_json() for memory in self.examples],
        }

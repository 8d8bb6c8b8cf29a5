"""All errors of this library.

Lack of time or of a model is not an error.
"""

import re

CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    r"\ufdd0-\ufdef\ufffe\uffff]"
)
"""Characters that could steer a terminal, but for tabs and line feeds."""


class FamilyRecallError(Exception):
    """The base of all errors of this library; a message shows control characters escaped."""

    def __str__(self) -> str:
        """Return the message."""
        return CONTROL.sub(lambda match: ascii(match[0])[1:-1], super().__str__())

    def also(self, what: str) -> None:
        """Add to the message, such as what was stored before."""
        self.args = (f"{self}; {what}",)


class InvalidRequestError(FamilyRecallError, ValueError):
    """A question, context or filter is invalid."""


class InvalidMemoryError(FamilyRecallError, ValueError):
    """A memory, relation or vector cannot be stored."""


class UnknownPersonError(FamilyRecallError, LookupError):
    """No person of this household has the id ``person_id``."""

    def __init__(self, message: str, person_id: str | None = None) -> None:
        super().__init__(message)
        self.person_id = person_id


class UnknownSpaceError(FamilyRecallError, LookupError):
    """There is no space ``space_id``, or the person may not enter it: both read alike."""

    def __init__(self, message: str, space_id: str | None = None) -> None:
        super().__init__(message)
        self.space_id = space_id


class UnknownMemoryError(FamilyRecallError, LookupError):
    """There is no such memory, or the person may not see it: both read alike."""


class NotTheirsError(FamilyRecallError):
    """Only its author or an owner of its space may change a memory."""


class ConflictError(FamilyRecallError):
    """A memory was changed since it was read."""


class UnconfirmedError(FamilyRecallError, ValueError):
    """Several memories would be forgotten, and no token confirms exactly those."""


class StoreError(FamilyRecallError):
    """The file could not be read or written."""


class NotAStoreError(StoreError):
    """The file is not a family_recall file."""


class WrongKeyError(NotAStoreError):
    """The key of a file is missing or wrong, or encryption is not available."""


class NewerStoreError(StoreError):
    """The file was written by a newer version of this library."""


class StoreBusyError(StoreError):
    """Another writer held the file for longer than the busy timeout."""


class StoreFullError(StoreError):
    """The disk is full; the last transaction was undone, earlier ones are stored."""


class ModelError(FamilyRecallError):
    """A model file is missing, altered or unusable."""


class DatasetError(FamilyRecallError, ValueError):
    """An import or evaluation file cannot be read."""


class ClosedError(FamilyRecallError):
    """The household was closed."""

"""Every error this library raises, in one small tree.

Being short of time is not an error; neither is having no model.
"""


class FamilyRecallError(Exception):
    """Anything this library raises on purpose."""


class InvalidRequestError(FamilyRecallError, ValueError):
    """A question, context or filter that makes no sense."""


class InvalidMemoryError(FamilyRecallError, ValueError):
    """A memory, relation or vector that cannot be stored."""


class UnknownPersonError(FamilyRecallError, LookupError):
    """Nobody of that id, ``person_id``, is in this household."""

    def __init__(self, message: str, person_id: str | None = None) -> None:
        super().__init__(message)
        self.person_id = person_id


class UnknownSpaceError(FamilyRecallError, LookupError):
    """No space of that id, or none the person may see: the two read alike on purpose.

    ``space_id`` is what was asked for.
    """

    def __init__(self, message: str, space_id: str | None = None) -> None:
        super().__init__(message)
        self.space_id = space_id


class UnknownMemoryError(FamilyRecallError, LookupError):
    """No memory of that id, or none the person may see: the two read alike on purpose."""


class NotTheirsError(FamilyRecallError):
    """What the person may see, but only its author or an owner of its space may change."""


class ConflictError(FamilyRecallError):
    """A memory was changed since it was read, so that another version was meant."""


class UnconfirmedError(FamilyRecallError, ValueError):
    """More than one memory would go, and no token confirms exactly those."""


class StoreError(FamilyRecallError):
    """The file could not be read or written."""


class NotAStoreError(StoreError):
    """The file is not a family_recall file."""


class WrongKeyError(NotAStoreError):
    """The file is encrypted, and the key is missing or wrong, or no key can be used here."""


class NewerStoreError(StoreError):
    """The file was written by a newer version of this library."""


class StoreBusyError(StoreError):
    """Another writer held the file for longer than the busy timeout."""


class StoreFullError(StoreError):
    """The disk is full; the last transaction was undone, those before it are stored."""


class ModelError(FamilyRecallError):
    """A model file is missing, altered or unusable."""


class DatasetError(FamilyRecallError, ValueError):
    """An import or evaluation file cannot be read."""


class ClosedError(FamilyRecallError):
    """The household was closed."""

"""Entities: a question in, the people and things it names out, as the scope knows them."""

from __future__ import annotations

from family_recall.query.text import names_in, possible_names
from family_recall.stores.base import Entity, Snapshot
from family_recall.types import Scope

_MYSELF = frozenset({"i", "me", "my", "mine", "myself", "we", "us", "our"})


def resolve(
    question: str, scope: Scope, snapshot: Snapshot
) -> tuple[tuple[Entity, ...], tuple[str, ...]]:
    """Find who and what a question names, inside the visible partitions only.

    *I*, *my* and *we* stand for the person who asks.

    Returns:
        The entities, and the normalised names they were found under.
    """
    candidates = possible_names(question)
    asker = scope.person_id if _MYSELF.intersection(candidates) else None
    if asker is not None:
        candidates.append(f"@{asker}")
    found = snapshot.entities(candidates, scope)
    names = names_in(question, {alias for alias, _ in found})
    named = {*names, f"@{asker}"}
    entities = tuple(dict.fromkeys(entity for alias, entity in found if alias in named))
    return entities, tuple(names)

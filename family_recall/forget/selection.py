"""Resolve a request to forget to the rows to erase."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from family_recall.access.rights import Rights, unique_names_of
from family_recall.english.text import names_in, normalise
from family_recall.store.file.schema import partition_of
from family_recall.store.household import DAY_S
from family_recall.store.memories import epoch_s
from family_recall.store.transaction import Transaction
from family_recall.store.versions import Criteria, Version
from family_recall.types.erasure import ForgetExample, ForgetPlan, Selection

EXAMPLES = 5
_EXAMPLE_CHARS = 160
_TOKEN_BYTES = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """Versions to erase and their redacted views; ``held_back`` counts memories not theirs."""

    versions: tuple[Version, ...]
    views: tuple[Version, ...]
    held_back: int

    @property
    def memories(self) -> tuple[tuple[str, str], ...]:
        """The memories of the versions, each once, in recorded order."""
        return tuple(dict.fromkeys(version.memory for version in self.versions))

    @property
    def ids(self) -> list[int]:
        """The ids of all rows to erase."""
        return sorted(version.id for version in (*self.versions, *self.views))


def choose(
    tables: Transaction,
    selection: Selection,
    rights: Rights,
    zone: dt.tzinfo,
    answered: Collection[tuple[str, str]],
) -> Choice:
    """Resolve a selection to the versions that a person sees and may erase.

    ``answered`` are the results of the selection's query, as (space_id, doc_id).
    """
    people = tables.household.people()
    authors = mentioning = None
    if selection.by is not None:
        names = unique_names_of(selection.by, people)
        authors = authors_of(tables, selection.by, names, rights.visible_partitions)
    if selection.about is not None:
        names = unique_names_of(selection.about, people)
        mentioning = _mentioning(tables, selection.about, names, rights.visible_partitions)
    criteria = Criteria(
        memories=_memories(selection, answered),
        authors=authors,
        space_id=selection.space_id,
        session_id=selection.session_id,
        occurred_s=(epoch_s(selection.after, zone), epoch_s(selection.before, zone)),
        recorded_s=(
            epoch_s(selection.recorded_after, zone), epoch_s(selection.recorded_before, zone)
        ),
        ids=mentioning,
    )  # fmt: skip
    return with_versions(tables, tables.versions.find(rights.visible_partitions, criteria), rights)


def expired(tables: Transaction, now_s: float) -> Choice:
    """Choose the memories that have expired by the retention rules."""
    matches: list[Version] = []
    for rule in tables.erasure_log.rules():
        before_s = now_s - rule.keep_days * DAY_S
        matches += tables.versions.find(
            None, Criteria(category=rule.category, older_than_s=before_s)
        )
    return with_versions(tables, matches, None)


def of_source(
    tables: Transaction,
    source: str,
    doc_id: str | None,
    space_id: str | None,
    rights: Rights | None,
) -> Choice:
    """Choose the memories of a source, or one of them, in a space, as far as a person may."""
    memories = None if doc_id is None else [(None, doc_id)]
    criteria = Criteria(memories=memories, source=source, space_id=space_id)
    if rights is not None:
        matches = tables.versions.find(rights.visible_partitions, criteria)
        return with_versions(tables, matches, rights)
    matches = tables.versions.find(None, criteria)
    return with_versions(tables, [match for match in matches if match.view == 0], None)


def plan(
    tables: Transaction, choice: Choice, token: str, hidden: Mapping[str, Collection[str]]
) -> ForgetPlan:
    """Describe what would be erased, without the asker's ``hidden`` fields by space."""
    newest = {version.memory: version for version in choice.versions}
    return ForgetPlan(
        doc_ids=tuple(doc_id for _, doc_id in choice.memories),
        n_versions=len(choice.versions),
        neighbours=len({*tables.versions.with_following(choice.ids)} - {*choice.ids}),
        by_space=dict(Counter(space_id for space_id, _ in choice.memories)),
        held_back=choice.held_back,
        examples=tuple(
            _example(version, hidden.get(version.space_id, ()))
            for version in list(newest.values())[:EXAMPLES]
        ),
        token=token,
    )


def token_for(requester: str, choice: Choice) -> str:
    """Return the token that confirms exactly these rows for one requester."""
    versions = (*choice.versions, *choice.views)
    rows = sorted((version.id, version.recorded_s) for version in versions)
    return hashlib.sha256(f"{requester}\0{rows}".encode()).digest()[:_TOKEN_BYTES].hex()


def _example(version: Version, hidden: Collection[str]) -> ForgetExample:
    has_author, has_moment = "author" not in hidden, "occurred_at" not in hidden
    return ForgetExample(
        doc_id=version.doc_id,
        space_id=version.space_id,
        author=version.author if has_author else None,
        occurred_at=version.occurred_at if has_moment else None,
        text=version.text[:_EXAMPLE_CHARS],
        author_name=version.author_name if has_author else None,
    )


def with_versions(tables: Transaction, matches: Sequence[Version], rights: Rights | None) -> Choice:
    """Add earlier versions and views to matches; hold back what the person may not edit.

    A current version is chosen with all earlier ones, a superseded one alone.
    """
    current = {match.memory for match in matches if not match.past}
    superseded = {(match.memory, match.recorded_s) for match in matches if match.past}
    memories = current | {memory for memory, _ in superseded}
    if not memories:
        return Choice((), (), 0)
    every = tables.versions.find(None, Criteria(memories=memories))
    originals = [version for version in every if version.view == 0]
    chosen = [
        version
        for version in originals
        if version.memory in current
        or (version.past and (version.memory, version.recorded_s) in superseded)
    ]
    if rights is not None:
        chosen = [
            version
            for version in chosen
            if partition_of(version.id) in rights.unredacted_partitions
        ]
    erased = [
        version
        for version in chosen
        if rights is None or rights.may_edit(version.space_id, version.author)
    ]
    remaining = {version.memory for version in {*originals} - {*erased}}
    emptied = {version.memory for version in originals} - remaining
    erased_current = {version.memory for version in erased if not version.past}
    moments = {(version.memory, version.recorded_s) for version in erased}
    views = [
        version
        for version in every
        if version.view != 0
        and (
            version.memory in emptied
            or (version.memory in erased_current and not version.past)
            or (version.past and (version.memory, version.recorded_s) in moments)
        )
    ]
    held_back = {version.memory for version in chosen} - {version.memory for version in erased}
    return Choice(tuple(erased), tuple(views), len(held_back))


def _memories(
    selection: Selection, answered: Collection[tuple[str, str]]
) -> set[tuple[str | None, str]] | None:
    """Return the memories that ids and query select; None without either."""
    if not selection.doc_ids and selection.query is None:
        return None
    if selection.query is None:
        return {(selection.space_id, doc_id) for doc_id in selection.doc_ids}
    doc_ids = set(selection.doc_ids)
    return {pair for pair in answered if not doc_ids or pair[1] in doc_ids}


def authors_of(
    tables: Transaction, person_id: str, names: Collection[str], partitions: Collection[int]
) -> set[str]:
    """Return the authors, as written, that are a person's id or one of their names."""
    return {
        author
        for author in tables.versions.authors(partitions)
        if author == person_id or normalise(author) in names
    }


def _mentioning(
    tables: Transaction, person_id: str, names: Collection[str], partitions: Collection[int]
) -> set[int]:
    """Return the versions that mention a person; superseded texts are searched for names."""
    superseded = (
        version for partition in partitions for version in tables.versions.superseded(partition)
    )
    past = {version.id for version in superseded if names_in(version.text, names)}
    return past | set(tables.versions.mentioning(partitions, person_id))

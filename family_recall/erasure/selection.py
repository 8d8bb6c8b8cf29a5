"""Choosing: what is asked to be forgotten in, the rows that go and those that are held back out."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from family_recall.access.rights import Asker, names_of
from family_recall.query.text import names_in, normalise
from family_recall.stores.erase.forgetting_log import ForgettingLog, Sought, Version
from family_recall.stores.erase.verification import Keyring
from family_recall.stores.file.row_ids import partition_of
from family_recall.stores.read.transaction import Transaction
from family_recall.stores.records import epoch_s
from family_recall.types.erasure import ForgetExample, ForgetPlan, Selection

EXAMPLES = 5
_EXAMPLE_CHARS = 160


@dataclass(frozen=True, slots=True)
class Choice:
    """Versions that go, with the views of them; how many memories were chosen and stay."""

    versions: tuple[Version, ...]
    views: tuple[Version, ...]
    held_back: int

    @property
    def memories(self) -> tuple[tuple[str, str], ...]:
        """What they are versions of, each once, in the order they were told."""
        return tuple(dict.fromkeys(version.memory for version in self.versions))

    @property
    def ids(self) -> list[int]:
        """The ids of all rows that go."""
        return sorted(version.id for version in (*self.versions, *self.views))


def choose(
    tables: Transaction,
    selection: Selection,
    who: Asker,
    zone: dt.tzinfo,
    answered: Collection[tuple[str, str]],
) -> Choice:
    """Find what a selection means to somebody, among what they are shown, and what of it is theirs.

    ``answered`` are the memories, as (space_id, doc_id), that the selection's query found.
    """
    sought = Sought(
        memories=_memories(selection, answered),
        authors=_authors(tables, selection.by, who.seen),
        space_id=selection.space_id,
        session_id=selection.session_id,
        occurred_s=(epoch_s(selection.after, zone), epoch_s(selection.before, zone)),
        recorded_s=(
            epoch_s(selection.recorded_after, zone), epoch_s(selection.recorded_before, zone)
        ),
        ids=None if selection.about is None else _naming(tables, selection.about, who.seen),
    )  # fmt: skip
    log = tables.erasure_log
    return _with_versions(log, log.find(who.seen, sought), who)


def outlived(log: ForgettingLog, now_s: float) -> Choice:
    """Find what the household's rules keep no longer, whoever's it is."""
    found: list[Version] = []
    for rule in log.rules():
        before = now_s - rule.keep_days * 86_400.0
        found += log.find(None, Sought(category=rule.category, older_than_s=before))
    return _with_versions(log, found, None)


def plan(log: ForgettingLog, choice: Choice, token: str) -> ForgetPlan:
    """Show what would go."""
    by_space: dict[str, int] = {}
    for space_id, _ in choice.memories:
        by_space[space_id] = by_space.get(space_id, 0) + 1
    newest = {version.memory: version for version in choice.versions}
    return ForgetPlan(
        doc_ids=tuple(doc_id for _, doc_id in choice.memories),
        n_versions=len(choice.versions),
        neighbours=log.n_followers(choice.ids),
        by_space=by_space,
        held_back=choice.held_back,
        examples=tuple(
            ForgetExample(
                version.doc_id, version.space_id, version.author, version.occurred_at,
                version.text[:_EXAMPLE_CHARS],
            )
            for version in list(newest.values())[:EXAMPLES]
        ),
        token=token,
    )  # fmt: skip


def token_for(key: bytes, person_id: str, choice: Choice) -> str:
    """Give what confirms exactly these rows, for this person."""
    rows = struct.pack(f"<{len(choice.ids)}q", *choice.ids)
    return Keyring(key).digest(f"token {person_id}", rows).hex()


def _with_versions(log: ForgettingLog, found: Sequence[Version], who: Asker | None) -> Choice:
    """Add to what was found its earlier versions and its views; leave out what is not theirs."""
    whole = {version.memory for version in found if not version.past}
    single = {(version.memory, version.recorded_s) for version in found if version.past}
    touched = whole | {memory for memory, _ in single}
    if not touched:
        return Choice((), (), 0)
    every = log.find(None, Sought(memories=touched))
    told = [one for one in every if one.veil == 0]
    meant = [
        one
        for one in told
        if one.memory in whole or (one.past and (one.memory, one.recorded_s) in single)
    ]
    if who is not None:
        meant = [one for one in meant if partition_of(one.id) in who.told]
    going = [one for one in meant if who is None or who.may_edit(one.space_id, one.author)]
    emptied = {one.memory for one in told} - {one.memory for one in {*told} - {*going}}
    ended = {one.memory for one in going if not one.past}
    gone = {(one.memory, one.recorded_s) for one in going}
    views = [
        one
        for one in every
        if one.veil != 0
        and (
            one.memory in emptied
            or (one.memory in ended and not one.past)
            or (one.past and (one.memory, one.recorded_s) in gone)
        )
    ]
    held_back = {one.memory for one in meant} - {one.memory for one in going}
    return Choice(tuple(going), tuple(views), len(held_back))


def _memories(
    selection: Selection, answered: Collection[tuple[str, str]]
) -> set[tuple[str | None, str]] | None:
    """Name what ids and query ask for, together; None where they ask for nothing."""
    if not selection.doc_ids and selection.query is None:
        return None
    if selection.query is None:
        return {(selection.space_id, doc_id) for doc_id in selection.doc_ids}
    wanted = set(selection.doc_ids)
    return {pair for pair in answered if not wanted or pair[1] in wanted}


def _authors(tables: Transaction, person_id: str | None, seen: Collection[int]) -> set[str] | None:
    """List how a person is written as an author; None where nobody is asked for."""
    if person_id is None:
        return None
    names = names_of(person_id, tables.household.people())
    return {
        author
        for author in tables.erasure_log.authors(seen)
        if author == person_id or normalise(author) in names
    }


def _naming(tables: Transaction, person_id: str, seen: Collection[int]) -> set[int]:
    """List the versions in which a person is named; what has been replaced is read for it."""
    names = names_of(person_id, tables.household.people())
    log = tables.erasure_log
    past = {memory for memory, text in log.past_texts(seen) if names_in(text, names)}
    return past | set(log.naming(seen, person_id))

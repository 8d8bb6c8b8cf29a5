"""Judgements and what was learned from them: numbers in, numbers out, never a word of text."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, MutableMapping
from dataclasses import asdict, dataclass
from typing import Any

import apsw
import numpy as np

from family_recall.stores.access.household import Household
from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import partition_of
from family_recall.types import FloatArray

LOG_LENGTH = 500
"""Judgements, and steps, of each person that are kept; older ones are deleted."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One result as it was judged or stood around the judged one: ``values`` (f,) of features."""

    memory: int
    rank: int
    values: FloatArray


@dataclass(frozen=True, slots=True)
class FeedbackEntry:
    """What one person thought of one result.

    ``question`` is a hash; ``weight`` in (0, 1], below 1 where nobody said it outright; ``kind``
    whose vectors the ranking rested on; ``features`` name the values of each of ``shown``, which
    holds the judged result too, in the order of ranks.
    """

    memory: int
    at_s: float
    question: bytes
    accepted: bool
    weight: float
    kind: str
    features: tuple[str, ...]
    shown: tuple[Shown, ...]


@dataclass(frozen=True, slots=True)
class Learned:
    """One step: the weights from then on, those they started from, and how confidence is bent.

    A logit of the shipped calibration is read as ``slope_ratio · logit + offset_shift``.
    ``samples`` counts the judgements it rests on.
    """

    weights: Mapping[str, float]
    shipped: Mapping[str, float]
    slope_ratio: float
    offset_shift: float
    samples: int


@dataclass(frozen=True, slots=True)
class FeedbackLog:
    """The tables of judgements and steps, inside one transaction."""

    connection: apsw.Connection

    def people(self) -> list[str]:
        """List who has judged anything or taught something, by id."""
        found = sql.rows(
            self.connection,
            "SELECT person_id FROM person WHERE no IN (SELECT person FROM judgement)"
            " OR no IN (SELECT person FROM learned) ORDER BY person_id",
        )
        return [person_id for (person_id,) in found]

    def current_memory(
        self, space_id: str | None, doc_id: str, partitions: Collection[int]
    ) -> int | None:
        """Find the row id of a memory's current version in some partitions; None if not there."""
        found = sql.rows(
            self.connection,
            "SELECT m.id FROM memory m JOIN space s ON s.no = m.space"
            " WHERE m.doc_id = ? AND s.space_id = coalesce(?, s.space_id)"
            " AND m.superseded_s IS NULL ORDER BY m.id",
            (doc_id, space_id),
        )
        return next((int(at) for (at,) in found if partition_of(at) in partitions), None)

    def put(self, person_id: str, judgement: FeedbackEntry) -> int:
        """Keep a judgement, and let go of those that are too many; gives its number."""
        person = Household(self.connection).person_no(person_id)
        self.connection.execute(
            "INSERT INTO judgement(person, memory, at_s, question, accepted, weight, kind,"
            " features) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (
                person, judgement.memory, judgement.at_s, judgement.question, judgement.accepted,
                judgement.weight, judgement.kind, " ".join(judgement.features),
            ),
        )  # fmt: skip
        no = int(self.connection.last_insert_rowid())
        self.connection.executemany(
            "INSERT INTO shown(judgement, rank, memory, feature_values) VALUES(?, ?, ?, ?)",
            [
                (no, one.rank, one.memory, np.asarray(one.values, "<f4").tobytes())
                for one in judgement.shown
            ],
        )
        self._delete(
            "SELECT no FROM judgement WHERE person = ? ORDER BY no DESC LIMIT -1 OFFSET ?",
            (person, LOG_LENGTH),
        )
        return no

    def judgements(self, person_id: str, partitions: Collection[int]) -> list[FeedbackEntry]:
        """Give a person's judgements, oldest first, as far as they are about some partitions."""
        person = Household(self.connection).person_no(person_id)
        shown: dict[int, list[Shown]] = {}
        for no, rank, memory, values in sql.rows(
            self.connection,
            "SELECT s.judgement, s.rank, s.memory, s.feature_values FROM judgement j"
            " CROSS JOIN shown s ON s.judgement = j.no WHERE j.person = ? ORDER BY j.no, s.rank",
            (person,),
        ):
            if partition_of(memory) in partitions:
                shown.setdefault(no, []).append(Shown(memory, rank, np.frombuffer(values, "<f4")))
        return [
            FeedbackEntry(
                memory, at_s, question, bool(accepted), weight, kind,
                tuple(features.split()), tuple(shown.get(no, ())),
            )
            for no, memory, at_s, question, accepted, weight, kind, features in sql.rows(
                self.connection,
                "SELECT no, memory, at_s, question, accepted, weight, kind, features"
                " FROM judgement WHERE person = ? ORDER BY no",
                (person,),
            )
            if partition_of(memory) in partitions
        ]  # fmt: skip

    def put_guard(self, judgement: int, guard: Mapping[str, object]) -> None:
        """Note what the guard said when a judgement was learned from."""
        self.connection.execute(
            "UPDATE judgement SET guard = ? WHERE no = ?", (json.dumps(guard), judgement)
        )

    def last_guard(self, person_id: str) -> Mapping[str, object] | None:
        """Give what the guard said last; None where it was never asked."""
        row = sql.row(
            self.connection,
            "SELECT guard FROM judgement WHERE person = ? AND guard IS NOT NULL"
            " ORDER BY no DESC LIMIT 1",
            (Household(self.connection).person_no(person_id),),
        )
        return None if row is None else dict(json.loads(row[0]))

    def count(self, person_id: str) -> int:
        """Count a person's judgements."""
        person = Household(self.connection).person_no(person_id)
        (n,) = sql.row(
            self.connection, "SELECT count(*) FROM judgement WHERE person = ?", (person,)
        )
        return int(n)

    def learned(self, person_id: str) -> Learned | None:
        """Give a person's last step; None where there is none."""
        return newest(self.connection, person_id, {})

    def learn(self, person_id: str, judgement: int, at_s: float, learned: Learned) -> None:
        """Keep a step, and let go of those that are too many to undo."""
        person = Household(self.connection).person_no(person_id)
        self.connection.execute(
            "INSERT INTO learned(person, judgement, at_s, record) VALUES(?, ?, ?, ?)",
            (person, judgement, at_s, json.dumps(asdict(learned))),
        )
        self.connection.execute(
            "DELETE FROM learned WHERE no IN"
            " (SELECT no FROM learned WHERE person = ? ORDER BY no DESC LIMIT -1 OFFSET ?)",
            (person, LOG_LENGTH),
        )

    def drop_steps(self, person_id: str) -> int | None:
        """Delete what one person's judgements taught; gives the number of the last judgement."""
        person = Household(self.connection).person_no(person_id)
        self.connection.execute("DELETE FROM learned WHERE person = ?", (person,))
        self.connection.execute("UPDATE judgement SET guard = NULL WHERE person = ?", (person,))
        (last,) = sql.row(
            self.connection, "SELECT max(no) FROM judgement WHERE person = ?", (person,)
        )
        return None if last is None else int(last)

    def unlearn(self, last: int, person_id: str | None) -> int:
        """Take back the last judgements, one person's or everyone's, and each step since.

        Returns how many were taken back. A judgement that went with its memory counts as long
        as a step was made on it.
        """
        whose = None if person_id is None else Household(self.connection).person_no(person_id)
        found = sql.rows(
            self.connection,
            "SELECT no FROM judgement WHERE person = coalesce(?1, person)"
            " UNION SELECT judgement FROM learned WHERE person = coalesce(?1, person)"
            " ORDER BY 1 DESC LIMIT ?2",
            (whose, last),
        )
        if found:
            first = found[-1][0]
            self._delete(
                "SELECT no FROM judgement WHERE no >= ? AND person = coalesce(?, person)",
                (first, whose),
            )
            self.connection.execute(
                "DELETE FROM learned WHERE judgement >= ? AND person = coalesce(?, person)",
                (first, whose),
            )
        return len(found)

    def reset(self, person_id: str | None) -> None:
        """Delete every judgement and step, of one person or of everyone."""
        whose = None if person_id is None else Household(self.connection).person_no(person_id)
        self._delete("SELECT no FROM judgement WHERE person = coalesce(?, person)", (whose,))
        self.connection.execute("DELETE FROM learned WHERE person = coalesce(?, person)", (whose,))

    def _delete(self, chosen: str, values: apsw.Bindings) -> None:
        numbers = json.dumps([no for (no,) in sql.rows(self.connection, chosen, values)])
        for table, column in (("shown", "judgement"), ("judgement", "no")):
            self.connection.execute(
                f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))",
                (numbers,),
            )


def newest(
    connection: apsw.Connection, person_id: str, known: MutableMapping[int, Learned]
) -> Learned | None:
    """Give a person's last step; ``known`` keeps those that were read, by their numbers."""
    row = sql.row(
        connection,
        "SELECT max(no) FROM learned WHERE person = (SELECT no FROM person WHERE person_id = ?)",
        (person_id,),
    )
    no = row[0]
    if no is None:
        return None
    if no not in known:
        (record,) = sql.row(connection, "SELECT record FROM learned WHERE no = ?", (no,))
        try:
            known[no] = _read(json.loads(record))
        except (AttributeError, KeyError, TypeError, ValueError):
            return None  # damaged, or another version's: the shipped weights rank
    return known[no]


def _read(record: Mapping[str, Any]) -> Learned:
    return Learned(
        weights={name: float(weight) for name, weight in record["weights"].items()},
        shipped={name: float(weight) for name, weight in record["shipped"].items()},
        slope_ratio=float(record["slope_ratio"]),
        offset_shift=float(record["offset_shift"]),
        samples=int(record["samples"]),
    )

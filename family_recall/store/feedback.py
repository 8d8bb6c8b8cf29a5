"""Feedback on results, and what was learned from it: numbers alone, never a word of text."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import apsw
import numpy as np

from family_recall.store.file import sql
from family_recall.store.file.damage import MALFORMED
from family_recall.store.file.schema import partition_of
from family_recall.store.household import Household
from family_recall.types import FloatArray
from family_recall.types.records import Record

LOG_LENGTH = 500
"""Entries, and steps, of each person that are stored; older ones are deleted."""


@dataclass(frozen=True, slots=True)
class ShownResult:
    """One result of an answer with feedback, and the values (f,) of its features."""

    memory: int
    rank: int
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class QuestionSketch:
    """What is stored of a question, to know one like it: numbers, and no word of it.

    ``vector`` (d,) is a unit vector of the static embedder ``model_id``, or None where there was
    none; ``stems`` are the numbers of its words, and ``kinds`` those of the values it asks for.
    """

    model_id: str | None
    vector: FloatArray | None
    stems: frozenset[int]
    kinds: frozenset[str]

    def to_text(self) -> str:
        """Return it as it is stored; the vector in one byte a dimension."""
        record: dict[str, Any] = {"stems": sorted(self.stems), "kinds": sorted(self.kinds)}
        if self.vector is not None:
            scaled = np.rint(127.0 * self.vector / max(float(np.abs(self.vector).max()), 1e-9))
            record |= {"model": self.model_id, "vector": scaled.astype(np.int8).tobytes().hex()}
        return json.dumps(record)

    @classmethod
    def from_text(cls, text: str) -> QuestionSketch:
        """Read what :meth:`to_text` wrote; raises one of :data:`MALFORMED` for anything else."""
        record = json.loads(text)
        vector = None
        if "vector" in record:
            scaled = np.frombuffer(bytes.fromhex(record["vector"]), np.int8).astype(np.float32)
            vector = scaled / max(float(np.linalg.norm(scaled)), 1e-9)
        return cls(
            record.get("model"), vector, frozenset(record["stems"]), frozenset(record["kinds"])
        )


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """Whether one person found that a memory answers a question; ``question`` is its hash."""

    memory: int
    question: bytes
    accepted: bool
    asked: QuestionSketch | None


@dataclass(frozen=True, slots=True)
class FeedbackEntry:
    """One person's feedback on one result, ``memory``.

    ``question`` is a hash, and ``asked`` a sketch; ``weight`` is in (0, 1], below 1 for feedback
    that was only implied; ``features`` name the values of each of ``shown``, the results in the
    order of ranks, the one with feedback among them.
    """

    memory: int
    at_s: float
    question: bytes
    accepted: bool
    weight: float
    features: tuple[str, ...]
    shown: tuple[ShownResult, ...]
    asked: QuestionSketch | None = field(default=None, compare=False)


class LearningStep(Record, frozen=True):
    """One step: the weights from then on, and those they started from.

    ``samples`` counts the entries it rests on.
    """

    weights: Mapping[str, float]
    shipped: Mapping[str, float]
    samples: int


@dataclass(frozen=True, slots=True)
class FeedbackLog:
    """The tables of feedback and learning steps, inside one transaction."""

    connection: apsw.Connection

    def people(self) -> list[str]:
        """List the ids of the people who gave feedback or have a learning step."""
        rows = sql.rows(
            self.connection,
            "SELECT person_id FROM person WHERE no IN (SELECT person FROM feedback)"
            " OR no IN (SELECT person FROM learned) ORDER BY person_id",
        )
        return [person_id for (person_id,) in rows]

    def current_memory(
        self, space_id: str | None, doc_id: str, partitions: Collection[int]
    ) -> int | None:
        """Find the row id of a memory's current version in some partitions; None if not there."""
        rows = sql.rows(
            self.connection,
            "SELECT m.id FROM memory m JOIN space s ON s.no = m.space"
            " WHERE m.doc_id = ? AND s.space_id = coalesce(?, s.space_id)"
            " AND m.superseded_s IS NULL ORDER BY m.id",
            (doc_id, space_id),
        )
        return next((int(memory) for (memory,) in rows if partition_of(memory) in partitions), None)

    def put(self, person_id: str, entry: FeedbackEntry) -> int:
        """Store an entry, delete the oldest ones beyond the limit, and return its number."""
        person = self._person_no(person_id)
        self.connection.execute(
            "INSERT INTO feedback(person, memory, at_s, question, accepted, weight,"
            " features, asked) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (
                person, entry.memory, entry.at_s, entry.question, entry.accepted, entry.weight,
                " ".join(entry.features), entry.asked and entry.asked.to_text(),
            ),
        )  # fmt: skip
        no = int(self.connection.last_insert_rowid())
        self.connection.executemany(
            "INSERT INTO shown(feedback, rank, memory, feature_values) VALUES(?, ?, ?, ?)",
            [
                (no, result.rank, result.memory, np.asarray(result.values, "<f4").tobytes())
                for result in entry.shown
            ],
        )
        self._delete_oldest("feedback", person)
        return no

    def entries(self, person_id: str, partitions: Collection[int]) -> list[FeedbackEntry]:
        """List what can be learned from a person's feedback in some partitions, oldest first.

        What is not in those partitions is left out. So is an entry whose own memory has no values
        beside it: one on an answer that was not ranked by what is learned.
        """
        entries: list[FeedbackEntry] = []
        for no, memory, at_s, question, accepted, weight, names in sql.rows(
            self.connection,
            "SELECT no, memory, at_s, question, accepted, weight, features"
            " FROM feedback WHERE person = ? ORDER BY no",
            (self._person_no(person_id),),
        ):
            features = tuple(names.split())
            shown = tuple(
                ShownResult(of_memory, rank, np.frombuffer(values, "<f4"))
                for of_memory, rank, values in sql.rows(
                    self.connection,
                    "SELECT memory, rank, feature_values FROM shown WHERE feedback = ?"
                    " AND length(feature_values) = ? ORDER BY rank",
                    (no, 4 * len(features)),
                )
                if partition_of(of_memory) in partitions
            )
            if any(result.memory == memory for result in shown):
                entry = memory, at_s, question, bool(accepted), weight, features, shown
                entries.append(FeedbackEntry(*entry))
        return entries

    def count(self, person_id: str) -> int:
        """Count a person's entries."""
        (n,) = sql.row(
            self.connection,
            "SELECT count(*) FROM feedback WHERE person = ?",
            (self._person_no(person_id),),
        )
        return int(n)

    def put_guard(self, no: int, guard: Mapping[str, object]) -> None:
        """Store the guard's figures with the entry that was learned from."""
        self.connection.execute(
            "UPDATE feedback SET guard = ? WHERE no = ?", (json.dumps(guard), no)
        )

    def last_guard(self, person_id: str) -> Mapping[str, object] | None:
        """Return the guard's last figures; None if there are none."""
        row = sql.row(
            self.connection,
            "SELECT guard FROM feedback WHERE person = ? AND guard IS NOT NULL"
            " ORDER BY no DESC LIMIT 1",
            (self._person_no(person_id),),
        )
        return None if row is None else dict(json.loads(row[0]))

    def last_step(self, person_id: str) -> LearningStep | None:
        """Return a person's last step; None if there is none, or a damaged or newer one."""
        try:
            row = sql.row(
                self.connection,
                "SELECT l.record FROM learned l JOIN person p ON p.no = l.person"
                " WHERE p.person_id = ? ORDER BY l.no DESC LIMIT 1",
                (person_id,),
            )
            return None if row is None else LearningStep.from_json(json.loads(row[0]))
        except MALFORMED:
            return None

    def verdicts(self, person_id: str) -> tuple[Verdict, ...]:
        """List what one person said outright of memories they once rejected, the newest first."""
        return tuple(
            Verdict(memory, question, bool(accepted), _sketch(asked))
            for memory, question, accepted, asked in sql.rows(
                self.connection,
                "WITH own AS (SELECT * FROM feedback WHERE weight = 1.0"
                "  AND person = (SELECT no FROM person WHERE person_id = ?))"
                " SELECT memory, question, accepted, CAST(asked AS BLOB) FROM own"
                " WHERE memory IN (SELECT memory FROM own WHERE NOT accepted) ORDER BY no DESC",
                (person_id,),
            )
        )

    def put_step(self, person_id: str, no: int, at_s: float, step: LearningStep) -> None:
        """Store the step learned from an entry, and delete the oldest ones beyond the limit."""
        person = self._person_no(person_id)
        self.connection.execute(
            "INSERT INTO learned(person, feedback, at_s, record) VALUES(?, ?, ?, ?)",
            (person, no, at_s, json.dumps(step.to_json())),
        )
        self._delete_oldest("learned", person)

    def drop_steps(self, person_id: str) -> int | None:
        """Delete a person's steps; returns the number of their last entry."""
        person = self._person_no(person_id)
        self.connection.execute("DELETE FROM learned WHERE person = ?", (person,))
        self.connection.execute("UPDATE feedback SET guard = NULL WHERE person = ?", (person,))
        (last,) = sql.row(
            self.connection, "SELECT max(no) FROM feedback WHERE person = ?", (person,)
        )
        return None if last is None else int(last)

    def undo(self, last: int, person_id: str | None) -> int:
        """Delete the last entries, one person's or everyone's, and each step since.

        Returns how many. An entry that was deleted with its memory counts as long as there is a
        step that was learned from it.
        """
        whose = None if person_id is None else self._person_no(person_id)
        rows = sql.rows(
            self.connection,
            "SELECT no FROM feedback WHERE person = coalesce(?1, person)"
            " UNION SELECT feedback FROM learned WHERE person = coalesce(?1, person)"
            " ORDER BY 1 DESC LIMIT ?2",
            (whose, last),
        )
        if rows:
            self._delete_since(rows[-1][0], whose)
        return len(rows)

    def reset(self, person_id: str | None) -> None:
        """Delete all entries and steps, of one person or of everyone."""
        whose = None if person_id is None else self._person_no(person_id)
        self._delete_since(0, whose)

    def _delete_since(self, first: int, whose: int | None) -> None:
        for table, number in (("feedback", "no"), ("learned", "feedback")):
            self.connection.execute(
                f"DELETE FROM {table} WHERE {number} >= ? AND person = coalesce(?, person)",
                (first, whose),
            )

    def _delete_oldest(self, table: str, person: int) -> None:
        """Delete what is beyond the limit of entries, or of steps."""
        self.connection.execute(
            f"DELETE FROM {table} WHERE no IN"
            f" (SELECT no FROM {table} WHERE person = ? ORDER BY no DESC LIMIT -1 OFFSET ?)",
            (person, LOG_LENGTH),
        )

    def _person_no(self, person_id: str) -> int:
        return Household(self.connection).person_no(person_id)


def _sketch(asked: bytes | None) -> QuestionSketch | None:
    try:
        return None if asked is None else QuestionSketch.from_text(asked.decode())
    except MALFORMED:
        return None

"""What is set right: a memory that says what is not so, and how two things are related."""

from __future__ import annotations

import datetime as dt
from typing import Any

from family_recall.api.opened import Embed, Opened, check_embed
from family_recall.types import Corrected, RecallContext, Relation


class Mending(Opened):
    """The part of `FamilyRecall` that is about what is set right."""

    def correct(
        self,
        doc_id: str,
        *,
        person_id: str,
        space_id: str | None = None,
        recorded_at: dt.datetime | None = None,
        embed: Embed = "now",
        **changes: Any,
    ) -> Corrected:
        """Correct a memory: from now on it says this, and what it said is an earlier version.

        What is not named stays as it is, fields that are hidden from this person among them.

        Args:
            doc_id: Its id.
            person_id: Who wants it. A person may correct what they said, what lies in a private
                space of their own, and all of a space they own.
            space_id: The space it is in, where several have one of that id.
            recorded_at: When the version that is meant was recorded, as :meth:`look` gives it.
                Where another was told since, nothing is changed.
            embed: As with :meth:`remember`.
            **changes: Fields of a memory by name, such as ``text``; all but ``doc_id``,
                ``space_id`` and ``guardians_of``. Only an owner changes ``author``.

        Raises:
            InvalidMemoryError: If there is no such field, or it cannot be changed to that.
            InvalidRequestError: If nobody in particular asks, or several spaces have that id.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If one is not there, or not
                for this person.
            NotTheirsError: If it is another's to correct, or a field is hidden from this person.
            ConflictError: If it was told anew since ``recorded_at``.
            StoreError: If it is damaged in the file.
        """
        check_embed(embed)
        done = self._mender.correct(
            doc_id,
            changes,
            person_id,
            space_id,
            recorded_at=recorded_at,
            wall_s=self._wall_clock(),
            encoder=self._models.wait() if embed == "now" else None,
            static=self._models.static(),
        )
        self._audit.note_given("look", RecallContext(person_id), [(done.space_id, done.doc_id)])
        return done

    def may_correct(self, doc_id: str, *, person_id: str, space_id: str | None = None) -> bool:
        """Say whether a memory is somebody's to correct, and to give as evidence for a relation.

        Raises:
            InvalidRequestError, UnknownPersonError, UnknownSpaceError, UnknownMemoryError: As
                :meth:`correct`.
        """
        return self._mender.may_correct(doc_id, person_id, space_id, wall_s=self._wall_clock())

    def relate(self, relation: Relation, *, person_id: str | None = None) -> None:
        """Store a typed edge between two named things of a space.

        The same two in the same relation, from the same moment on, are told anew.

        Args:
            relation: What is so.
            person_id: Who says so. A person may relate with memories that they may correct as the
                evidence and, without evidence, in a space they own. Nobody in particular, when
                left out: then, as with :meth:`remember`, who may is for the caller to say.

        Raises:
            UnknownSpaceError: If the space is not there, or not for this person.
            UnknownMemoryError: If a piece of evidence is not in that space and band, or not for
                this person.
            UnknownPersonError: If there is no such person.
            NotTheirsError: If a piece of evidence is another's; if there is none, and the space is
                not theirs; or if others told that relation already.
            InvalidMemoryError: If this person could not see it.
        """
        wall_s = self._wall_clock()
        if person_id is None:
            self._indexer.relate(relation, wall_s)
        else:
            self._mender.relate(relation, person_id, wall_s=wall_s)

    def unrelate(self, relation: Relation, *, person_id: str) -> bool:
        """Take back that two things are related; False where nobody had told so.

        It is gone from answers, from the graph and from every role's view, and so are names that
        only it made known. The memories that it rested on stay.

        Args:
            relation: As :meth:`relations` lists it, or as it was told. Its ends, kind, space,
                band, guardians and ``valid_from`` say which is meant; the rest does not count.
            person_id: Who wants it: an owner of its space, or whoever said all that it rests on.

        Raises:
            InvalidRequestError: If nobody in particular asks.
            UnknownPersonError, UnknownSpaceError: If one is not there, or not for this person.
            NotTheirsError: If it is another's to take back.
        """
        return self._mender.unrelate(relation, person_id, wall_s=self._wall_clock())

    def may_unrelate(self, relation: Relation, *, person_id: str) -> bool:
        """Say whether a relation is there, and somebody's to take back.

        Raises:
            InvalidRequestError, UnknownPersonError, UnknownSpaceError: As :meth:`unrelate`.
        """
        return self._mender.may_unrelate(relation, person_id, wall_s=self._wall_clock())

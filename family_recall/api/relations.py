"""Relations between named people and things."""

from __future__ import annotations

from family_recall.api.engine import Engine
from family_recall.types import (
    RecallContext,
    RecallRequest,
    Relation,
)


class Relations:
    """Typed relations between two named things of a space."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, relation: Relation, *, person_id: str | None = None) -> None:
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
        wall_s = self._engine.wall_clock()
        if person_id is None:
            self._engine.indexer.relate(relation, wall_s)
        else:
            self._engine.editor.relate(relation, person_id, wall_s=wall_s)

    def all(self, ctx: RecallContext | None = None, *, limit: int = 1000) -> list[Relation]:
        """List what was told to be related, of what a request may see, oldest first.

        Those that hold at ``ctx.as_of``; ``ctx.filters`` but ``allow_shared`` are of memories, and
        narrow nothing here.

        Raises:
            InvalidRequestError: If ``limit`` is below 1.
            UnknownPersonError, UnknownSpaceError: If who asks, or where, is not there, or not for
                this person.
        """
        request = RecallRequest("", ctx or RecallContext())
        now_s = self._engine.now(request).timestamp()
        return self._engine.browser.relations(
            request.ctx, limit, now_s=now_s, wall_s=self._engine.wall_clock()
        )

    def remove(self, relation: Relation, *, person_id: str) -> bool:
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
        return self._engine.editor.unrelate(relation, person_id, wall_s=self._engine.wall_clock())

    def may_remove(self, relation: Relation, *, person_id: str) -> bool:
        """Say whether a relation is there, and somebody's to take back.

        Raises:
            InvalidRequestError, UnknownPersonError, UnknownSpaceError: As :meth:`unrelate`.
        """
        return self._engine.editor.may_unrelate(
            relation, person_id, wall_s=self._engine.wall_clock()
        )

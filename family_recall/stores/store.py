"""The file as everyone else meets it: snapshots to read, transactions to write."""

from __future__ import annotations

import contextlib
import datetime as dt
import zoneinfo
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from family_recall.errors import InvalidRequestError
from family_recall.stores import blocks, household, memories, sql, vectors
from family_recall.stores.base import ToEmbed
from family_recall.stores.feedback import FeedbackLog, Learned
from family_recall.stores.schema import SCHEMA_VERSION
from family_recall.stores.snapshot import SqliteSnapshot
from family_recall.stores.sqlite import Connections
from family_recall.stores.writing import Writing
from family_recall.types import Grant, Person, Region, Space


class Store:
    """One household's file. Safe to share between threads; see ``Connections``."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool,
        timezone: str | None = None,
        country: str | None = None,
        hemisphere: str | None = None,
    ) -> None:
        """Open or make the file; zone (IANA), country and hemisphere are kept once given.

        Raises:
            InvalidRequestError: If one of them has no such name.
            StoreError: As ``Connections`` says.
        """
        named = {"timezone": timezone, "country": country, "hemisphere": hemisphere}
        given = {key: value for key, value in named.items() if value is not None}
        _settled(given)
        self._connections = Connections(path, create=create)
        self._blocks = blocks.Blocks()
        self._learned: dict[int, Learned] = {}
        self.path = path
        with self._connections.reading() as connection:
            kept = dict(sql.rows(connection, "SELECT key, value FROM info"))
        self.zone, self.region = _settled({**kept, **given})
        changed = {key: value for key, value in given.items() if kept.get(key) != value}
        if changed:
            with self._connections.writing() as connection:
                for key, value in changed.items():
                    Writing(connection, self.zone, vec0=False).put_info(key, value)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        """Read: one consistent view, held until the block ends."""
        with self._connections.reading() as connection:
            yield SqliteSnapshot(connection, self._blocks, self.zone, self._learned)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writing]:
        """Write: everything inside the block is kept, or nothing is."""
        with self._connections.writing() as connection:
            writing = Writing(connection, self.zone, vec0=self._connections.vec0)
            yield writing
            writing.finish()

    @contextlib.contextmanager
    def judging(self) -> Iterator[FeedbackLog]:
        """Write judgements and what is learned from them: all of the block is kept, or nothing."""
        with self._connections.writing() as connection:
            yield FeedbackLog(connection)

    @contextlib.contextmanager
    def judged(self) -> Iterator[FeedbackLog]:
        """Read judgements and what was learned from them, in one view."""
        with self._connections.reading() as connection:
            yield FeedbackLog(connection)

    def to_embed(self, model_id: str, *, after: int, limit: int) -> list[ToEmbed]:
        """List memories past an id that have no vector of a model yet, in the order of ids."""
        with self._connections.reading() as connection:
            return memories.to_embed(connection, model_id, after=after, limit=limit)

    def readings(self, ids: Sequence[int]) -> list[ToEmbed]:
        """Give what a model is to read of some memories."""
        with self._connections.reading() as connection:
            return memories.readings(connection, ids)

    def info(self, key: str) -> str | None:
        """Give one of the file's own facts."""
        with self._connections.reading() as connection:
            row = sql.row(connection, "SELECT value FROM info WHERE key = ?", (key,))
        return str(row[0]) if row else None

    def people(self) -> list[Person]:
        """List the household's people."""
        with self._connections.reading() as connection:
            return household.people(connection)

    def spaces(self) -> list[Space]:
        """List the household's spaces."""
        with self._connections.reading() as connection:
            return household.spaces(connection)

    def grants(self) -> list[Grant]:
        """List who may enter which space."""
        with self._connections.reading() as connection:
            return household.grants(connection, self.zone)

    def stats(self) -> dict[str, Any]:
        """Count what is stored, for the household's owner."""
        with self._connections.reading() as connection:

            def count(table: str) -> int:
                return int(sql.row(connection, f"SELECT count(*) FROM {table}")[0])

            partitions = household.partitions(connection)
            by_space: dict[str, int] = {}
            for partition in partitions:
                by_space.setdefault(partition.space_id, 0)
                by_space[partition.space_id] += partition.n_current
            embedded = {
                model.model_id: int(
                    sql.row(
                        connection, "SELECT count(*) FROM embedding WHERE model = ?", (model.no,)
                    )[0]
                )
                for model in vectors.models(connection)
            }
            return {
                "path": str(self.path),
                "bytes": sum(
                    file.stat().st_size
                    for suffix in ("", "-wal")
                    if (file := Path(f"{self.path}{suffix}")).exists()
                ),
                "schema": SCHEMA_VERSION,
                "timezone": str(self.zone),
                "country": self.region.country,
                "hemisphere": self.region.hemisphere,
                "memories": sum(partition.n_current for partition in partitions),
                "superseded": sum(partition.n_past for partition in partitions),
                "vectors": embedded,
                "by_space": by_space,
                "people": count("person"),
                "entities": count("entity"),
                "relations": count("relation"),
                "edges": count("edge") // 2,
            }

    def close(self) -> None:
        """Close every connection; closing twice does nothing."""
        self._connections.close()
        self._blocks.clear()
        self._learned.clear()


def _settled(info: Mapping[str, str]) -> tuple[dt.tzinfo, Region]:
    region = {name: info[name] for name in ("country", "hemisphere") if name in info}
    return _zone(info.get("timezone", "UTC")), Region(**region)


def _zone(name: str) -> dt.tzinfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidRequestError(
            f"timezone must be an IANA name such as Europe/Berlin, got {name!r}"
        ) from None

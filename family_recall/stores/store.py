"""The file as everyone else meets it: snapshots to read, transactions to write."""

from __future__ import annotations

import contextlib
import datetime as dt
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from family_recall.errors import InvalidRequestError
from family_recall.stores.access.household import Household
from family_recall.stores.erase import verification
from family_recall.stores.file import copies, integrity, sql
from family_recall.stores.file.connections import Connections
from family_recall.stores.file.encryption import Key
from family_recall.stores.file.integrity import Finding
from family_recall.stores.file.schema import SCHEMA_VERSION
from family_recall.stores.health import checks
from family_recall.stores.logs import stage_costs
from family_recall.stores.logs.feedback import LearningStep
from family_recall.stores.logs.stage_costs import StageCost
from family_recall.stores.read.snapshot import SqliteSnapshot
from family_recall.stores.read.transaction import ReadTransaction
from family_recall.stores.records import ToEmbed
from family_recall.stores.text import memories
from family_recall.stores.vectors import index, tables
from family_recall.stores.write.transaction import WriteTransaction
from family_recall.types import Region
from family_recall.types.erasure import Receipt, Verification
from family_recall.types.progress import ProgressCallback


class Store:
    """One household's file. Safe to share between threads; see ``Connections``."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool,
        key: Key | None = None,
        timezone: str | None = None,
        country: str | None = None,
        hemisphere: str | None = None,
    ) -> None:
        """Open or make the file; zone (IANA), country and hemisphere are kept once given.

        With a key the file is, or is made, encrypted.

        Raises:
            InvalidRequestError: If one of them has no such name.
            StoreError: As ``Connections`` says.
        """
        named = {"timezone": timezone, "country": country, "hemisphere": hemisphere}
        given = {key: value for key, value in named.items() if value is not None}
        _settled(given)
        self._connections = Connections(path, create=create, key=key)
        self._blocks = index.VectorIndexes()
        self._learned: dict[int, LearningStep] = {}
        self.path = path
        with self._connections.reading() as connection:
            kept = dict(sql.rows(connection, "SELECT key, value FROM info"))
        self.zone, self.region = _settled({**kept, **given})
        changed = {key: value for key, value in given.items() if kept.get(key) != value}
        if changed:
            with self._connections.writing() as connection:
                for name, value in changed.items():
                    WriteTransaction(connection, self.zone, vec0=False).put_info(name, value)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        """Read: one consistent view, held until the block ends."""
        with self._connections.reading() as connection:
            yield SqliteSnapshot(connection, self._blocks, self.zone, self._learned)

    @contextlib.contextmanager
    def reading(self) -> Iterator[ReadTransaction]:
        """Read any table: one consistent view, held until the block ends."""
        with self._connections.reading() as connection:
            yield ReadTransaction(connection, self.zone, self._blocks, self._learned)

    @contextlib.contextmanager
    def writing(self) -> Iterator[WriteTransaction]:
        """Write: everything inside the block is kept, or nothing is."""
        with self._connections.writing() as connection:
            writing = WriteTransaction(connection, self.zone, vec0=self._connections.vec0)
            yield writing
            writing.finish()

    @contextlib.contextmanager
    def filling(self, info: Mapping[str, str]) -> Iterator[WriteTransaction]:
        """Write into a household that lives where ``info`` says from then on, or nothing at all."""
        before = self.zone, self.region
        self.zone, self.region = _settled(info)
        try:
            with self.writing() as writing:
                for name, value in info.items():
                    writing.put_info(name, value)
                yield writing
        except BaseException:
            self.zone, self.region = before
            raise

    @contextlib.contextmanager
    def whole(self) -> Iterator[apsw.Connection]:
        """Read whole tables, in one view: for the copies, checks and archive beside this module."""
        with self._connections.reading() as connection:
            yield connection

    def examine(self) -> list[Finding]:
        """Check the file, and what is made from the texts against them."""
        with self._connections.reading() as connection:
            findings = integrity.check_pages(connection)
            if not any(finding.problem for finding in findings):
                findings += checks.as_told(connection)
        if any(finding.problem for finding in findings):
            return findings
        with self._connections.looking() as connection:
            return findings + checks.agree(connection)

    def glance(self, give_up: Callable[[], bool]) -> list[Finding] | None:
        """Check pages, indexes and counts, until told to give up: None then."""
        with self._connections.reading() as connection:
            return checks.glance(connection, give_up)

    def back_up(
        self, destination: Path, *, overwrite: bool, progress: ProgressCallback | None
    ) -> copies.Backup:
        """Copy the file, as one read transaction sees it; see :func:`copies.back_up`."""
        with self._connections.reading() as connection:
            return copies.back_up(
                connection,
                destination,
                self._connections.key,
                overwrite=overwrite,
                progress=progress,
            )

    def pending(self, asked: Iterable[str]) -> dict[str, int]:
        """Count what has no vector yet, for each asked embedder and each in the file."""
        with self._connections.reading() as connection:
            return checks.pending(connection, asked)

    def n_missing(self, model_id: str) -> int:
        """Count the memories, replaced ones too, that have no vector of a model."""
        with self._connections.reading() as connection:
            return memories.n_to_embed(connection, model_id)

    def clean(self, receipts: Sequence[Receipt]) -> bool:
        """Leave no byte in the file or its log of what these receipts say; whether that is so.

        The log is written back and cut off. Where the file then still holds a run of forgotten
        bytes that nothing stored accounts for, it is written anew.
        """
        if not self.empty_log():
            return False
        if self._are_gone(receipts):
            return True
        self._connections.compact()
        return self.empty_log() and self._are_gone(receipts)

    def empty_log(self) -> bool:
        """Write the log back into the file and cut it to nothing; False where a reader needs it."""
        return self._connections.empty_log()

    def verify(self, receipt: Receipt) -> Verification:
        """Look for what was forgotten in the rows, the indexes, and the bytes of file and log.

        Raises:
            InvalidRequestError: If nothing was ever forgotten in this file, so that it has no key.
        """
        with self._connections.reading() as connection:
            return verification.verify(connection, self.path, receipt)

    def _are_gone(self, receipts: Sequence[Receipt]) -> bool:
        with self._connections.reading() as connection:
            return all(verification.is_gone(connection, self.path, one) for one in receipts)

    def stage_costs(self) -> dict[str, StageCost]:
        """Give what stages were found to cost on this kind of device."""
        with self._connections.reading() as connection:
            return stage_costs.load(connection, stage_costs.device())

    def keep_stage_costs(self, found: Mapping[str, StageCost]) -> bool:
        """Keep what stages cost here, unless somebody else is writing; says whether."""
        with self._connections.reading() as connection:
            return stage_costs.store(connection, stage_costs.device(), found)

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

    def stats(self) -> dict[str, Any]:
        """Count what is stored, for the household's owner."""
        with self._connections.reading() as connection:

            def count(table: str) -> int:
                return int(sql.row(connection, f"SELECT count(*) FROM {table}")[0])

            partitions = Household(connection).every_partition()
            by_space: dict[str, int] = {}
            partitions = [one for one in partitions if one.veil == 0]
            for partition in partitions:
                by_space.setdefault(partition.space_id, 0)
                by_space[partition.space_id] += partition.n_current
            embedded = {
                model.model_id: int(
                    sql.row(
                        connection, "SELECT count(*) FROM embedding WHERE model = ?", (model.no,)
                    )[0]
                )
                for model in tables.models(connection)
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

"""One household's file: transactions that read or write it, and work on all of it."""

from __future__ import annotations

import contextlib
import datetime as dt
import difflib
import threading
import zoneinfo
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from family_recall.errors import InvalidRequestError, StoreError
from family_recall.store import health, stage_costs, word_index
from family_recall.store.erase import byte_search, verification
from family_recall.store.erase.byte_search import Words64
from family_recall.store.file import copies, sql
from family_recall.store.file.connection import BUSY_TIMEOUT_MS
from family_recall.store.file.connections import Connections
from family_recall.store.file.disk_files import log_of
from family_recall.store.file.encryption import Key
from family_recall.store.file.schema import SCHEMA_VERSION, shards_in
from family_recall.store.health import Finding
from family_recall.store.reader import Asker, ReadCaches
from family_recall.store.stage_costs import StageCost
from family_recall.store.transaction import ReadTransaction, Snapshot, WriteTransaction
from family_recall.types import Region
from family_recall.types.aliases import ProgressCallback
from family_recall.types.erasure import Proof, Receipt, Verification
from family_recall.types.understanding import check_country

MAX_BUSY_TIMEOUT_MS = 3_600_000

_MERGED_FROM, _MERGED_SHARE = 100, 0.1  # memories stored at once, and their share of all


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
        busy_timeout_ms: int = BUSY_TIMEOUT_MS,
    ) -> None:
        """Open or create the file; zone (IANA), country and hemisphere are stored in it.

        With a key the file is, or will be, encrypted.

        Raises:
            InvalidRequestError: If one of them has no such name, or no time is waited.
            StoreError: As ``Connections`` says.
        """
        if type(busy_timeout_ms) is not int or not 0 <= busy_timeout_ms <= MAX_BUSY_TIMEOUT_MS:
            raise InvalidRequestError(
                f"busy_timeout_ms must be a whole number from 0 to {MAX_BUSY_TIMEOUT_MS:,}, "
                f"got {busy_timeout_ms!r}"
            )
        place = _place(timezone, country, hemisphere)
        _zone_and_region(place)
        self._connections = Connections(
            path, create=create, key=key, busy_timeout_ms=busy_timeout_ms
        )
        self._caches = ReadCaches()
        self._moving = threading.Lock()
        self.path = path
        with contextlib.ExitStack() as unless_opened:
            unless_opened.callback(self._connections.close)
            with self._connections.reading() as connection:
                stored = dict(sql.rows(connection, "SELECT key, value FROM info"))
            self.zone, self.region = _zone_and_region({**stored, **place})
            changes = {name: value for name, value in place.items() if stored.get(name) != value}
            if changes:
                with self.writing(changes):
                    pass
            unless_opened.pop_all()

    @contextlib.contextmanager
    def reading(self) -> Iterator[ReadTransaction]:
        """Read: one consistent view, held until the block ends."""
        with self._connections.reading() as connection:
            yield ReadTransaction(connection, self.zone, self._caches)

    @contextlib.contextmanager
    def snapshot(self, asker: Asker | None = None) -> Iterator[Snapshot]:
        """Read what recalls need, as :meth:`reading` does.

        For an asker, small tables are read again only after a commit.
        """
        with self._connections.reading() as connection:
            yield Snapshot(connection, self.zone, self._caches, asker)

    @contextlib.contextmanager
    def writing(self, info: Mapping[str, str] | None = None) -> Iterator[WriteTransaction]:
        """Write: everything inside the block is stored, or nothing is.

        ``info`` are facts about the file to set; those that are a place (timezone, country,
        hemisphere) hold inside the block and from then on.
        """
        before = self.zone, self.region
        if info:
            now = _place(str(self.zone), self.region.country, self.region.hemisphere)
            self.zone, self.region = _zone_and_region({**now, **info})
        try:
            with self._connections.writing() as connection:
                writing = WriteTransaction(connection, self.zone, vec0=self._connections.vec0)
                for name, value in (info or {}).items():
                    writing.put_info(name, value)
                yield writing
                writing.finish()
        except BaseException:
            self.zone, self.region = before
            raise

    def move(
        self,
        timezone: str | None = None,
        country: str | None = None,
        hemisphere: str | None = None,
    ) -> None:
        """Live elsewhere from now on: what is set is stored, the rest stays as it is.

        Raises:
            InvalidRequestError: If one of them has no such name; nothing is changed.
        """
        place = _place(timezone, country, hemisphere)
        with self._moving, self.writing(place):  # what is stored last is in use last
            pass

    def check_open(self) -> None:
        """Check that the file can be used; see :meth:`Connections.check_open`."""
        self._connections.check_open()

    def check(self) -> list[Finding]:
        """Check the file, and what is made from the texts against them."""
        with self._connections.reading(fresh=True) as connection:
            findings = health.check_texts(connection)
        if any(finding.problem for finding in findings):
            return findings
        with self._connections.writing_nothing() as connection:
            return findings + health.check_derived(connection)

    def unreadable(self) -> list[str]:
        """Return what could not be read of the settings when the file was opened."""
        return [damaged.what for damaged in self._connections.unreadable]

    def reset_unreadable(self) -> list[str]:
        """Write what stands in for unreadable values in their place; returns what they were.

        A receipt that goes may be of bytes that are still to be cleaned: the file is due a rewrite.
        """
        tables = {damaged.table for damaged in self._connections.unreadable}
        if tables & {"receipt", "trash"}:
            with self.writing() as writing:  # first: it may be interrupted
                writing.erasure_log.set_rewrite_due()
        return self._connections.reset_unreadable()

    def check_quickly(self, give_up: Callable[[], bool]) -> list[Finding] | None:
        """Check pages, indexes and counts; None where ``give_up`` became true meanwhile."""
        with self._connections.reading(fresh=True) as connection:
            return health.check_counts(connection, give_up)

    def back_up(
        self, destination: Path, *, overwrite: bool, progress: ProgressCallback | None
    ) -> copies.Backup:
        """Copy the file, as one read transaction sees it; see :func:`copies.back_up`."""
        key = self._connections.key
        with self._connections.reading() as connection:
            return copies.back_up(
                connection, destination, key, overwrite=overwrite, progress=progress
            )

    def clean(self, runs: Words64, at: str) -> Proof | None:
        """Remove every byte of what was erased from the file and its log.

        The file is rewritten from its rows: SQLite overwrites a deleted row, but not the copies of
        it that rows moved between pages leave in their gaps. The log is cut off.

        Args:
            runs: What to look for, from :mod:`family_recall.store.erase.byte_search`.
            at: When, for the proof.

        Returns:
            What a search then found; None where a reader still needs earlier pages.
        """
        if not self.empty_log():
            return None
        self._connections.compact()
        if not self.empty_log():
            return None
        encrypted = self._connections.key is not None
        with self._connections.writing_nothing() as connection:
            found = byte_search.search(connection, self.path, runs, decrypted=encrypted)
        return Proof(
            at,
            rewritten=True,
            searched=found.sought > 0,
            bytes_read=found.bytes_read,
            leftover_runs=found.leftover,
        )

    def empty_log(self) -> bool:
        """Write the log back into the file and empty it; False where a reader needs it."""
        return self._connections.empty_log()

    def verify(self, receipt: Receipt, texts: Sequence[str]) -> Verification:
        """Check what can be checked of a forgetting later; see :mod:`stores.erase.verification`.

        Raises:
            InvalidRequestError: If there is no such receipt in this file, or a text is too short.
        """
        decrypted = not self.empty_log() or self._connections.key is not None
        with self._connections.writing_nothing() as connection:
            return verification.verify(connection, self.path, receipt, texts, decrypted=decrypted)

    def stage_costs(self) -> dict[str, StageCost]:
        """Return what stages were found to cost on this kind of device."""
        with self._connections.reading() as connection:
            return stage_costs.load(connection, stage_costs.device())

    def keep_stage_costs(self, costs: Mapping[str, StageCost]) -> bool:
        """Write what stages cost here; returns False where somebody else is writing."""
        with self._connections.reading() as connection:
            return stage_costs.store(connection, stage_costs.device(), costs)

    def statistics(self) -> dict[str, Any]:
        """Describe the file, and count memories by space, vectors, people, entities, relations."""
        files = (self.path, log_of(self.path))
        with self._connections.reading() as connection:
            by_space = sql.rows(
                connection,
                "SELECT s.space_id, sum(p.n_current), sum(p.n_past) FROM partition p"
                " JOIN space s ON s.no = p.space WHERE p.redacted_view = 0"
                " GROUP BY s.no ORDER BY min(p.no)",
            )
            vectors = sql.rows(
                connection,
                "SELECT k.model_id, (SELECT count(*) FROM embedding e WHERE e.model = k.no)"
                " FROM embedding_model k ORDER BY k.no",
            )
            people, entities, relations, edges = sql.row(
                connection,
                "SELECT (SELECT count(*) FROM person), (SELECT count(*) FROM entity),"
                " (SELECT count(*) FROM relation), (SELECT count(*) / 2 FROM edge)",
            )
        return {
            "path": str(self.path),
            "bytes": sum(file.stat().st_size for file in files if file.exists()),
            "schema": SCHEMA_VERSION,
            "timezone": str(self.zone),
            "country": self.region.country,
            "hemisphere": self.region.hemisphere,
            "memories": sum(n_current for _, n_current, _ in by_space),
            "superseded": sum(n_past for _, _, n_past in by_space),
            "vectors": dict(vectors),
            "by_space": {space_id: n_current for space_id, n_current, _ in by_space},
            "people": people,
            "entities": entities,
            "relations": relations,
            "edges": edges,
        }

    def merge_words(self, n_stored: int) -> None:
        """Merge each word index into one segment, after so many memories were stored.

        Only where they are many, and a tenth of all: every memory is then merged few times in the
        life of a file. Where it cannot be done now, the indexes stay as they are.
        """
        if n_stored < _MERGED_FROM:
            return
        with contextlib.suppress(StoreError):
            with self._connections.reading() as connection:
                (n,) = sql.row(connection, "SELECT sum(n_current + n_past) FROM partition")
                if n_stored < _MERGED_SHARE * (n or 0):
                    return
                shards = shards_in(connection)
            for shard in shards:
                with self._connections.writing() as connection:
                    word_index.merge(connection, shard)

    def close(self) -> None:
        """Close every connection; closing twice does nothing."""
        self._connections.close()
        self._caches.clear()


def _place(timezone: str | None, country: str | None, hemisphere: str | None) -> dict[str, str]:
    if country is not None:
        check_country(country)
    place = {"timezone": timezone, "country": country, "hemisphere": hemisphere}
    return {name: value for name, value in place.items() if value is not None}


def _zone_and_region(info: Mapping[str, str]) -> tuple[dt.tzinfo, Region]:
    name = info.get("timezone", "UTC")
    try:
        zone = zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        close = difflib.get_close_matches(name, zoneinfo.available_timezones(), n=1)
        meant = f"; did you mean {close[0]}?" if close else ""
        raise InvalidRequestError(
            f"timezone must be an IANA name such as Europe/Berlin, got {name!r}{meant}"
        ) from None
    return zone, Region(**{key: info[key] for key in ("country", "hemisphere") if key in info})

"""A household shipped by Litestream: what its replica gives back, and what forgetting does."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from family_recall import FamilyRecall, Grant, Person, Space
from family_recall.api import files
from tests_fleet.conftest import opened, static

LITESTREAM = Path(sys.executable).with_name("litestream")
FORGOTTEN = "Grandma lands on Friday at six"


class Shipping:
    """Litestream in a process of its own, which ships one household into a folder."""

    def __init__(self, household: Path) -> None:
        """Write its configuration; :meth:`start` starts it."""
        self.household, self.folder = household, household.parent
        self.replica = self.folder / "replica"
        self._socket = self.folder / "litestream.sock"
        self._configuration = self.folder / "litestream.yml"
        self._log = self.folder / "litestream.log"
        self._configuration.write_text(
            f"socket: {{enabled: true, path: {self._socket}}}\n"
            "snapshot: {interval: 1h, retention: 24h}\n"
            "dbs:\n"
            f"  - path: {household}\n"
            f"    replica: {{type: file, path: {self.replica}}}\n"
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [LITESTREAM, "replicate", "-config", self._configuration], stdout=log, stderr=log
            )
        while self._call("info", "-socket", self._socket).returncode:
            assert self._process.poll() is None, self._log.read_text()

    def stop(self) -> None:
        """Stop it in good order."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def ship(self) -> int:
        """Ship everything that was stored so far; return the exit status."""
        return self._call("sync", "-socket", self._socket, "-wait", self.household).returncode

    def restore(self, name: str, at: dt.datetime | None = None) -> Path:
        """Restore the household as it was at a moment, or as it is."""
        path = self.folder / name
        moment = [] if at is None else ["-timestamp", at.isoformat().replace("+00:00", "Z")]
        done = self._call(
            "restore", "-config", self._configuration, "-o", path, *moment, self.household
        )
        assert done.returncode == 0, done.stderr
        return path

    def _call(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([LITESTREAM, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def shipping(tmp_path: Path) -> Iterator[Shipping]:
    """Return a household of one, to be shipped."""
    path = tmp_path / "rao.db"
    with FamilyRecall.open(path, static=static()) as home:
        home.people.add(Person("asha", "Asha"))
        home.spaces.add(Space("home", "shared"))
        home.spaces.grant(Grant("asha", "home"))
    made = Shipping(path)
    yield made
    made.stop()


def texts(path: Path) -> set[str]:
    """Return what a household remembers, in which a complete check finds no fault."""
    with opened(path) as home:
        assert not [finding for finding in home.maintenance.check() if finding.problem]
        return {memory.text for memory in home.opening(person_id="asha", top_k=50).results}


def holds(path: Path) -> bool:
    """Return whether a file holds the forgotten text."""
    return FORGOTTEN.encode() in path.read_bytes()


def test_a_household_is_restored_to_a_point_in_time(shipping: Shipping) -> None:
    """While it is in use; what comes back is whole."""
    shipping.start()
    with opened(shipping.household) as home:
        home.remember("The boat is blue", author="asha", space_id="home")
        assert shipping.ship() == 0
        then = dt.datetime.now(dt.UTC)
        home.remember("The boat was sold", author="asha", space_id="home")
        assert shipping.ship() == 0

        assert texts(shipping.restore("now.db")) == {"The boat is blue", "The boat was sold"}
        assert texts(shipping.restore("then.db", then)) == {"The boat is blue"}


def test_forgetting_waits_for_litestreams_retention(shipping: Shipping) -> None:
    """Stopped and started again, it ships a household that does not hold what was forgotten.

    While Litestream reads, the log may not be emptied, and the proof has to wait; at the latest it
    is there when the household is opened after Litestream has stopped. What was shipped before
    holds the text still.
    """
    shipping.start()
    with opened(shipping.household) as home:
        home.remember(FORGOTTEN, author="asha", space_id="home", doc_id="landing")
        assert shipping.ship() == 0
        home.forget(doc_ids=("landing",), person_id="asha")
    shipping.stop()
    with opened(shipping.household) as home:
        assert home.erasure.receipts()[0].proof is not None
    shipping.start()
    with opened(shipping.household) as home:
        home.remember("The boat is blue", author="asha", space_id="home")
        assert shipping.ship() == 0

    assert texts(shipping.restore("now.db")) == {"The boat is blue"}
    left = [path for path in shipping.folder.rglob("*") if path.is_file() and holds(path)]
    assert left
    assert all(path.suffix == ".ltx" for path in left)


def test_an_encrypted_household_cannot_be_shipped(shipping: Shipping) -> None:
    """Litestream has no key: it ships nothing, and says so."""
    files.rekey(shipping.household, new_key="a passphrase that is long")
    shipping.start()

    assert shipping.ship() != 0
    assert not list(shipping.replica.rglob("*.ltx"))

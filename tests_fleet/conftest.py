"""Ray clusters of this machine, and invented households to work on."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from moto.server import ThreadedMotoServer
from ray.cluster_utils import Cluster

from family_recall import FamilyRecall
from family_recall.apps.fleet import ray_engine
from family_recall.encoders.static import StaticEncoder
from tests.conftest import TinyEncoder
from tools.fleet.invent import invented, write_dataset, write_file

STORE_BYTES = 80_000_000
OLD = TinyEncoder("old/1")
"""The embedder whose vectors the households have at first."""


class TwoNodes:
    """A cluster whose head does nothing, and two nodes of one processor each."""

    def __init__(self) -> None:
        """Start the cluster, and connect to it."""
        ray_engine.imported()
        head = {"num_cpus": 0, "object_store_memory": STORE_BYTES, "include_dashboard": False}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self.nodes = [self.add() for _ in range(2)]
        self._cluster.wait_for_nodes()
        ray_engine.connect(self._cluster.address)

    def add(self) -> Any:
        """Start a node."""
        return self._cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES)

    def kill(self, number: int) -> None:
        """Kill a node with everything that runs on it."""
        self._cluster.remove_node(self.nodes.pop(number), allow_graceful=False)

    def complete(self) -> None:
        """Start nodes in place of those that were killed."""
        self.nodes += [self.add() for _ in range(2 - len(self.nodes))]
        self._cluster.wait_for_nodes()

    def stop(self) -> None:
        """Disconnect, and stop the cluster."""
        ray.shutdown()
        self._cluster.shutdown()


@pytest.fixture(scope="session")
def s3() -> Iterator[None]:
    """Serve S3 on this machine by moto, for this process and what it starts."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    _, port = server.get_host_and_port()
    variables = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "invented",
        "AWS_SECRET_ACCESS_KEY": "invented",
        "AWS_DEFAULT_REGION": "us-east-1",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    with pytest.MonkeyPatch.context() as patched:
        for name, value in variables.items():
            patched.setenv(name, value)
        yield
    server.stop()


@pytest.fixture(scope="module")
def cluster(s3: None) -> Iterator[TwoNodes]:
    """Return a cluster of two nodes, which can reach the S3 of this machine."""
    del s3
    made = TwoNodes()
    yield made
    made.stop()


@pytest.fixture
def two_nodes(cluster: TwoNodes) -> TwoNodes:
    """Return the cluster with both its nodes."""
    cluster.complete()
    return cluster


@functools.cache
def static() -> StaticEncoder:
    """Return the shipped static embedder."""
    return StaticEncoder.load(None)


@pytest.fixture(scope="session")
def made_homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return 60 households of up to twelve memories, with vectors of the old model."""
    folder = tmp_path_factory.mktemp("homes")
    for home, rng in invented(60, seed=1):
        write_file(home, rng, folder / f"{home.name}.db", most=12, encoder=OLD)
    return folder


@pytest.fixture(scope="session")
def made_few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return ten households of up to twelve memories."""
    folder = tmp_path_factory.mktemp("few")
    for home, rng in invented(10, seed=3):
        write_file(home, rng, folder / f"{home.name}.db", most=12, encoder=OLD)
    return folder


@pytest.fixture
def few(made_few: Path, tmp_path: Path) -> Path:
    """Return a copy of the ten households."""
    return Path(shutil.copytree(made_few, tmp_path / "few"))


@pytest.fixture
def homes(made_homes: Path, tmp_path: Path) -> Path:
    """Return a copy of the 60 households."""
    return Path(shutil.copytree(made_homes, tmp_path / "homes"))


@pytest.fixture(scope="session")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return eight households of up to 32 memories, as datasets with questions."""
    folder = tmp_path_factory.mktemp("sets")
    for home, rng in invented(8, seed=2):
        write_dataset(home, rng, folder / home.name, most=32)
    return folder


def opened(path: Path) -> FamilyRecall:
    """Open a household without loading a transformer."""
    return FamilyRecall.open(path, create=False, static=static())

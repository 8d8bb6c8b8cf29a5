"""Who takes part in the comparison."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One line of the comparison: its adapter, and whether it searches words and vectors."""

    name: str
    title: str
    hybrid: bool
    environment: str | None = None

    @property
    def module(self) -> str:
        """The adapter to run."""
        return f"tools.bench.peers.peer_{self.store}"

    @property
    def store(self) -> str:
        """Name of the files that are filled and asked: both of ours share theirs."""
        return self.name.removesuffix("_alone")


PEERS = (
    Entry("family_recall", "family_recall, everything", hybrid=True),
    Entry("family_recall_alone", "family_recall, words and vectors alone", hybrid=True),
    Entry("sqlite_vec", "sqlite-vec + FTS5 + RRF by hand", True, "sqlite_vec"),
    Entry("lancedb", "LanceDB hybrid", True, "lancedb"),
    Entry("txtai", "txtai hybrid", True, "txtai"),
    Entry("qdrant", "Qdrant, local mode", True, "qdrant"),
    Entry("chroma", "Chroma, vectors only", False, "chroma"),
)

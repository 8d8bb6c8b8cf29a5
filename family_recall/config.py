"""Every constant with its unit and where it comes from, in one frozen record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from family_recall.errors import InvalidRequestError

HALF_LIFE_DAYS: Mapping[str, float | None] = MappingProxyType(
    {
        "identity": None,
        "family": None,
        "health": None,
        "milestone": None,
        "task": 60.0,
        "event": 60.0,
        "casual": 90.0,
    }
)
"""Days until a category's recency is halved; None never fades (three-tier memory design)."""

STAGES = (
    "lexical", "vector", "graph", "late_interaction", "rerank", "diversify", "time", "routing",
)  # fmt: skip
"""What a recall can do without: five ways of finding and scoring, and two of understanding."""


@dataclass(frozen=True, slots=True)
class RecallConfig:
    """How recall works; the defaults are what was measured best, or stated by a design."""

    # Words. Weights of the FTS5 columns body, header (speaker and day) and context (the turn
    # before): on five permissive sets 0.3 for context gains where talk is turn by turn.
    column_weights: tuple[float, float, float] = (1.0, 1.0, 0.3)
    max_question_words: int = 48  # rarest kept; bounds a question of any length
    common_share: float = 0.01  # of the visible memories: a word in more of them is common …
    common_memories: int = 300  # … and in more memories than this
    lexical_pool: int = 48  # memories a shelf

    # Vectors.
    vector_pool: int = 48  # memories
    embed_batch: int = 64  # memories between two transactions

    # Fusion: Cormack, Clarke & Büttcher, SIGIR 2009, doi:10.1145/1571941.1572114.
    rrf_k: int = 60

    # Graph: hub-dampened Personalized PageRank over a capped neighbourhood.
    ppr_damping: float = 0.5  # HippoRAG, arXiv 2405.14831
    graph_seeds: int = 20
    graph_cap: int = 16  # edges followed out of each node
    graph_hops: int = 3  # past the first only along relations between names
    graph_nodes: int = 400  # vertices at most
    graph_load_ms: float = 150.0  # time left without which a graph does not wait for igraph
    graph_pool: int = 30  # memories it may hand over that no other source found
    next_weight: float = 1.0  # neighbours in a talk
    mention_weight: float = 0.5
    author_weight: float = 0.2

    # Candidates that features are computed for, best fused first.
    candidate_pool: int = 64

    # Candidates that diversification compares with each other.
    mmr_pool: int = 50

    # Cross-encoder.
    rerank_pool: int = 20

    # Milliseconds a stage is assumed to take until this device has shown otherwise: a fixed
    # part and a part per unit (memory, or pair for rerank).
    assumed_cost_ms: Mapping[str, tuple[float, float]] = field(
        default_factory=lambda: MappingProxyType(
            {
                "lexical": (0.6, 0.0),
                "embed": (3.0, 0.0),
                "embed_static": (0.1, 0.0),
                "vector": (0.8, 0.0),
                "graph": (1.5, 0.0),
                "late_interaction": (0.3, 0.005),
                "rerank": (0.5, 3.0),
                "diversify": (0.3, 0.001),
            }
        )
    )
    load_wait_ms: float = 5_000.0  # how long a recall may wait for models, if its budget allows
    # Time left without which a recall does not wait for the transformer where the static embedder
    # can answer: it takes 0.3 s to load, more where the disk is slow.
    embedder_load_ms: float = 1_000.0

    # To measure what each part is worth: `family-recall eval --ablate`.
    leave_out: frozenset[str] = frozenset()  # of STAGES
    weights: Mapping[str, float] = field(  # by feature, in place of the profile's own
        default_factory=lambda: MappingProxyType({})
    )

    def __post_init__(self) -> None:
        """Refuse to leave out what is no stage."""
        if unknown := sorted(self.leave_out - set(STAGES)):
            raise InvalidRequestError(
                f"leave_out must be among {', '.join(STAGES)}, got {unknown[0]!r}"
            )

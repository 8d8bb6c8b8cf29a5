"""All constants with unit and source, in one frozen record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from family_recall.errors import InvalidRequestError
from family_recall.types import stages

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
"""Days until a category's recency halves; None never fades (three-tier memory design)."""


@dataclass(frozen=True, slots=True)
class RecallConfig:
    """How recall works; the defaults are what was measured best, or stated by a design."""

    # Words. Weights of the FTS5 columns body, header (speaker and day) and context (the turn
    # before): on five permissive sets 0.3 for context gains where sessions go turn by turn.
    column_weights: tuple[float, float, float] = (1.0, 1.0, 0.3)
    max_question_words: int = 48  # the rarest ones; bounds a question of any length
    common_share: float = 0.01  # of the visible memories: a word in more of them is common …
    common_memories: int = 300  # … and in more memories than this
    # Occurrences of the question's words in memories that are read, rarest words first: 0.3 µs
    # each. No everyday question of a million memories has as many; a pasted page has.
    lexical_matches: int = 200_000
    lexical_pool: int = 48  # memories of each shard
    # From this many milliseconds on, words are searched while another thread encodes the question:
    # handing over takes 0.3 ms, more where threads compete for the interpreter's lock.
    hand_over_ms: float = 2.0

    # Vectors.
    vector_pool: int = 48  # memories
    embed_batch: int = 64  # memories between two transactions
    # Memories embedded at once, each on one thread; every processor, when left out. They pause
    # while a recall runs.
    embed_threads: int | None = None

    # Fusion: Cormack, Clarke & Büttcher, SIGIR 2009, doi:10.1145/1571941.1572114.
    rrf_k: int = 60

    # Graph: hub-dampened Personalized PageRank over a capped neighbourhood.
    ppr_damping: float = 0.5  # HippoRAG, arXiv 2405.14831
    graph_seeds: int = 20  # memories, and as many of the things that they mention
    # In [0, 1]. No walk starts from less: of 10 questions about nothing at home, 7 then start
    # nowhere, of 138 that have an answer, 4.
    graph_least_relevance: float = 0.3
    graph_cap: int = 16  # edges followed out of each node
    graph_hops: int = 3  # past the first only along relations between entities
    graph_nodes: int = 400  # vertices at most
    graph_pool: int = 30  # memories it may add that no other source found
    next_weight: float = 1.0  # neighbours in a session
    mention_weight: float = 0.5
    author_weight: float = 0.2

    # Candidates that features are computed for, best fused first.
    candidate_pool: int = 64

    # Of the time that a question names beside a topic: memories that join the pool.
    period_pool: int = 32

    # How many times larger the pools are where duplicates of a few leave no room for others:
    # 50 copies of a note fill every pool, one 16 times as large has room for 700.
    wider_pool: int = 16

    # Candidates that diversification compares with each other.
    mmr_pool: int = 50

    # Best candidates to whose questions replies are looked for; and of those, the ones that may
    # leave open, in a statement, what the next turn tells.
    reply_pool: int = 16
    openers: int = 3

    # Best candidates among which the newest of rival statements is put first.
    supersede_pool: int = 20

    # Cross-encoder.
    rerank_pool: int = 6

    # Milliseconds a stage is assumed to take until this device has shown otherwise: a fixed part
    # and a part per unit, by stage. The table is `types/stages.py`.
    assumed_cost_ms: Mapping[str, tuple[float, float]] = field(
        default_factory=stages.assumed_cost_ms
    )
    assumed_pair_tokens: int = 60  # of a question and a memory, to plan how many pairs are read
    # Results that are returned however short the budget; of texts that have some 200,000 characters
    # together, those alone that there is time for, and at least one.
    usual_top_k: int = 12
    fewest_candidates: int = 24  # that features are computed for however short the budget
    longest_budget_ms: float = 600_000.0
    warm_up_ms: float = 1_000.0  # of `warmup`, to learn what stages cost …
    warm_up_recalls: int = 10  # … and whole recalls in that time, at most
    words_grace_ms: float = 25.0  # that words may take however short the budget
    load_wait_ms: float = 5_000.0  # how long a recall may wait for models, if its budget allows
    # Time left without which a recall does not wait for the transformer where the static embedder
    # can answer: it takes 0.3 s to load, more where the disk is slow.
    embedder_load_ms: float = 1_000.0

    # To measure what each part is worth: `family-recall eval --ablate`.
    leave_out: frozenset[str] = frozenset()  # of the optional stages
    weights: Mapping[str, float] = field(  # by feature, in place of the profile's own
        default_factory=lambda: MappingProxyType({})
    )

    def __post_init__(self) -> None:
        """Refuse to leave out anything but an optional stage."""
        optional = stages.optional_stages()
        if unknown := sorted(self.leave_out - set(optional)):
            raise InvalidRequestError(
                f"leave_out must be among {', '.join(optional)}, got {unknown[0]!r}"
            )

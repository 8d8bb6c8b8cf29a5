"""The stages of a recall, each declared once.

Prices, the runner, the gate, traces, reports, ``leave_out`` and ``--ablate`` all read this table.
A new stage is one line here and one function; the broker decides where it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Unit = Literal["", "token", "match", "vector", "candidate", "result", "stage"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a recall.

    Attributes:
        name: Its name in traces, prices and ``leave_out``.
        label: What it does, for people.
        cost_ms: Assumed milliseconds until measured on this device: a fixed part and a part per
            unit. None if it has no price of its own.
        unit: What the second part counts: tokens of a text, memories that hold a word, and so on.
        followed_by: Stages that must still run after it, so an alarm stops it in time for them.
        leaves_time_for: It starts only if time is left for these stages too.
        reads_file: Whether it runs SQL statements, which its alarm interrupts.
        optional: Whether ``leave_out`` may name it.
        part_of: The stage whose price covers this one; their time is measured together.
    """

    name: str
    label: str
    cost_ms: tuple[float, float] | None = None
    unit: Unit = ""
    followed_by: tuple[str, ...] = ("answer",)
    leaves_time_for: tuple[str, ...] = ()
    reads_file: bool = True
    optional: bool = False
    part_of: str = ""


_RANKING = ("score", "answer")  # what must follow everything that finds memories

_TABLE = (
    Stage("plan", "the question, understood", (0.6, 0.0), followed_by=_RANKING,
          leaves_time_for=("lexical", "embed_static", "vector")),
    Stage("time", "which stretch of time", optional=True),
    Stage("routing", "what kind of question", optional=True),
    Stage("relations", "who is what to whom", optional=True),
    Stage("identifiers", "what it quotes exactly", optional=True),
    Stage("lexical", "search by words", (0.5, 0.0002), "match", followed_by=_RANKING,
          optional=True),
    # Encoding a question is wasted if no time is left to search.
    Stage("embed", "the question as a vector", (1.5, 0.15), "token", followed_by=_RANKING,
          leaves_time_for=("vector",), reads_file=False),
    Stage("embed_static", "the same by a table", (0.1, 0.0), followed_by=_RANKING,
          leaves_time_for=("vector",), reads_file=False),
    Stage("weigh", "how rare its words are", reads_file=False),
    Stage("vector", "search by meaning", (0.4, 0.000_004), "vector", followed_by=_RANKING,
          optional=True),
    Stage("graph", "search by links", (1.5, 0.0), followed_by=_RANKING,
          leaves_time_for=("late_interaction",), optional=True),
    Stage("replies", "replies to what was asked", (0.2, 0.01), "candidate",
          followed_by=_RANKING, optional=True),
    Stage("timeline", "what that time held"),
    Stage("focus", "near what is talked about", (0.5, 0.0), followed_by=_RANKING, optional=True),
    Stage("period", "what that time held of it", (0.3, 0.01), "candidate", followed_by=_RANKING,
          optional=True),
    Stage("about", "what is known of somebody"),
    Stage("widen", "search again for more", (2.0, 0.02), "candidate"),
    Stage("gather", "what belongs with the best", (2.0, 0.02), "candidate", optional=True),
    # The price of all stages from fusion to rank, without late interaction.
    Stage("score", "how many are scored", (0.3, 0.008), "candidate"),
    Stage("fusion", "the runs, as one pool", part_of="score"),
    Stage("load", "the candidates' columns", part_of="score"),
    Stage("cosines", "how near each is in meaning", part_of="score"),
    Stage("late_interaction", "word by word, by meaning", (0.3, 0.005), "candidate",
          optional=True),
    Stage("features", "what speaks for each", part_of="score"),
    Stage("rank", "weights × features", part_of="score"),
    Stage("deduplicate", "near copies as one", (0.1, 0.002), "candidate", optional=True),
    Stage("rerank", "read beside the question", (0.5, 0.05), "token",
          leaves_time_for=("diversify",), optional=True),
    Stage("supersede", "the newest of rival statements", (0.2, 0.02), "candidate", optional=True),
    Stage("later", "read: what was said later", (0.5, 0.05), "token",
          leaves_time_for=("diversify",), optional=True),
    Stage("owners", "whose fact each tells", (0.2, 0.05), "candidate", optional=True),
    Stage("diversify", "no two alike", (0.3, 0.001), "candidate", optional=True),
    Stage("answer", "results and reasons", (0.3, 0.03), "result", followed_by=(),
          part_of="answer"),
    Stage("between", "waiting, and what no stage times", (0.05, 0.04), "stage"),
)  # fmt: skip

STAGES: Mapping[str, Stage] = MappingProxyType({stage.name: stage for stage in _TABLE})
"""Every stage by name, in the order of the read path."""


def optional_stages() -> tuple[str, ...]:
    """Return the names of optional stages."""
    return tuple(stage.name for stage in STAGES.values() if stage.optional)


def assumed_cost_ms() -> Mapping[str, tuple[float, float]]:
    """Return the assumed cost of each stage that has a price."""
    return MappingProxyType(
        {stage.name: stage.cost_ms for stage in STAGES.values() if stage.cost_ms is not None}
    )


def label_of(stage: str) -> str:
    """Return what a stage does, for people; empty for anything else."""
    return STAGES[stage].label if stage in STAGES else ""

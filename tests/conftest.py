"""Shared fixtures: a small household, clocks that the test moves, tiny models."""

from __future__ import annotations

import datetime as dt
import functools
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from family_recall import Answer, FamilyRecall, Filters, Grant, Memory, Person, RecallContext, Space
from family_recall.api.engine import Engine
from family_recall.config import RecallConfig
from family_recall.deadline import Clock
from family_recall.encoders.base import Encoder, Encoding, Floats, Ints, PairScorer
from family_recall.encoders.loader import Models
from family_recall.errors import ModelError
from family_recall.remember import upgrade
from family_recall.store.store import Store

NOW = dt.datetime(2025, 6, 15, 12, 0, tzinfo=dt.UTC)
"""When every question of these tests is asked, unless given otherwise."""

PLENTY_MS = 60_000.0
HOME = "shared:home"
NO_MODELS = Path("a folder that is not there")

_WORD = re.compile(r"[^\W_]+")


@pytest.fixture(scope="session", autouse=True)
def _nobodys_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Ignore the command line's configuration of the person who runs the tests, and their GPU."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CUDA_VISIBLE_DEVICES", "")
        patched.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("configured")))
        for name in ("DB", "KEY_FILE", "PERSON", "SPACE", "BUDGET_MS", "PROFILE", "CONFIG"):
            patched.delenv(f"FAMILY_RECALL_{name}", raising=False)
        yield


class TinyEncoder:
    """Encodes a text as the sum of its words, a word as the sum of its hashed trigrams.

    Words that look alike lie close, others nearly at right angles; nothing is random.
    """

    def __init__(self, model_id: str = "tiny/1", dim: int = 32, token_dim: int = 16) -> None:
        """Choose the name stored with the vectors, and their lengths (multiples of 8)."""
        self.model_id = model_id
        self.dim = dim
        self.token_dim = token_dim

    def encode_question(self, text: str) -> Encoding:
        """Encode a question like a memory."""
        words = _words(text)
        pooled = np.zeros(self.dim, np.float32)
        for word in words:
            pooled += _word_vector(word, self.dim)
        if not words:
            pooled[0] = 1.0
        tokens = [_unit(_word_vector(word, self.token_dim)) for word in words]
        return Encoding(
            pooled=_unit(pooled),
            tokens=np.array(tokens, np.float32).reshape(-1, self.token_dim),
            token_ids=self.token_ids(text),
        )

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode each text by itself."""
        return [self.encode_question(text) for text in texts]

    def token_ids(self, text: str) -> Ints:
        """Number words by their length and, in the last four digits, their crc32."""
        numbers = [len(word) * 10_000 + zlib.crc32(word.encode()) % 10_000 for word in _words(text)]
        return np.array(numbers, np.int64)

    def token_weights(self, token_ids: Ints) -> Floats:
        """Weigh a word by its length squared: short words are the common ones."""
        return ((token_ids // 10_000) ** 2 / 10.0).astype(np.float32)


class BrokenEncoder(TinyEncoder):
    """Fails at every call, or only at the named ones."""

    def __init__(self, *calls: str) -> None:
        """Name the calls that fail; all of them, when none is named."""
        super().__init__()
        self.calls = calls or ("encode_question", "encode_memories", "token_ids", "token_weights")

    def encode_question(self, text: str) -> Encoding:
        """Fail, or encode."""
        self._fail("encode_question")
        return super().encode_question(text)

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Fail, or encode."""
        self._fail("encode_memories")
        return [TinyEncoder.encode_question(self, text) for text in texts]

    def token_ids(self, text: str) -> Ints:
        """Fail, or number."""
        self._fail("token_ids")
        return super().token_ids(text)

    def token_weights(self, token_ids: Ints) -> Floats:
        """Fail, or weigh."""
        self._fail("token_weights")
        return super().token_weights(token_ids)

    def _fail(self, call: str) -> None:
        if call in self.calls:
            raise ModelError(f"{call} fails on purpose")


class TinyStatic(TinyEncoder):
    """A static embedder of the tiny encoder's dimension, in another space: it reads backwards."""

    def __init__(self, model_id: str = "tiny-static/1", dim: int = 32) -> None:
        """Choose the name stored with the vectors, and their length."""
        super().__init__(model_id, dim)
        self.token_dim = 0

    def encode_question(self, text: str) -> Encoding:
        """Encode a text from its end; no token vectors."""
        pooled = TinyEncoder(dim=self.dim).encode_question(text[:20_000][::-1]).pooled
        return Encoding(pooled, np.zeros((0, 0), np.float32), np.zeros(0, np.int64))

    def token_ids(self, text: str) -> Ints:  # noqa: ARG002  the protocol's
        """Return no ids."""
        return np.zeros(0, np.int64)


class TinyScorer:
    """Reads a pair and counts the words the two share."""

    model_id = "tiny-pairs/1"

    def score(self, question: str, memory: str) -> float:
        """Shared words less two, so that none shared is unlikely."""
        return len({*_words(question)} & {*_words(memory)}) - 2.0

    def count_tokens(self, question: str, memory: str) -> int:
        """Count the words of both."""
        return len(_words(question)) + len(_words(memory))


class Wall:
    """A wall clock that the test moves."""

    def __init__(self, now: dt.datetime = NOW) -> None:
        """Start at a moment."""
        self.now_s = now.timestamp()

    def __call__(self) -> float:
        """Seconds since 1970 UTC."""
        return self.now_s

    def tick(self, **delta: float) -> dt.datetime:
        """Move by days, hours, minutes or seconds; returns the new moment."""
        self.now_s += dt.timedelta(**delta).total_seconds()
        return dt.datetime.fromtimestamp(self.now_s, dt.UTC)


class Ticking:
    """A monotonic clock that advances with every reading."""

    def __init__(self, step_ms: float) -> None:
        """Set how far."""
        self.step_s = step_ms / 1000.0
        self.at_s = 0.0

    def __call__(self) -> float:
        """Seconds since the first reading."""
        self.at_s += self.step_s
        return self.at_s


def still() -> float:
    """Return the time of a monotonic clock that stands still: no stage is ever too slow."""
    return 0.0


TINY = TinyEncoder()
TINY_STATIC = TinyStatic()


def open_home(
    path: Path,
    *,
    encoder: Encoder | None = TINY,
    scorer: PairScorer | None = None,
    static: Encoder | None = None,
    clock: Clock = still,
    wall: Callable[[], float] | None = None,
    config: RecallConfig | None = None,
    create: bool = True,
) -> FamilyRecall:
    """Open a file with the tests' clocks and models; no encoder means a missing folder."""
    store = Store(path, create=create)
    upgrade(store)
    models = Models(NO_MODELS, encoder=encoder, scorer=scorer, static=static)
    return FamilyRecall(
        Engine(store, models, config=config, clock=clock, wall_clock=wall or Wall())
    )


def move_in(home: FamilyRecall) -> None:
    """Add Rajesh and Priya, each with a private space, and Mia, who is a child."""
    for person_id, name, aliases in (
        ("rajesh", "Rajesh Rao", ("Raj",)),
        ("priya", "Priya Rao", ("Pri",)),
        ("mia", "Mia", ()),
    ):
        home.people.add(Person(person_id, name, aliases))
    home.spaces.add(Space(HOME, "shared"))
    for owner in ("rajesh", "priya"):
        home.spaces.add(Space(f"private:{owner}", "private"))
        home.spaces.grant(Grant(owner, f"private:{owner}", "owner"))
        home.spaces.grant(Grant(owner, HOME, "adult"))
    home.spaces.grant(Grant("mia", HOME, "child"))


def engine_of(home: FamilyRecall) -> Engine:
    """Return the services behind an open household, for tests of one of them."""
    return home._engine


def store_of(home: FamilyRecall) -> Store:
    """Return the file behind an open household, for tests that check what it holds."""
    return engine_of(home).store


def remember(home: FamilyRecall, text: str, space_id: str = HOME, **fields: Any) -> str:
    """Store one memory; return its doc_id."""
    return home.remember(Memory(text=text, space_id=space_id, **fields)).doc_id


def recall(home: FamilyRecall, question: str, person_id: str | None = None, **ctx: Any) -> Answer:
    """Recall with enough time, at the tests' own moment."""
    if isinstance(ctx.get("filters"), dict):
        ctx["filters"] = Filters(**ctx["filters"])
    known: dict[str, Any] = {"time_budget_ms": PLENTY_MS, "now": NOW, **ctx}
    return home.recall(question, RecallContext(person_id=person_id, **known))


def found(answer: Answer) -> list[str]:
    """Return the doc_ids of an answer, best first."""
    return [result.doc_id for result in answer.results]


def written(answer: Answer) -> str:
    """Write an answer out to the last bit, less its milliseconds.

    Words are searched while the question is encoded: which ends first is a matter of time too.
    """
    record = answer.to_json()
    del record["used_time_ms"]
    spans = record["trace"]["spans"]
    record["trace"]["spans"] = sorted([stage, n_in, n_out] for stage, _, n_in, n_out, _ in spans)
    return json.dumps(record, sort_keys=True)


@functools.cache
def _word_vector(word: str, dim: int) -> Floats:
    trigrams = [f"^{word}$"[at : at + 3] for at in range(len(word))]
    return _unit(np.sum([_hashed(trigram, dim) for trigram in trigrams], axis=0))


@functools.cache
def _hashed(trigram: str, dim: int) -> Floats:
    seeded = np.random.default_rng(zlib.crc32(trigram.encode("utf-8", "replace")))
    return seeded.standard_normal(dim).astype(np.float32)


def _unit(vector: Floats) -> Floats:
    unit: Floats = (vector / np.maximum(np.linalg.norm(vector), 1e-9)).astype(np.float32)
    return unit


def _words(text: str) -> list[str]:
    return _WORD.findall(text[:20_000].casefold())


STORIES: tuple[dict[str, Any], ...] = (
    {"doc_id": "march", "text": "I told Priya we can do March for vacation", "author": "Rajesh",
     "session_id": "talk-1", "occurred_at": "2025-02-01T18:00"},
    {"doc_id": "dates", "text": "Let me check the dates with my parents", "author": "Priya",
     "session_id": "talk-1", "occurred_at": "2025-02-01T18:01"},
    {"doc_id": "goa", "text": "We should plan that Goa trip, Priya", "author": "Rajesh",
     "session_id": "talk-1", "occurred_at": "2025-02-01T18:02"},
    {"doc_id": "key", "text": "The spare key is under the blue pot", "kind": "fact",
     "category": "family", "importance": 0.9},
    {"doc_id": "grandma", "text": "Grandma lands on Friday at six in the evening",
     "author": "Priya", "category": "event", "occurred_at": "2025-06-10T09:00"},
    {"doc_id": "puppy", "text": "The vet says the puppy weighs eleven kilos", "author": "Mia",
     "category": "health", "labels": ("pets",), "valence": 0.6, "arousal": 0.5},
    {"doc_id": "cake", "text": "Mia wants a chocolate cake for her birthday", "author": "Priya",
     "labels": ("birthday", "food"), "occurred_at": "2025-06-01T20:00"},
)  # fmt: skip
"""What the household of these tests remembers, all of it in the shared space."""


def stories() -> Iterable[Memory]:
    """Return the stories as memories."""
    return [Memory(space_id=HOME, **story) for story in STORIES]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name a file that is not there yet."""
    return tmp_path / "family.db"


@pytest.fixture
def wall() -> Wall:
    """Return a wall clock that the test moves."""
    return Wall()


@pytest.fixture
def home(path: Path, wall: Wall) -> Iterator[FamilyRecall]:
    """Open a household with people, spaces and stories, with the tiny encoder."""
    with open_home(path, wall=wall) as home:
        move_in(home)
        home.remember_many(stories())
        yield home

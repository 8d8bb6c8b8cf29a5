"""Small households for the tests of the fleet, and steps that use the tiny models."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from family_recall.apps.fleet import FleetRun, Options, in_process, read_catalogue, run, steps
from family_recall.encoders.loader import Models
from tests.conftest import TINY, TINY_STATIC, TinyEncoder, move_in, open_home, stories

MOMENT = "2026-03-01T18:30:00+00:00"
NEW = TinyEncoder("tiny/2")
"""The model that households are given."""


def make_homes(folder: Path, n: int = 3, *, encoder: TinyEncoder = TINY) -> Path:
    """Fill n households, a.db, b.db, …, with the stories; return their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in "abcdefgh"[:n]:
        with open_home(folder / f"{name}.db", encoder=encoder, static=TINY_STATIC) as home:
            move_in(home)
            home.remember_many(stories())
    return folder


def use_tiny_models(patched: pytest.MonkeyPatch) -> None:
    """Make the steps use the tiny models, of which the embedder is new."""
    models = Models(encoder=NEW, static=TINY_STATIC)
    patched.setattr(steps, "loaded_models", lambda _: models)


def do(step: str, catalogue: str | Path, ledger: Path, **about: Any) -> FleetRun:
    """Run a step over a catalogue in this process."""
    known = {name: about.pop(name) for name in ("now", "memory_mib", "progress") if name in about}
    return run(
        str(catalogue),
        read_catalogue(str(catalogue), datasets=step == "eval"),
        step,
        Options(**about),
        ledger=ledger,
        engine=in_process,
        **{"now": MOMENT, **known},
    )


def vectors(path: Path) -> dict[str, int]:
    """Count a household's vectors by model."""
    with open_home(path, encoder=NEW, static=TINY_STATIC) as home:
        counted: dict[str, int] = home.maintenance.stats()["vectors"]
        return counted


def forget_grandma(path: Path, undo_for_days: float | None = None) -> None:
    """Forget one of the stories, for good or so that it can be undone."""
    undo_for = None if undo_for_days is None else dt.timedelta(days=undo_for_days)
    with open_home(path, encoder=TINY, static=TINY_STATIC) as home:
        home.forget(person_id="priya", doc_ids=("grandma",), undo_for=undo_for)

"""The demo: a family's questions and their answers."""

from __future__ import annotations

import contextlib
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from family_recall.api import FamilyRecall
from family_recall.apps.cli.recall import explained_lines
from family_recall.apps.demo.nairs import (
    AMPLE_MS,
    KINSHIP,
    MEMORIES,
    NOW,
    PEOPLE,
    ROLES,
    SCENES,
    STATED,
    TIMEZONE,
    Scene,
    move_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from family_recall.types import Answer

__all__ = ["MEMORIES", "NOW", "SCENES", "Scene", "ask", "ask_own", "furnished", "run"]

WIDTH = 96
NAMES = {person.person_id: person.name for person in PEOPLE}


def run(out: TextIO, *, explain: bool = False) -> None:
    """Ask every question of the demo household, and write the answers.

    ``explain`` adds score terms and stage times. Only times and the answer within 2 ms vary.
    """
    with furnished() as path:
        lines = list(introduction())
        for scene, answer in ask(path):
            lines += screen(scene, answer, explain)
        out.write("\n".join(lines) + "\n")


def ask(path: Path) -> Iterator[tuple[Scene, Answer]]:
    """Yield every question with its answer, in order."""
    no_models = path.parent / "no models here"
    with FamilyRecall.open(path) as home, FamilyRecall.open(path, models=no_models) as bare:
        home.warmup()
        for scene in SCENES:
            household = home if scene.with_models else bare
            yield scene, household.recall(scene.question, scene.ctx())


def ask_own(question: str, person_id: str | None, out: TextIO) -> None:
    """Ask the demo household another question, and write the answer.

    Raises:
        UnknownPersonError: If there is no such person.
    """
    with furnished() as path, FamilyRecall.open(path) as home:
        home.warmup()
        answer = home.recall(question, person_id=person_id, now=NOW, time_budget_ms=AMPLE_MS)
        out.write(f"{answer}\n")


@contextlib.contextmanager
def furnished() -> Iterator[Path]:
    """Store the demo household in a temporary file; yield its path."""
    with tempfile.TemporaryDirectory(prefix="family_recall_demo_") as scratch:
        path = Path(scratch) / "family.db"
        with FamilyRecall.open(path, timezone=TIMEZONE) as home:
            move_in(home)
        yield path


def introduction() -> Iterator[str]:
    """Yield the lines that introduce the household."""
    yield f"The Nairs: {', '.join(NAMES[p] for p in ROLES)}, and a dog called Biscuit."
    yield (
        f"{len(MEMORIES)} memories over two years, {len(KINSHIP) + len(STATED)} relations, "
        f"in one file; it is {NOW:%d %B %Y, %H:%M}."
    )


def screen(scene: Scene, answer: Answer, explain: bool = False) -> Iterator[str]:
    """Yield a question, its answer, its time, and what to look for, as lines."""
    asker = f"{NAMES[scene.person_id]}, in {scene.space_id or 'every space open to them'}"
    as_of = f", as of {scene.as_of:%d %B %Y}" if scene.as_of else ""
    profile = "" if scene.profile == "default" else f", profile {scene.profile}"
    yield from ("", f"── {SCENES.index(scene) + 1}. {scene.title} ".ljust(WIDTH, "─"))
    yield f"{asker}{as_of}{profile}: “{scene.question}”"
    for line in str(answer).splitlines():
        yield from _wrapped(line.replace(str(Path(tempfile.gettempdir())), "…"), "  ", "    ")
    yield f"  {_time(scene, answer)}"
    if explain:
        for line, _ in explained_lines(answer, str):
            yield from _wrapped(line, "  ", "     ")
    yield f"  ↳ {scene.look_for}"


def _time(scene: Scene, answer: Answer) -> str:
    """Compare the time of an answer with its budget."""
    used, budget = f"{answer.used_time_ms:.1f} ms", f"{scene.time_budget_ms:,.0f} ms"
    if answer.used_time_ms <= scene.time_budget_ms:
        return f"It took {used}; {budget} were allowed."
    return f"It took {used} and not {budget}: words are searched in any case."


def _wrapped(text: str, first: str, later: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=later)

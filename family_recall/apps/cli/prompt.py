"""Ask questions interactively: ``prompt``."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

import family_recall as fr
from family_recall.apps.cli.command import command, open_household
from family_recall.apps.cli.output import Styled, console, one_line, print_line, print_lines
from family_recall.apps.cli.recall import answer_lines, result_lines
from family_recall.apps.cli.settings import (
    TERMINAL_BUDGET_MS,
    budget_option,
    db_option,
    person_option,
    space_option,
)
from family_recall.errors import FamilyRecallError
from family_recall.types import DEFAULT_SPACE
from family_recall.types.short_ids import ACCEPTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from family_recall.api import Change
    from family_recall.types import Answer, Result

HELP: Final = (
    ("a question", "find what answers it"),
    ("/why N", "how memory N of the last answer was ranked; N may be the beginning of an id"),
    ("/not N", "memory N is not what was asked for: it comes last for you from now on"),
    ("/yes N", "memory N is what was asked for"),
    ("/add TEXT", "store a memory, said by you"),
    ("/correct N TEXT", "give memory N another text"),
    ("/forget N", "forget memory N"),
    ("/undo", "undo the last of these changes; one that was forgotten, within a day"),
    ("/help", "list these"),
    ("/quit", "leave; so does Ctrl-D"),
)
_NOT_ASKED: Final = ("ask a question first", "red")
COMMANDS: Final = tuple(name.split()[0] for name, _ in HELP if name.startswith("/"))


@command(prints_json=False)
@db_option
@person_option()
@space_option()
@budget_option(TERMINAL_BUDGET_MS)
def prompt(db: Path | None, **context: Any) -> None:
    """Ask one question after another; family-recall alone does this, too, at a terminal.

    Questions are stored nowhere but in this window's own history, which ends with it. Lines may
    come from a pipe.

    Examples:
      family-recall prompt --person alice --db family.db
      family-recall prompt --person alice < questions.txt
    """
    if db is None or not db.exists():
        parent = click.get_current_context().parent
        click.echo(parent.get_help() if parent else "")
        click.echo("\nto begin: family-recall init --db family.db --person alice=Alice")
        return
    ctx = fr.RecallContext(**context)
    with open_household(db) as home:
        home.understand("", ctx)  # refuses an unknown person, and a space they may not enter
        home.warmup()
        Prompt(home, ctx).run()


class _Memory(NamedTuple):
    """A memory named on a line, and its result in the last answer, if any."""

    doc_id: str
    space_id: str
    text: str
    result: Result | None


class Prompt:
    """One person's session: the last answer and the changes to undo."""

    def __init__(self, home: fr.FamilyRecall, ctx: fr.RecallContext) -> None:
        from family_recall.api import Changes  # noqa: PLC0415 -- opens files, and help needs none

        self._home, self._ctx = home, ctx
        self._answer: Answer | None = None
        self._changes = Changes(home, ctx.person_id or "")
        self._undo: list[Change] = []

    def run(self) -> None:
        """Read and handle lines until the end; print errors and go on."""
        out = console()
        if sys.stdin.isatty():
            self.complete()
            print_line(out, "Ask a question. /help lists what else there is.", "dim")
        while (line := _line()) is not None and line not in {"/quit", "/exit"}:
            try:
                print_lines(out, self.handle(line))
            except FamilyRecallError as error:
                print_line(out, f"Error: {one_line(str(error))}", "red")

    def handle(self, line: str) -> Iterator[Styled]:
        """Handle one line; yield the lines to print."""
        word, _, rest = line.partition(" ")
        if line and not line.startswith("/"):
            before = None if self._answer is None else self._answer.query_text
            ctx = dataclasses.replace(self._ctx, previous=before)
            self._answer = self._home.recall(line, ctx)
            yield from answer_lines(self._answer, numbered=True)
        elif word == "/help":
            yield from ((f"{name:<18}{what}", "") for name, what in HELP)
        elif word == "/add":
            yield self._add(rest.strip())
        elif word == "/undo":
            yield self._undo_last()
        elif word in COMMANDS and word != "/why" and self._ctx.person_id is None:
            yield "only a person who lives here changes that: --person ID", "red"
        elif word in COMMANDS:
            name, _, text = rest.strip().partition(" ")
            memory = self._memory(name)
            if memory is None:
                ranks = ", ".join(str(result.rank) for result in self._answer or ())
                known = ranks or "none: ask a question first"
                yield f"which memory of the last answer? there are: {known}", "red"
            elif word == "/why":
                yield from self._why(memory)
            else:
                yield self._change(word, memory, text.strip())
        elif line:
            yield f"there is no {word}; /help lists what there is", "red"

    def complete(self) -> None:
        """Set up completion with Tab and history, where readline is installed."""
        with contextlib.suppress(ImportError):
            import readline  # noqa: PLC0415 -- not on every system

            names = [person.name for person in self._home.people.all(self._ctx.person_id)]
            words = (*COMMANDS, *names)

            def complete(text: str, state: int) -> str | None:
                matching = [word for word in words if word.lower().startswith(text.lower())]
                return matching[state] if state < len(matching) else None

            readline.set_completer(complete)
            readline.set_completer_delims(" ")
            readline.parse_and_bind("tab: complete")

    def _memory(self, name: str) -> _Memory | None:
        """Return the memory with that rank in the last answer, or with that id."""
        results = list(self._answer or ())
        for result in results:
            if str(result.rank) == name:
                return _Memory(result.doc_id, result.space_id, result.text, result)
        if len(name) < ACCEPTED:
            return None
        doc_id = self._home.memories.ids(self._ctx.person_id).find(name)
        memory = self._home.memories.get(doc_id, self._ctx).current.memory
        hit = next((result for result in results if result.doc_id == doc_id), None)
        return _Memory(doc_id, memory.space_id, memory.text, hit)

    def _change(self, word: str, memory: _Memory, text: str) -> Styled:
        """Give feedback on a memory, correct or forget it; return the line to print."""
        change: Change | None
        if word == "/correct":
            _, change = self._changes.correct(memory.doc_id, space_id=memory.space_id, text=text)
            message = "Corrected; /undo brings the earlier text back."
        elif word == "/forget":
            _, change = self._changes.forget(memory.doc_id)
            message = f"Forgotten: {memory.text} (/undo brings it back)"
        elif self._answer is None:
            return _NOT_ASKED
        else:
            accepted = word == "/yes"
            feedback, change = self._changes.feedback(
                self._answer, memory.doc_id, accepted, self._ctx
            )
            message = f"Noted: {feedback.effect}." if feedback.kept else f"{feedback.why}."
        self._undo += [change] if change is not None else []
        return message, ""

    def _why(self, memory: _Memory) -> Iterator[Styled]:
        """Explain the rank of a memory, or why it is not in the last answer."""
        short = self._home.memories.ids(self._ctx.person_id).short
        if memory.result is not None:
            yield from result_lines(memory.result, short)
        elif self._answer is None:
            yield _NOT_ASKED
        else:
            explanation = self._home.explain(self._answer.query_text, memory.doc_id, self._ctx)
            yield from ((line, "") for line in explanation.lines(short))

    def _add(self, text: str) -> Styled:
        now = dt.datetime.now(dt.UTC)
        memory = fr.Memory(
            text, self._ctx.space_id or DEFAULT_SPACE, author=self._ctx.person_id, occurred_at=now
        )
        if self._ctx.person_id is None:
            stored = self._home.remember(memory)
        else:
            stored, change = self._changes.add(memory)
            self._undo += [change] if change is not None else []
        short = self._home.memories.ids(self._ctx.person_id).short(stored.doc_id)
        already = " It was there already." if stored.outcome == "unchanged" else ""
        return f"Stored as {short}.{already}", ""

    def _undo_last(self) -> Styled:
        if not self._undo:
            return "there is nothing to undo", "red"
        change = self._undo.pop()
        change.undo()
        return f"Undone: {change.what}.", ""


def _line() -> str | None:
    """Return the next line; None at the end. Ctrl-C empties the line."""
    try:
        return input("› " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return None
    except KeyboardInterrupt:
        click.echo()
        return ""

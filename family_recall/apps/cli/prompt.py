"""Ask one question after another, and change what is found: ``prompt``."""

from __future__ import annotations

import contextlib
import datetime as dt
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

import family_recall as fr
from family_recall.apps.cli.command import command, open_household
from family_recall.apps.cli.output import console, one_line, print_line, print_lines
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
_NOT_ASKED: Final = "ask a question first"
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
    """A memory that a line names; ``result`` is it in the last answer, None where it is not."""

    doc_id: str
    space_id: str
    text: str
    result: Result | None


class Prompt:
    """One person's questions, the last answer, and how to undo what was changed."""

    def __init__(self, home: fr.FamilyRecall, ctx: fr.RecallContext) -> None:
        from family_recall.api import Changes  # noqa: PLC0415 -- opens files, and help needs none

        self._home, self._ctx = home, ctx
        self._out = console()
        self._answer: Answer | None = None
        self._changes = Changes(home, ctx.person_id or "")
        self._undo: list[Change] = []

    def run(self) -> None:
        """Read lines until the end; an error is printed, and the next line is read."""
        if sys.stdin.isatty():
            self.complete()
            print_line(self._out, "Ask a question. /help lists what else there is.", "dim")
        while (line := self._line()) is not None and line not in {"/quit", "/exit"}:
            try:
                self.handle(line)
            except FamilyRecallError as error:
                print_line(self._out, f"Error: {one_line(str(error))}", "red")

    def handle(self, line: str) -> None:
        """Do what one line says."""
        word, _, rest = line.partition(" ")
        if not line:
            return
        if not line.startswith("/"):
            self._ask(line)
        elif word == "/help":
            for name, what in HELP:
                print_line(self._out, f"{name:<18}{what}")
        elif word == "/add":
            self._add(rest.strip())
        elif word == "/undo":
            self._undo_last()
        elif word in COMMANDS and word != "/why" and self._ctx.person_id is None:
            print_line(self._out, "only a person who lives here changes that: --person ID", "red")
        elif word in COMMANDS:
            named, _, text = rest.strip().partition(" ")
            memory = self._memory(named)
            if memory is not None:
                self._on_memory(word, memory, text.strip())
        else:
            print_line(self._out, f"there is no {word}; /help lists what there is", "red")

    def complete(self) -> None:
        """Complete commands and names with Tab, and keep the lines of this window, where it can."""
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

    def _ask(self, question: str) -> None:
        self._answer = self._home.recall(question, self._ctx)
        print_lines(self._out, answer_lines(self._answer, numbered=True))

    def _memory(self, named: str) -> _Memory | None:
        """Return the memory of that rank in the last answer, or of that id; print why none is."""
        results = {str(result.rank): result for result in self._answer or ()}
        if named in results:
            ranked = results[named]
            return _Memory(ranked.doc_id, ranked.space_id, ranked.text, ranked)
        if len(named) >= ACCEPTED:
            doc_id = self._home.memories.ids(self._ctx.person_id).find(named)
            stored = self._home.memories.get(doc_id, self._ctx).current.memory
            result = next((hit for hit in self._answer or () if hit.doc_id == doc_id), None)
            return _Memory(doc_id, stored.space_id, stored.text, result)
        ranks = ", ".join(results) or "none: ask a question first"
        print_line(self._out, f"which memory of the last answer? there are: {ranks}", "red")
        return None

    def _on_memory(self, word: str, memory: _Memory, text: str) -> None:
        if word == "/why":
            self._why(memory)
        elif word in {"/not", "/yes"}:
            self._judge(memory, accepted=word == "/yes")
        elif word == "/correct":
            _, change = self._changes.correct(memory.doc_id, space_id=memory.space_id, text=text)
            self._note(change)
            print_line(self._out, "Corrected; /undo brings the earlier text back.")
        elif word == "/forget":
            _, change = self._changes.forget(memory.doc_id)
            self._note(change)
            print_line(self._out, f"Forgotten: {memory.text} (/undo brings it back)")

    def _why(self, memory: _Memory) -> None:
        """Print how a memory was ranked, or why it is not in the last answer."""
        known = self._home.memories.ids(self._ctx.person_id)
        if memory.result is not None:
            print_lines(self._out, result_lines(memory.result, known.short))
        elif self._answer is None:
            print_line(self._out, _NOT_ASKED, "red")
        else:
            explained = self._home.explain(self._answer.query_text, memory.doc_id, self._ctx)
            for line in explained.lines(known.short):
                print_line(self._out, line)

    def _judge(self, memory: _Memory, *, accepted: bool) -> None:
        """Record whether a memory was what the last question asked for."""
        if self._answer is None:
            print_line(self._out, _NOT_ASKED, "red")
            return
        done, change = self._changes.feedback(self._answer, memory.doc_id, accepted, self._ctx)
        self._note(change)
        print_line(self._out, f"Noted: {done.effect}." if done.kept else f"{done.why}.")

    def _add(self, text: str) -> None:
        space_id = self._ctx.space_id or DEFAULT_SPACE
        memory = fr.Memory(
            text, space_id, author=self._ctx.person_id, occurred_at=dt.datetime.now(dt.UTC)
        )
        if self._ctx.person_id is None:
            stored = self._home.remember(memory)
        else:
            stored, change = self._changes.add(memory)
            self._note(change)
        short = self._home.memories.ids(self._ctx.person_id).short(stored.doc_id)
        already = " It was there already." if stored.outcome == "unchanged" else ""
        print_line(self._out, f"Stored as {short}.{already}")

    def _note(self, change: Change | None) -> None:
        if change is not None:
            self._undo.append(change)

    def _undo_last(self) -> None:
        if not self._undo:
            print_line(self._out, "there is nothing to undo", "red")
            return
        change = self._undo.pop()
        change.undo()
        print_line(self._out, f"Undone: {change.what}.")

    def _line(self) -> str | None:
        """Return the next line, None at the end; Ctrl-C drops a line that is half written."""
        try:
            return input("› " if sys.stdin.isatty() else "").strip()
        except EOFError:
            return None
        except KeyboardInterrupt:
            click.echo()
            return ""

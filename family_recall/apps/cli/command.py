"""Decorators for commands: they open ``--db``, print ``--json``, and shorten errors."""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import itertools
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import family_recall as fr
from family_recall.apps.cli.options import flag_of, read_moments
from family_recall.apps.cli.output import Interrupted, Output, one_line
from family_recall.apps.cli.settings import (
    config_file,
    config_path,
    db_option,
    require,
    required_db_option,
)
from family_recall.errors import (
    FamilyRecallError,
    InvalidMemoryError,
    InvalidRequestError,
    NotAStoreError,
    UnknownPersonError,
    UnknownSpaceError,
)
from family_recall.types.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


_SIMILARITY = 0.66
"""The least similarity of a suggested name: *Tim* and *Tom* have 2/3."""


class Documented(click.Command):
    """A command whose help ends with the ``Examples:`` of its docstring."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        text, _, examples = inspect.cleandoc(kwargs["help"]).partition("\nExamples:\n")
        super().__init__(*args, **{**kwargs, "help": text.strip()})
        self.examples = tuple(line.strip() for line in examples.splitlines())

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the whole first sentence; the list of commands wraps it."""
        del limit
        return super().get_short_help_str(limit=1_000)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each example on one line."""
        del ctx
        formatter.write("\nexamples:\n")
        formatter.write("".join(f"  {line}\n" for line in self.examples))


class DocumentedGroup(Documented, click.Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in that order."""
        del ctx
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command; the error for an unknown name lists the known ones."""
        word = args[0]
        if word in self.commands or word.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        list_hint = f"; {ctx.command_path} alone lists what there is" * self.invoke_without_command
        close = difflib.get_close_matches(word, self.commands, n=1)
        hint = f". Did you mean {ctx.command_path} {close[0]}?" if close else ""
        raise click.UsageError(
            f"there is no {ctx.command_path} {word}{list_hint}, and its commands are "
            f"{', '.join(self.commands)}{hint}",
            ctx,
        )


class CommandOrQuestion(DocumentedGroup):
    """The root group: it recalls questions, opens the prompt, and prints errors on one line.

    Anything with a space or a final ``?``, or after ``--``, is a question, and so are several
    words that read as one. Any other unknown word is a misspelt command. Without arguments, a
    terminal gets the prompt.
    """

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parse the root's own arguments."""
        with _without_control():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; print an expected error on one line of stderr."""
        try:
            with _without_control():
                return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (FamilyRecallError, OSError) as error:
            raise click.ClickException(one_line(str(error))) from error
        except KeyboardInterrupt:
            raise Interrupted("stopped; what was acknowledged before is stored") from None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Pass the arguments after ``--`` to ``recall``; the first is the question."""
        if not args and sys.stdin.isatty() and sys.stdout.isatty():
            args = ["prompt"]
        _, rest, _ = self.make_parser(ctx).parse_args(list(args))
        at = len(args) - len(rest)
        if rest and args[:at][-1:] == ["--"]:
            args = [*args[: at - 1], "recall", *rest[1:], "--", rest[0]]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, or ``recall`` for a question."""
        word = args[0]
        if word in self.commands or word.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        if is_question(word):
            return super().resolve_command(ctx, ["recall", *args])
        from family_recall.api.understanding import asks  # noqa: PLC0415 -- help needs no grammar

        words = list(itertools.takewhile(lambda arg: not arg.startswith("-"), args))
        question = " ".join(words)
        if len(words) > 1 and asks(question):
            return super().resolve_command(ctx, ["recall", question, *args[len(words) :]])
        close = difflib.get_close_matches(word.lower(), self.commands, n=3)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        raise click.UsageError(
            f"there is no command {word!r}.{hint} To ask it as a question: "
            f"family-recall -- {printable(shlex.quote(word))}",
            ctx,
        )


@contextlib.contextmanager
def _without_control() -> Iterator[None]:
    """Replace control characters of arguments and files in the block's error messages."""
    try:
        yield
    except click.ClickException as error:
        error.message = printable(error.message)  # type: ignore[misc]  # click assigns it too
        raise


def is_question(word: str) -> bool:
    """Whether a word that is no command can only be a question."""
    return len(word.split()) > 1 or word.rstrip().endswith(("?", "\N{FULLWIDTH QUESTION MARK}"))


def command(
    name: str | None = None, *, group: click.Group | None = None, prints_json: bool = True
) -> Callable[[Callable[..., Output | None]], click.Command]:
    """Make a function a command that prints its output, with ``--json`` as JSON."""

    def decorate(function: Callable[..., Output | None]) -> click.Command:
        @functools.wraps(function)
        def run(*, as_json: bool = False, **options: Any) -> None:
            try:
                output = function(**options)
            except (InvalidRequestError, InvalidMemoryError) as error:
                raise click.ClickException(one_line(_in_options(str(error)))) from error
            if output is not None:
                output.print(as_json=as_json)
                if output.failed:
                    click.get_current_context().exit(1)

        result = click.command(name, cls=Documented)(run)
        if prints_json:
            result.params.append(_json_option())
        if group is not None:
            group.add_command(result)
        return result

    return decorate


def _json_option() -> click.Option:
    return click.Option(["--json", "as_json"], is_flag=True, help="print JSON with stable keys")


def household_command(
    name: str | None = None, *, group: click.Group | None = None
) -> Callable[[Callable[..., Output | None]], click.Command]:
    """Make a function a command; its first argument is the household opened from ``--db``."""

    def decorate(function: Callable[..., Output | None]) -> click.Command:
        @functools.wraps(function)
        def with_household(*, db: Path, **options: Any) -> Output | None:
            with open_household(db) as home:
                return function(home, **read_moments(options, home.zone, home.region))

        return command(name, group=group)(required_db_option(with_household))

    return decorate


def household_group(function: Callable[..., Output]) -> click.Group:
    """Make a function a group that calls it where no subcommand is given."""

    @functools.wraps(function)
    def run(*, db: Path | None, as_json: bool, **options: Any) -> None:
        ctx = click.get_current_context()
        if ctx.invoked_subcommand is None:
            with open_household(require(ctx, db)) as home:
                function(home, **options).print(as_json=as_json)

    group = click.group(cls=DocumentedGroup, invoke_without_command=True)(db_option(run))
    group.params.append(_json_option())
    return group


@contextlib.contextmanager
def open_household(db: Path, *, warm: bool = False) -> Iterator[fr.FamilyRecall]:
    """Open an existing household; the error for an unknown person or space lists the known ones."""
    if not db.exists():
        raise NotAStoreError(f"{db}: no such file; make one with: family-recall init --db {db}")
    with fr.FamilyRecall.open(db, create=False, key=key(), warm=warm) as home:
        try:
            yield home
        except UnknownPersonError as error:
            raise click.ClickException(_nobody(home, error.person_id)) from error
        except UnknownSpaceError as error:
            person_id = click.get_current_context().params.get("person_id")
            raise click.ClickException(_no_space(home, error.space_id, person_id)) from error


def _in_options(message: str) -> str:
    """Name the option in an error about a field: ``--importance must be in [0, 1]``."""
    name, must, rest = message.partition(" must ")
    return f"{flag_of(name) or name}{must}{rest}" if name.isidentifier() else message


def _nobody(home: fr.FamilyRecall, person_id: str | None) -> str:
    people = home.people.all()
    if not people:
        return f"no person {person_id!r}; nobody lives here yet: family-recall people add ID"
    close = closest_name(person_id or "", names_of(people))
    hint = f". Did you mean {close}?" if close else ""
    here = ", ".join(person.person_id for person in people)
    return f"no person {person_id!r}; people here: {here}{hint}"


def names_of(people: Iterable[fr.Person]) -> dict[str, str]:
    """Return person ids by case-folded name, alias and id."""
    return {
        name.casefold(): person.person_id
        for person in reversed(list(people))
        for name in (*person.aliases, person.name, person.person_id)
    }


def closest_name(word: str, names: Mapping[str, str]) -> str | None:
    """Return the value of the name closest to a word; None where none is close."""
    close = difflib.get_close_matches(word.casefold(), names, n=1, cutoff=_SIMILARITY)
    return names[close[0]] if close else None


def _no_space(home: fr.FamilyRecall, space_id: str | None, person_id: str | None) -> str:
    spaces = [space.space_id for space in home.spaces.all(person_id)]
    close = difflib.get_close_matches(space_id or "", spaces, n=1)
    hint = f". Did you mean {close[0]}?" if close else "; to add it: family-recall spaces add"
    owner = "" if person_id is None else f" for {person_id}"
    return f"no space {space_id!r}{owner}; spaces: {', '.join(spaces) or 'none yet'}{hint}"


def key() -> str | bytes | None:
    """Return the household's key; None where none is set."""
    return key_in(key_file())


def key_file() -> Path | None:
    """Return the key file of the options or the config file; None where none is set."""
    ctx = click.get_current_context()
    file = ctx.find_root().params["key_file"] or config_file(ctx).values.get("key_file")
    return None if file is None else Path(str(file))


def check_output(
    *files: Path | None,
    overwrite: bool = True,
    inputs: Iterable[Path | None] = (),
    over_copies: bool = False,
) -> None:
    """Raise if an output file may not be written; the key and config files count as inputs."""
    from family_recall.api.files import check_destination  # noqa: PLC0415 -- SQLite

    ctx = click.get_current_context()
    read = [file for file in (config_path(ctx), key_file(), *inputs) if file is not None]
    for file in files:
        if file is not None:
            check_destination(file, overwrite=overwrite, inputs=read, over_copies=over_copies)


def key_in(file: Path | None) -> str | bytes | None:
    """Return the key in a file."""
    if file is None:
        return None
    from family_recall.api.files import read_key_file  # noqa: PLC0415 -- brings SQLite

    return read_key_file(file)

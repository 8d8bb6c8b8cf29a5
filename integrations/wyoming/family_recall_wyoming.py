"""Answer what a voice asks over the Wyoming protocol, from one household's memory.

A server speaks to one person, or to anybody; start another on another port for another person.
Everybody in the room hears the answer, so nothing private is said.

Examples:
  family-recall-wyoming --home family.db
  family-recall-wyoming --home family.db --person alice --uri tcp://0.0.0.0:10501
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime as dt
import signal
import sys
from collections.abc import Sequence
from functools import partial

from wyoming.asr import Transcript
from wyoming.event import Event
from wyoming.handle import Handled, NotHandled
from wyoming.info import Attribution, Describe, HandleModel, HandleProgram, Info
from wyoming.server import AsyncEventHandler, AsyncServer

from family_recall import FamilyRecall, FollowUps, RecallContext, __version__
from family_recall.english import reminder_in
from family_recall.errors import FamilyRecallError, InvalidRequestError
from family_recall.types.memory import MemoryFields

BUSY_TIMEOUT_MS = 5_000
REMEMBERED = "I will remember that."
UNKNOWN_SPEAKER = "I only remember things for people I know."
NOTHING = "I remember nothing that answers that."
FAILED = "That did not work; my log says why."


class Handler(AsyncEventHandler):
    """One connection: describes the service, and answers transcripts."""

    def __init__(
        self, home: FamilyRecall, speaker: RecallContext, follow_ups: FollowUps,
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
    ) -> None:  # fmt: skip
        super().__init__(reader, writer)
        self._home, self._speaker, self._follow_ups = home, speaker, follow_ups
        self._connection = object()

    async def handle_event(self, event: Event) -> bool:
        """Reply to a description or a transcript; other events are passed over."""
        if Describe.is_type(event.type):
            await self.write_event(info(self._speaker.person_id).event())
        elif Transcript.is_type(event.type):
            try:
                reply = await self._reply(Transcript.from_event(event))
            except FamilyRecallError as error:
                print(f"error: {error}", file=sys.stderr, flush=True)
                reply = NotHandled(FAILED)
            await self.write_event(reply.event())
        return True

    async def _reply(self, heard: Transcript) -> Handled | NotHandled:
        text = heard.text
        person_id, space_id = self._speaker.person_id, self._speaker.space_id
        reminder = reminder_in(text)
        if reminder is None:
            # Home Assistant connects anew for each sentence, and says of which conversation it is.
            named = (heard.context or {}).get("conversation_id")
            conversation = named if isinstance(named, str) else self._connection
            ctx = self._follow_ups.going_on(self._speaker, conversation)
            answer = await self._home.arecall(text, ctx)
            self._follow_ups.asked(answer, ctx, conversation)
            spoken = answer.spoken(person_id)
            return Handled(spoken) if spoken else NotHandled(NOTHING)
        if person_id is None:
            return NotHandled(UNKNOWN_SPEAKER)
        fields: MemoryFields = {"source": "wyoming", "occurred_at": dt.datetime.now(dt.UTC)}
        if space_id is not None:
            fields["space_id"] = space_id
        await self._home.aremember(reminder.text, person_id=person_id, **fields)
        return Handled(REMEMBERED)


def info(person_id: str | None) -> Info:
    """Return what the service is; its name says to whom it speaks."""
    name = f"Family Recall ({person_id})" if person_id else "Family Recall"
    by = Attribution("family_recall", "https://github.com/family-recall/family_recall")
    about = "Answers from a household's memory"
    model = HandleModel("family_recall", by, True, about, __version__, languages=["en"])
    return Info(handle=[HandleProgram(name, by, True, about, __version__, models=[model])])


async def serve(file: str, uri: str, speaker: RecallContext) -> None:
    """Open a household and answer until SIGINT or SIGTERM; print a line when ready.

    Raises:
        FamilyRecallError: If file, person or space is not there or cannot be used, or the URI
            is not one of TCP or of a Unix socket.
        OSError: If its address cannot be listened at.
    """
    if not uri.startswith(("tcp://", "unix://")):
        raise InvalidRequestError(f"--uri must begin with tcp:// or unix://, got {uri!r}")
    server = AsyncServer.from_uri(uri)
    stopping = asyncio.Event()
    opening = FamilyRecall.aopen(file, create=False, busy_timeout_ms=BUSY_TIMEOUT_MS)
    async with await opening as home:
        await home.arecall("", speaker)  # raises now if there is no such person or space
        await home.arun(home.warmup)
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # Windows; Ctrl-C ends the loop there
                asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        await server.start(partial(Handler, home, speaker, FollowUps()))
        print(f"ready at {uri}", flush=True)
        await stopping.wait()
        await server.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until stopped; 1 when that cannot be, with the reason on stderr."""
    options = _parser().parse_args(arguments)
    try:
        speaker = RecallContext(
            person_id=options.person, space_id=options.space,
            time_budget_ms=options.budget_ms, top_k=5, aloud=True,
        )  # fmt: skip
        asyncio.run(serve(options.home, options.uri, speaker))
    except (FamilyRecallError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    about, _, examples = (__doc__ or "").partition("\nExamples:")
    parser = argparse.ArgumentParser(
        "family-recall-wyoming",
        description=about,
        epilog=f"examples:{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--home", required=True, metavar="FILE", help="the household's file")
    parser.add_argument(
        "--uri", default="tcp://127.0.0.1:10500",
        help="where to listen: tcp://HOST:PORT or unix://PATH (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--person", metavar="ID", help="who speaks (default: anybody)")
    parser.add_argument(
        "--space", metavar="ID",
        help="the shared space to answer from alone, and to store in (default: all of them, and "
        "the household's)",
    )  # fmt: skip
    parser.add_argument(
        "--budget-ms", type=float, default=300.0, metavar="MS",
        help="time for an answer; slow stages are skipped past it (default: 300)",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())

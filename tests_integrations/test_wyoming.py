"""The Wyoming server: a process of its own, asked by Wyoming's client."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from wyoming.asr import Transcript
from wyoming.client import AsyncClient
from wyoming.event import Event, Eventable
from wyoming.handle import Handled, NotHandled
from wyoming.info import Describe, Info

from family_recall import FamilyRecall, Grant, Space

COMMAND = (str(Path(sys.executable).with_name("family-recall-wyoming")),)
KEY, SAFE, RING = "Where is the spare key?", "What is the safe code?", "Where is the ring for Bob?"
STORED = Handled("I will remember that.")
NOTHING = NotHandled("I remember nothing that answers that.")


@contextlib.contextmanager
def serving(file: Path, *options: str) -> Iterator[str]:
    """Start a server on a free port; yield its address, and stop it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        uri = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    command = [*COMMAND, "--home", str(file), "--uri", uri, "--budget-ms", "5000", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == f"ready at {uri}\n"
        try:
            yield uri
        finally:
            server.terminate()
            try:
                assert server.wait(timeout=20) == 0
            finally:
                server.kill()


def ask(uri: str, *messages: Eventable | Event) -> list[Event]:
    """Send messages over one connection; return the reply to each that has one."""

    async def asked() -> list[Event]:
        async with AsyncClient.from_uri(uri) as client:
            replies = []
            for message in messages:
                event = message if isinstance(message, Event) else message.event()
                await client.write_event(event)
                if event.type in {"describe", "transcript"}:
                    reply = await client.read_event()
                    assert reply is not None, "the server closed the connection"
                    replies.append(reply)
            return replies

    return asyncio.run(asked())


def say(uri: str, *texts: str) -> list[Handled | NotHandled]:
    """Return what is answered to transcripts."""
    return [
        (Handled if Handled.is_type(reply.type) else NotHandled).from_event(reply)
        for reply in ask(uri, *map(Transcript, texts))
    ]


def test_it_describes_itself(file: Path) -> None:
    """One English program that handles transcripts; its name says who speaks."""
    for options, name in (([], "Family Recall"), (["--person", "bob"], "Family Recall (bob)")):
        with serving(file, *options) as uri:
            (reply,) = ask(uri, Describe())
        (program,) = Info.from_event(reply).handle
        assert (program.name, program.installed) == (name, True)
        assert [model.languages for model in program.models] == [["en"]]


def test_anybody_hears_what_is_green(file: Path) -> None:
    """An unknown voice hears no amber and no private memory, and stores nothing."""
    with serving(file) as uri:
        key, safe, ring, stored = say(uri, KEY, SAFE, RING, "Remember that the ring is lost")
    assert key == Handled("Alice said: The spare key is under the blue pot.")
    assert "4711" not in str(safe)
    assert "desk" not in str(ring)
    assert stored == NotHandled("I only remember things for people I know.")
    with FamilyRecall.open(file) as home:
        assert home.maintenance.stats()["memories"] == 3


def test_a_person_hears_nothing_private(file: Path) -> None:
    """Where others may listen: what adults know, and not even their own private memories."""
    with serving(file, "--person", "alice") as uri:
        key, safe, ring = say(uri, KEY, SAFE, RING)
    assert key == Handled("You said: The spare key is under the blue pot.")
    assert safe == Handled("The safe code is 4711.")
    assert "desk" not in str(ring)


def test_a_follow_up_goes_on_within_its_conversation(file: Path) -> None:
    """That is a connection, or what Home Assistant names, which connects anew for each sentence."""
    with FamilyRecall.open(file) as home:
        home.remember("Ivo's judo class is on Tuesday in the gym", author="alice")
    first, follow_up = "When is Ivo's judo class?", "and where?"
    with serving(file) as uri:
        assert "gym" in str(say(uri, first, follow_up)[1])
        assert say(uri, follow_up) == [NOTHING]
        ask(uri, Transcript(first, {"conversation_id": "kitchen"}))
        for conversation, goes_on in (("hall", False), ("kitchen", True)):
            (reply,) = ask(uri, Transcript(follow_up, {"conversation_id": conversation}))
            assert ("gym" in str(reply.data)) == goes_on


def test_what_nothing_answers_is_not_handled(file: Path) -> None:
    """So that whatever asked can ask somebody else."""
    with serving(file) as uri:
        assert say(uri, "What is the capital of France?", "") == [NOTHING, NOTHING]


def test_what_is_remembered_stays(file: Path) -> None:
    """By the person of the server, for everyone at home, also after a restart."""
    with serving(file, "--person", "bob") as uri:
        (reply,) = say(uri, "Please remember that the plumber comes on Tuesday at nine")
        assert reply == STORED
    with serving(file, "--person", "alice") as uri:
        (reply,) = say(uri, "When does the plumber come?")
        assert reply == Handled("Bob said: the plumber comes on Tuesday at nine.")


@pytest.fixture
def club(file: Path) -> Path:
    """Return the file with a second shared space, of Bob."""
    with FamilyRecall.open(file) as home:
        home.spaces.add(Space("shared:club", "shared"))
        home.spaces.grant(Grant("bob", "shared:club", "adult"))
    return file


def test_a_failure_is_said(club: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Aloud without its reason, which the log has; and the connection stays."""
    with serving(club, "--person", "bob", "--space", "shared:club") as uri:
        with FamilyRecall.open(club) as home:
            home.spaces.revoke("bob", "shared:club")
        failed = NotHandled("That did not work; my log says why.")
        assert say(uri, KEY, "Remember that chess is at six") == [failed, failed]
    reason = "error: there is no space 'shared:club', or not for this person"
    assert capfd.readouterr().err.count(reason) == 2


def test_a_space_answers_alone(club: Path) -> None:
    """And is where things are stored."""
    with serving(club, "--person", "bob", "--space", "shared:club") as uri:
        stored, chess, key = say(uri, "Remember that chess is at six", "When is chess?", KEY)
    assert (stored, chess) == (STORED, Handled("You said: chess is at six."))
    assert "blue pot" not in str(key)


def test_other_messages_are_passed_over(file: Path) -> None:
    """Streamed parts of a transcript, and one without a text, which ends its connection alone."""
    with serving(file) as uri:
        (reply,) = ask(uri, Event("transcript-chunk", {"text": "Where"}), Transcript(KEY))
        assert Handled.is_type(reply.type)
        with pytest.raises(AssertionError, match="closed the connection"):
            ask(uri, Event("transcript"))
        assert isinstance(say(uri, KEY)[0], Handled)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--person", "carol"], "nobody here has the id 'carol'"),
        (["--person", "bob", "--space", "private:alice"], "there is no space 'private:alice'"),
        (["--home", "none.db"], "none.db"),
        (["--uri", "stdio://"], "--uri must begin with tcp:// or unix://"),
        (["--uri", "tcp://127.0.0.1"], "port"),
        (["--budget-ms", "0"], "time_budget_ms"),
    ],
)
def test_what_cannot_be_served_is_said(file: Path, options: list[str], reason: str) -> None:
    """In one line, before it listens."""
    command = [*COMMAND, "--home", str(file), *options]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=file.parent)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("error: ")
    assert reason in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not (file.parent / "none.db").exists()


def test_an_address_in_use_is_said(file: Path) -> None:
    """Two servers cannot listen at one port."""
    with serving(file) as uri:
        command = [*COMMAND, "--home", str(file), "--uri", uri]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "in use" in ended.stderr
    assert ended.stderr.count("\n") == 1

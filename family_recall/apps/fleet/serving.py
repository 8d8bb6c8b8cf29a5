"""Serve a fleet with Ray Serve: each household by one shard, whose replica has its file open.

A shard is a deployment with one replica. Where that, or its node, is lost, Serve starts it again on
another node, and it opens files from their places. What a household's URL did not have yet is lost:
what was remembered since the shard last put it there.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import logging
import time
from collections.abc import AsyncIterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from family_recall.api.files import temporary_folder
from family_recall.apps.fleet.household_server import (
    AllInUseError,
    HouseholdServer,
    Request,
    ShedError,
)
from family_recall.apps.fleet.places import SCRATCH, Entry
from family_recall.apps.fleet.ray_engine import imported
from family_recall.apps.fleet.steps import Options, loaded_models
from family_recall.errors import FamilyRecallError, InvalidRequestError, StoreError
from family_recall.types import RecallContext

if TYPE_CHECKING:
    from starlette.requests import Request as HttpRequest
    from starlette.responses import JSONResponse

APPLICATION = "family-recall-fleet"
MAX_BODY_BYTES = 65_536
"""More than any tool's arguments need, as in :mod:`family_recall.apps.mcp`."""
_FIELDS = frozenset(("arguments", "ctx"))
_STATUS = {"unknown": 404, "refused": 400, "broken": 500, "shed": 503, "in use": 503, "away": 503}

logger = logging.getLogger("family_recall")


@dataclass(frozen=True, slots=True)
class Serving:
    """How a fleet is served.

    Attributes:
        shards: How many replicas share the households, each on a processor of its own.
        open_files: How many files each has open at most.
        waiting: How many requests may wait for a shard before further ones are refused.
        backup_every_s: How often copies of households with a URL are put back while they are open.
    """

    shards: int = 1
    open_files: int = 100
    waiting: int = 32
    backup_every_s: float = 60.0


def shard_of(household_id: str, shards: int) -> int:
    """Return which shard a household belongs to: the same for every process and machine."""
    digest = hashlib.sha256(household_id.encode()).digest()
    return int.from_bytes(digest[:8], "big") % shards


class Shard:
    """The replica of a shard: a server of its households, in Ray Serve's event loop."""

    def __init__(self, entries: Sequence[Entry], options: Options, serving: Serving) -> None:
        """Load the models; households are opened as they are asked for."""
        loaded_models(options.models)
        self._at_end = contextlib.ExitStack()
        self._server = HouseholdServer(
            {entry.household_id: entry for entry in entries},
            options,
            self._at_end.enter_context(temporary_folder(SCRATCH)),
            open_files=serving.open_files,
        )
        self._backup_every_s = serving.backup_every_s
        self._backing_up: asyncio.Task[None] | None = None

    async def answer(self, request: Request) -> tuple[str, Any]:
        """Answer a request: ``done`` with a result, or why not (see ``_STATUS``) with a message."""
        if self._backing_up is None:
            self._backing_up = asyncio.create_task(self._keep_backing_up())
        try:
            return "done", await self._server.answer(request)
        except KeyError:
            return "unknown", f"no household {request.household_id!r}"
        except ShedError as error:
            return "shed", str(error)
        except AllInUseError:
            return "in use", "every household that is open here is in use"
        except StoreError as error:
            return "broken", str(error)
        except FamilyRecallError as error:
            return "refused", str(error)
        except OSError as error:
            return "away", f"a household's place cannot be reached: {error}"
        except Exception:  # its text may hold a memory's
            logger.exception("the tool %s failed", request.tool)
            return "broken", "this failed inside the server, whose log says more"

    async def stats(self) -> dict[str, Any]:
        """Return how many households are open and were opened so far, and on which node."""
        households = self._server.households
        node = imported().get_runtime_context().get_node_id()
        return {"open": len(households), "opened": households.n_opened, "node": node}

    async def back_up(self) -> int:
        """Put copies that were asked into their places now; return how many."""
        return await self._server.back_up()

    async def __del__(self) -> None:
        """Close every household; Ray Serve awaits it when it stops a replica in good order."""
        if self._backing_up is not None:
            self._backing_up.cancel()
        await self._server.households.close_all()
        self._at_end.close()

    async def _keep_backing_up(self) -> None:
        while True:
            await asyncio.sleep(self._backup_every_s)
            try:
                await self._server.back_up()
            except Exception:
                logger.exception("households could not be backed up; tried again later")


class Front:
    """The front of the fleet: ``POST /ID/TOOL`` goes to the household's shard.

    The body is JSON with the ``arguments`` of the tool and the ``ctx`` of the request. The caller
    answers for who asks: it says whose words these are, in ``ctx.person_id``. ``GET /`` returns
    what each shard has open, and ``POST /backup`` puts every open copy into its place.
    """

    def __init__(self, shards: Mapping[str, Any], token: str) -> None:
        """Use handles of the shards, by number; callers have to send the token."""
        self._shards = [shards[name] for name in sorted(shards, key=int)]
        self._token = token

    async def __call__(self, http: HttpRequest) -> JSONResponse:
        """Answer a request over HTTP; 503 where it was not begun and may be repeated."""
        from ray.serve.exceptions import BackPressureError  # noqa: PLC0415 -- the extra
        from starlette.responses import JSONResponse  # noqa: PLC0415 -- comes with the extra

        arrived_s = time.time()
        sent = http.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(sent.encode(), self._token.encode()):
            return JSONResponse({"error": "expected the fleet's token"}, 401)
        household_id, _, tool = http.url.path.strip("/").rpartition("/")
        if not household_id and tool in {"", "backup"}:
            calls = (shard.back_up if tool else shard.stats for shard in self._shards)
            return JSONResponse(await asyncio.gather(*(call.remote() for call in calls)))
        try:
            body = await read_body(http.stream())
            request = read_request(household_id, tool, body, arrived_s)
        except FamilyRecallError as error:
            return JSONResponse({"error": str(error)}, 400)
        shard = self._shards[shard_of(household_id, len(self._shards))]
        try:
            outcome, result = await shard.answer.remote(request)
        except BackPressureError:  # too many wait there already
            outcome, result = "shed", "too many requests wait for this household's shard"
        if outcome == "done":
            return JSONResponse(result)
        headers = {"Retry-After": "1"} if _STATUS[outcome] == 503 else None
        return JSONResponse({"error": result}, _STATUS[outcome], headers)


async def read_body(parts: AsyncIterable[bytes]) -> object:
    """Read a body of JSON.

    Raises:
        InvalidRequestError: If it is none, or is longer than ``MAX_BODY_BYTES``.
    """
    content = bytearray()
    async for part in parts:
        content += part
        if len(content) > MAX_BODY_BYTES:
            raise InvalidRequestError(f"expected at most {MAX_BODY_BYTES:,} bytes; send less")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidRequestError(f"expected a body of JSON ({error})") from None


def read_request(household_id: str, tool: str, body: object, arrived_s: float) -> Request:
    """Read the body of a request.

    Raises:
        InvalidRequestError: If it is no object with ``arguments`` and ``ctx``.
    """
    if not isinstance(body, dict) or not set(body) <= _FIELDS:
        raise InvalidRequestError('expected {"arguments": {…}, "ctx": {…}}')
    arguments = body.get("arguments") or {}
    if not isinstance(arguments, dict):
        raise InvalidRequestError("expected arguments to be an object")
    ctx = RecallContext.from_json(body.get("ctx") or {})
    return Request(household_id, tool, arguments, ctx, arrived_s)


def application(entries: Sequence[Entry], options: Options, serving: Serving, *, token: str) -> Any:
    """Return the Ray Serve application that serves a catalogue."""
    imported()
    from ray import serve  # noqa: PLC0415 -- the extra

    shards = {}
    for number in range(serving.shards):
        deployment = serve.deployment(
            Shard,
            name=f"shard-{number}",
            num_replicas=1,
            max_ongoing_requests=16,
            max_queued_requests=serving.waiting,
            ray_actor_options={"num_cpus": 1},
            health_check_period_s=2,
            health_check_timeout_s=10,
            graceful_shutdown_timeout_s=60,
        )
        own = [entry for entry in entries if shard_of(entry.household_id, serving.shards) == number]
        shards[str(number)] = deployment.bind(own, options, serving)
    front = serve.deployment(Front, name="front", ray_actor_options={"num_cpus": 0})
    return front.options(max_ongoing_requests=1000).bind(shards, token)


@contextlib.contextmanager
def running(
    entries: Sequence[Entry], options: Options, serving: Serving, *, token: str, port: int
) -> Iterator[None]:
    """Serve a catalogue on this cluster during the block, which begins once it answers.

    HTTP listens on 127.0.0.1 of the head node alone. At the end every household is closed.
    """
    from ray import serve  # noqa: PLC0415 -- the extra

    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": port})
    try:
        made = application(entries, options, serving, token=token)
        serve.run(made, name=APPLICATION, route_prefix="/")
        yield
    finally:
        serve.shutdown()

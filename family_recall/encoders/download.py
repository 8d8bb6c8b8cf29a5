"""A pinned file of somebody's model repository in, the checked file on this disk out.

The only module of the package that speaks to a network, loaded by `family-recall models fetch`
and by nothing else. Proxies are taken from the environment, as `urllib` does.
"""

from __future__ import annotations

import os
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException, HTTPResponse
from pathlib import Path

from family_recall.encoders.catalogue import Offer, RemoteFile
from family_recall.encoders.install import complete, files_folder, install, placed
from family_recall.encoders.manifest import ModelEntry, sha256_of
from family_recall.errors import ModelError
from family_recall.types.progress import StepCallback

BASE_URL = "https://huggingface.co"
TIMEOUT_S = 30.0
CHUNK_BYTES = 1 << 20
USER_AGENT = "family-recall"


def fetch(
    offer: Offer, folder: Path, *, base_url: str = BASE_URL, progress: StepCallback | None = None
) -> ModelEntry:
    """Download a model into a models folder and put it first in the manifest there.

    Files that are there and right are not downloaded again, and a download that was broken off
    goes on where it stopped. Nothing in the manifest changes until every file is there, is what
    the catalogue says, and the graph has run.

    Args:
        offer: What to fetch.
        folder: The models folder; made if there is none.
        base_url: The hub, or a mirror with the same paths; ``http`` or ``https``.
        progress: Called with the file's name, the bytes there and the bytes there will be.

    Raises:
        ModelError: If a file cannot be had or is not what the catalogue says, or the model does
            not run. A file with the wrong content is removed, a part of one kept.
    """
    if urllib.parse.urlsplit(base_url).scheme not in {"http", "https"}:
        raise ModelError(f"base URL {base_url!r}: expected one of http or https")
    place = files_folder(offer.name, (file.sha256 for file in offer.files))
    (folder / place).mkdir(parents=True, exist_ok=True)
    for file in offer.files:
        quoted = urllib.parse.quote(f"{offer.repo}/resolve/{offer.revision}/{file.path}")
        download(
            f"{base_url.rstrip('/')}/{quoted}", file, folder / place / file.name, progress=progress
        )
    return install(folder, complete(folder, placed(offer.record, place)))


def download(
    url: str, file: RemoteFile, path: Path, *, progress: StepCallback | None = None
) -> None:
    """Download one file to `path`, by way of a ``.part`` beside it that a later call continues.

    Raises:
        ModelError: If it cannot be had, or has another size or SHA-256 than `file` says. What
            came is then removed, unless it is only too short.
    """
    if path.is_file() and _matches(path, file):
        return
    part = path.with_name(f"{path.name}.part")
    if not part.is_file() or part.stat().st_size > file.n_bytes:
        part.write_bytes(b"")
    if part.stat().st_size < file.n_bytes:
        try:
            _receive(url, file, part, progress)
        except (OSError, HTTPException) as error:
            raise ModelError(
                f"{url}: {_reason(error)}; {part.stat().st_size:,} of {file.n_bytes:,} bytes are "
                "here, fetch again to go on"
            ) from error
    have = part.stat().st_size
    if have < file.n_bytes:
        raise ModelError(
            f"{url}: broke off at {have:,} of {file.n_bytes:,} bytes; fetch again to go on"
        )
    found = sha256_of(part)
    if have > file.n_bytes or found != file.sha256:
        part.unlink()
        size = f"more than {file.n_bytes:,}" if have > file.n_bytes else f"{have:,}"
        raise ModelError(
            f"{url}: {size} bytes with sha256 {found}, expected {file.n_bytes:,} with "
            f"{file.sha256}; removed"
        )
    part.replace(path)


def _receive(url: str, file: RemoteFile, part: Path, progress: StepCallback | None) -> None:
    """Append to the part what it lacks, or write it anew where the server sends all of it."""
    have = part.stat().st_size
    headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  http(s), see fetch
    with _open(request) as response:
        continues = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        resumed = response.status == 206 and continues
        done = have if resumed else 0
        with part.open("ab" if resumed else "wb") as out:
            # One byte too many is enough to know that the file is another one.
            while done <= file.n_bytes and (chunk := response.read(CHUNK_BYTES)):
                out.write(chunk[: file.n_bytes + 1 - done])
                done += len(chunk)
                if progress is not None:
                    progress(file.name, min(done, file.n_bytes), file.n_bytes)
            out.flush()
            os.fsync(out.fileno())


def _open(request: urllib.request.Request) -> HTTPResponse:
    # An opener of our own: the one urllib keeps has the proxies of its first use.
    opener = urllib.request.build_opener()
    try:
        response = opener.open(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not request.has_header("Range"):
            raise
        # The part is no beginning of what is there now.
        request.remove_header("Range")
        response = opener.open(request, timeout=TIMEOUT_S)
    assert isinstance(response, HTTPResponse)  # noqa: S101  of http and https there is no other
    return response


def _matches(path: Path, file: RemoteFile) -> bool:
    return path.stat().st_size == file.n_bytes and sha256_of(path) == file.sha256


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    return str(error) or type(error).__name__

"""Download the pinned files of a model repository, and check them.

Only this module uses a network, and only `family-recall models fetch` loads it. `urllib` reads
proxies from the environment.
"""

from __future__ import annotations

import os
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException, HTTPResponse
from pathlib import Path

from family_recall.encoders.catalogue import Offer, RemoteFile
from family_recall.encoders.install import install, place_of
from family_recall.encoders.manifest import ModelEntry, sha256_of
from family_recall.errors import ModelError
from family_recall.types.aliases import StepCallback

BASE_URL = "https://huggingface.co"
TIMEOUT_S = 30.0
CHUNK_BYTES = 1 << 20
USER_AGENT = "family-recall"


def fetch(
    offer: Offer, folder: Path, *, base_url: str = BASE_URL, progress: StepCallback | None = None
) -> ModelEntry:
    """Download a model into a models folder and put it first in the manifest there.

    Intact files are not downloaded again, and an interrupted download is resumed. The manifest
    changes only after every file is complete and checked and the model has run.

    Args:
        offer: The model to download.
        folder: The models folder; created if missing.
        base_url: The hub, or a mirror with the same paths; ``http`` or ``https``.
        progress: Called with the file's name, the bytes received and the bytes in all.

    Raises:
        ModelError: If a file cannot be downloaded or differs from the catalogue, or the model does
            not run. A file with the wrong content is deleted, an incomplete one is kept.
    """
    if urllib.parse.urlsplit(base_url).scheme not in {"http", "https"}:
        raise ModelError(f"base URL {base_url!r}: expected one of http or https")
    place = folder / place_of(offer.record)
    place.mkdir(parents=True, exist_ok=True)
    for name, file in offer.files.items():
        remote_path = urllib.parse.quote(f"{offer.repo}/resolve/{offer.revision}/{file.path}")
        url = f"{base_url.rstrip('/')}/{remote_path}"
        download(url, file, place / name, progress=progress)
    return install(folder, offer.record)


def download(
    url: str, file: RemoteFile, path: Path, *, progress: StepCallback | None = None
) -> None:
    """Download one file to `path`, by way of a ``.part`` file that a later call resumes.

    Raises:
        ModelError: If it cannot be downloaded, or its size or SHA-256 differ from `file`. The
            part is then deleted unless it is incomplete.
    """
    if path.is_file() and path.stat().st_size == file.n_bytes and sha256_of(path) == file.sha256:
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
                "here, fetch again to resume"
            ) from error
    have = part.stat().st_size
    if have < file.n_bytes:
        raise ModelError(
            f"{url}: interrupted at {have:,} of {file.n_bytes:,} bytes; fetch again to resume"
        )
    digest = sha256_of(part)
    if have > file.n_bytes or digest != file.sha256:
        part.unlink()
        size = f"more than {file.n_bytes:,}" if have > file.n_bytes else f"{have:,}"
        raise ModelError(
            f"{url}: {size} bytes with sha256 {digest}, expected {file.n_bytes:,} with "
            f"{file.sha256}; removed"
        )
    part.replace(path)


def _receive(url: str, file: RemoteFile, part: Path, progress: StepCallback | None) -> None:
    """Append the missing bytes to the part; start over if the server sends the whole file."""
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
            # One byte too many shows that it is another file.
            while done <= file.n_bytes and (chunk := response.read(CHUNK_BYTES)):
                out.write(chunk[: file.n_bytes + 1 - done])
                done += len(chunk)
                if progress is not None:
                    progress(part.stem, min(done, file.n_bytes), file.n_bytes)
            out.flush()
            os.fsync(out.fileno())


def _open(request: urllib.request.Request) -> HTTPResponse:
    # A new opener: the one urllib caches has the proxies of its first use.
    opener = urllib.request.build_opener()
    try:
        response = opener.open(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not request.has_header("Range"):
            raise
        # The part does not belong to the current file.
        request.remove_header("Range")
        response = opener.open(request, timeout=TIMEOUT_S)
    assert isinstance(response, HTTPResponse)  # noqa: S101  http and https return no other type
    return response


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    return str(error) or type(error).__name__

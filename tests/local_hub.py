"""A model hub on this machine, which can break off, lie, and know nothing of ranges."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

REPO, REVISION = "somebody/tiny", "0123456789abcdef0123456789abcdef01234567"
GRAPH = "onnx/model.onnx"


@dataclass
class Hub:
    """What the server has and how it behaves; may be changed while it runs.

    Attributes:
        files: Content by path in the repository.
        url: Where it is reached.
        cut: Bytes of a file's content after which the connection is closed; None for all.
        ranges: Whether a part can be asked for.
        asked: (path, Range header) of every request, in order.
    """

    files: dict[str, bytes]
    url: str = ""
    cut: int | None = None
    ranges: bool = True
    asked: list[tuple[str, str | None]] = field(default_factory=list)


@contextmanager
def serve(files: dict[str, bytes]) -> Iterator[Hub]:
    """Run a hub with these files in `REPO` at `REVISION`."""
    hub = Hub(files)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path.removeprefix(f"/{REPO}/resolve/{REVISION}/")
            wanted = self.headers.get("Range") if hub.ranges else None
            hub.asked.append((path, self.headers.get("Range")))
            content = hub.files.get(path)
            if content is None:
                self.send_error(404)
                return
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
            if wanted and start >= len(content):
                self.send_error(416)
                return
            self.send_response(206 if wanted else 200)
            self.send_header("Content-Length", str(len(content) - start))
            if wanted:
                end = len(content) - 1
                self.send_header("Content-Range", f"bytes {start}-{end}/{len(content)}")
            self.end_headers()
            self.wfile.write(content[start:][: hub.cut])

        def log_message(self, *args: object) -> None:
            """Write no log line."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def repository(folder: Path) -> dict[str, bytes]:
    """The files of a folder as those of a repository."""
    return {
        str(path.relative_to(folder).as_posix()): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def write_catalogue(path: Path, files: dict[str, bytes], /, **changes: Any) -> Path:
    """Write a catalogue with the one model of the hub, true to `files`."""

    def pin(name: str) -> dict[str, Any]:
        content = files[name]
        digest = hashlib.sha256(content).hexdigest()
        return {"path": name, "sha256": digest, "bytes": len(content)}

    model = {
        "name": "tiny", "repo": REPO, "revision": REVISION, "role": "embedder", "licence": "MIT",
        "languages": "English", "notes": "", **pin(GRAPH), "tokenizer": pin("tokenizer.json"),
        "precision": "fp32", "dimensions": 8, "max_tokens": {"question": 16, "memory": 32},
        "pooling": "mean", "normalise": True, "query_prefix": "query : ",
        "memory_prefix": "passage : ",
    }  # fmt: skip
    path.write_text(json.dumps({"format": 1, "models": [model | changes]}))
    return path

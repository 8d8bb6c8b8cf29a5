"""Fetching: what arrives is what was pinned, whatever the hub or the line does on the way."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.encoders.catalogue import RemoteFile, find_offer
from family_recall.encoders.download import download, fetch
from family_recall.encoders.manifest import ModelEntry, sha256_of
from family_recall.encoders.transformer import BiEncoder
from family_recall.errors import ModelError
from tests.foreign_models import save_folder
from tests.local_hub import GRAPH, REPO, REVISION, Hub, repository, serve, write_catalogue


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with one tiny model, pinned in `tmp_path / "catalogue.json"`."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    files = repository(save_folder(tmp_path / "published"))
    write_catalogue(tmp_path / "catalogue.json", files)
    with serve(files) as running:
        yield running


def fetched(tmp_path: Path, hub: Hub) -> ModelEntry:
    """Fetch the tiny model into `tmp_path / "models"`."""
    offer = find_offer("tiny", tmp_path / "catalogue.json")
    return fetch(offer, tmp_path / "models", base_url=hub.url)


def names(tmp_path: Path) -> list[str]:
    """Names of all files in the models folder."""
    return sorted(path.name for path in (tmp_path / "models").rglob("*") if path.is_file())


def test_a_fetched_model_runs_as_pinned(tmp_path: Path, hub: Hub) -> None:
    """Graph and tokeniser, nothing else, are downloaded; the manifest says where they are from."""
    entry = fetched(tmp_path, hub)

    assert BiEncoder.load(tmp_path / "models").model_id == entry.model_id
    assert (entry.output, entry.pooling) == ("last_hidden_state", "mean")
    assert (entry.query_prefix, entry.memory_prefix) == ("query : ", "passage : ")
    assert hub.asked == [(GRAPH, None), ("tokenizer.json", None)]
    assert names(tmp_path) == ["manifest.json", "model.onnx", "tokenizer.json"]
    (record,) = json.loads((tmp_path / "models" / "manifest.json").read_text())["models"]
    assert record["source"]["repo"] == "somebody/tiny"


def test_what_is_there_is_not_fetched_again(tmp_path: Path, hub: Hub) -> None:
    """The second time nothing is asked for, and the model is the same."""
    first = fetched(tmp_path, hub)
    hub.asked.clear()

    assert fetched(tmp_path, hub) == first
    assert hub.asked == []


def test_progress_ends_at_the_whole(tmp_path: Path, hub: Hub) -> None:
    """The bytes of each file grow to its size."""
    seen: dict[str, list[tuple[int, int]]] = {}
    offer = find_offer("tiny", tmp_path / "catalogue.json")
    fetch(
        offer, tmp_path / "models", base_url=hub.url,
        progress=lambda name, done, total: seen.setdefault(name, []).append((done, total)),
    )  # fmt: skip

    assert {name: steps[-1][0] for name, steps in seen.items()} == {
        name: file.n_bytes for name, file in offer.files.items()
    }


def test_a_broken_download_goes_on_where_it_stopped(tmp_path: Path, hub: Hub) -> None:
    """After 100 bytes the line is cut: a part stays, no manifest; then the rest is asked for."""
    hub.cut = 100
    with pytest.raises(ModelError, match=r"interrupted at 100 of [\d,]+ bytes; fetch again"):
        fetched(tmp_path, hub)
    assert names(tmp_path) == ["model.onnx.part"]

    hub.cut = None
    fetched(tmp_path, hub)

    assert hub.asked[:2] == [(GRAPH, None), (GRAPH, "bytes=100-")]
    assert names(tmp_path) == ["manifest.json", "model.onnx", "tokenizer.json"]


def test_a_hub_without_ranges_is_asked_for_all_of_it(tmp_path: Path, hub: Hub) -> None:
    """Where a part cannot be asked for, the part that is here is not put before the whole."""
    hub.ranges, hub.cut = False, 100
    with pytest.raises(ModelError, match="interrupted"):
        fetched(tmp_path, hub)

    hub.cut = None
    fetched(tmp_path, hub)

    assert hub.asked[1] == (GRAPH, "bytes=100-")


def test_a_tampered_file_is_removed(tmp_path: Path, hub: Hub) -> None:
    """One changed bit: the error says both hashes, nothing of the file stays, nothing is in use."""
    content = bytearray(hub.files[GRAPH])
    content[50] ^= 1
    pinned = find_offer("tiny", tmp_path / "catalogue.json").sha256
    hub.files[GRAPH] = bytes(content)

    with pytest.raises(ModelError, match=rf"with sha256 \w{{64}}, expected .*{pinned}; removed"):
        fetched(tmp_path, hub)

    assert names(tmp_path) == []


def test_a_file_that_is_too_long_is_removed(tmp_path: Path, hub: Hub) -> None:
    """Of a file that goes on and on, one byte more than pinned is written, and then none."""
    hub.files[GRAPH] += b"\0" * 5_000_000

    with pytest.raises(ModelError, match=r"more than [\d,]+ bytes .* removed"):
        fetched(tmp_path, hub)

    assert names(tmp_path) == []


def test_a_part_of_something_else_is_found_out(tmp_path: Path, hub: Hub) -> None:
    """A part that is no beginning of the file ends in another hash, and the next try is clean."""
    hub.cut = 100
    with pytest.raises(ModelError, match="interrupted"):
        fetched(tmp_path, hub)
    (part,) = (tmp_path / "models").rglob("*.part")
    part.write_bytes(b"\0" * 100)
    hub.cut = None

    with pytest.raises(ModelError, match="removed"):
        fetched(tmp_path, hub)
    fetched(tmp_path, hub)

    assert names(tmp_path) == ["manifest.json", "model.onnx", "tokenizer.json"]


def test_a_shorter_file_at_the_hub_is_requested_again(tmp_path: Path, hub: Hub) -> None:
    """416: the part lies beyond what the hub has, so it is no part of it."""
    hub.cut = 100
    with pytest.raises(ModelError, match="interrupted"):
        fetched(tmp_path, hub)
    hub.cut, hub.files[GRAPH] = None, b"gone"

    with pytest.raises(ModelError, match="interrupted at 4 of"):
        fetched(tmp_path, hub)

    assert hub.asked[1:] == [(GRAPH, "bytes=100-"), (GRAPH, None)]


def test_a_failed_fetch_leaves_the_model_in_use(tmp_path: Path, hub: Hub) -> None:
    """A new version that does not arrive changes nothing about the one that is there."""
    first = fetched(tmp_path, hub)
    files = hub.files | {GRAPH: hub.files[GRAPH] + b"\x82\x01\x00"}
    write_catalogue(tmp_path / "catalogue.json", files)

    with pytest.raises(ModelError):
        fetched(tmp_path, hub)

    assert BiEncoder.load(tmp_path / "models").model_id == first.model_id


def test_a_graph_that_does_not_run_never_gets_into_use(tmp_path: Path, hub: Hub) -> None:
    """What was pinned arrived, and is no model: the manifest stays as it was."""
    hub.files[GRAPH] = b"a poem"
    write_catalogue(tmp_path / "catalogue.json", hub.files)

    with pytest.raises(ModelError, match=r"model\.onnx: "):
        fetched(tmp_path, hub)

    assert not (tmp_path / "models" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("base_url", "message"),
    [
        ("file:///tmp", "expected one of http or https"),
        ("hub.example", "expected one of http or https"),
        ("http://127.0.0.1:9", "0 of [0-9,]+ bytes are here"),
    ],
)
def test_a_hub_that_cannot_be_asked_is_one_clear_error(
    tmp_path: Path, hub: Hub, base_url: str, message: str
) -> None:
    """A local file is no hub, and a closed door is no traceback."""
    hub.url = base_url

    with pytest.raises(ModelError, match=message):
        fetched(tmp_path, hub)


def test_a_file_the_hub_does_not_have_is_named(tmp_path: Path, hub: Hub) -> None:
    """404 with the whole address."""
    del hub.files["tokenizer.json"]

    with pytest.raises(ModelError, match=r"tokenizer\.json: HTTP 404"):
        fetched(tmp_path, hub)


def test_a_proxy_of_the_environment_is_used(
    tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hub of an unknown name is reached by the proxy that http_proxy names."""
    monkeypatch.setenv("http_proxy", hub.url)
    monkeypatch.setenv("no_proxy", "")
    hub.url = "http://hub.invalid"

    assert fetched(tmp_path, hub).name == "tiny"


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_however_often_it_breaks_the_file_is_the_pinned_one(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Cut anywhere, with ranges or without, any number of times: whole and right, or not there."""
    content = data.draw(st.binary(min_size=1, max_size=64))
    folder = tmp_path_factory.mktemp("download")
    (folder / "pinned").write_bytes(content)
    file = RemoteFile(
        path=PurePosixPath("f"), sha256=sha256_of(folder / "pinned"), n_bytes=len(content)
    )
    with pytest.MonkeyPatch.context() as patch, serve({"f": content}) as hub:
        patch.setenv("no_proxy", "127.0.0.1")
        url = f"{hub.url}/{REPO}/resolve/{REVISION}/f"
        for _ in range(data.draw(st.integers(0, 3))):
            hub.cut, hub.ranges = data.draw(st.integers(0, 63)), data.draw(st.booleans())
            hub.files["f"] = data.draw(st.sampled_from([content, content, content[::-1]]))
            try:
                download(url, file, folder / "f")
            except ModelError:
                assert not (folder / "f").exists()
        hub.cut, hub.files["f"] = None, content
        for _ in range(2):  # a part of the reversed content costs one more try
            try:
                download(url, file, folder / "f")
            except ModelError:
                assert not (folder / "f").exists()

    assert (folder / "f").read_bytes() == content
    assert not (folder / "f.part").exists()


def test_only_fetching_loads_what_speaks_to_a_network(tmp_path: Path) -> None:
    """Listing, importing, verifying and recalling load neither the download nor urllib.request."""
    program = """
import sys
from pathlib import Path, PurePosixPath
from family_recall.encoders.manifest import read_manifest
from family_recall.encoders.transformer import BiEncoder
from family_recall.encoders.catalogue import read_catalogue
from family_recall.encoders.install import check
from family_recall.encoders.sentence_transformers import import_model
source, folder = map(Path, sys.argv[1:])
entry = import_model(source, folder)
read_catalogue(), check(entry), BiEncoder.load(folder).encode_question("tea")
print([name for name in sys.modules if name in
       ("urllib.request", "http.client", "ssl", "family_recall.encoders.download")])
"""
    source = save_folder(tmp_path / "tiny")
    args = [sys.executable, "-c", program, str(source), str(tmp_path / "models")]
    ran = subprocess.run(args, capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "[]"

"""Downloads from servers on this machine: dead, lying, slow and broken ones, and a fetch that is killed."""

import gzip
import hashlib
import io
import os
import struct
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clusterproof.commands.application import main
from clusterproof.neural.data.catalogue import DATASETS, READERS, Dataset, read_idx
from clusterproof.neural.data.images import Images, ImageSet
from clusterproof.neural.data.loading import load
from clusterproof.neural.data.published import Archive, PublishedFile

PIXELS = np.random.default_rng(3).integers(0, 256, (6, 5, 5), dtype=np.uint8)
LABELS = np.arange(6, dtype=np.uint8)


def idx(values: np.ndarray) -> bytes:
    header = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    return gzip.compress(header + values.tobytes(), mtime=0)


FILES = {"pixels.gz": idx(PIXELS), "labels.gz": idx(LABELS)}


def read(contents: Mapping[str, bytes]) -> ImageSet:
    pixels = read_idx(contents["pixels.gz"], PIXELS.shape)
    labels = read_idx(contents["labels.gz"], LABELS.shape).astype(np.int64)
    images = Images(pixels[:, None], labels, 10)
    return ImageSet("mnist", images, images)


class Server:
    """Answers each path as it was told; counts the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.requests: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests.append(self.path)
                outer.answers.get(self.path, lambda handler: handler.send_error(404))(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def give(self, path: str, content: bytes, *, claim: int | str | None = None, **headers: str) -> None:
        """Answer with content; ``claim`` is the length that is announced."""

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(content) if claim is None else claim))
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            handler.wfile.write(content)

        self.answers[path] = answer


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.server.shutdown()
    running.server.server_close()
    running.thread.join()


def published(name: str, *urls: str) -> PublishedFile:
    return PublishedFile(name, hashlib.sha256(FILES[name]).hexdigest(), urls)


def install(
    monkeypatch: pytest.MonkeyPatch, *mirrors: str, archive: Archive | None = None, optional: str = ""
) -> Dataset:
    """Put a small set with two files in the place of MNIST."""
    files = tuple(published(name, *(f"{mirror}/{name}" for mirror in mirrors)) for name in FILES)
    dataset = replace(
        DATASETS["mnist"],
        files=files,
        archive=archive,
        optional=frozenset([optional] if optional else []),
    )
    monkeypatch.setitem(DATASETS, "mnist", dataset)
    monkeypatch.setitem(READERS, "mnist", read)
    return dataset


def fetched(folder: Path) -> int:
    return main(["data", "fetch", "mnist", "--data-dir", str(folder)])


def here(folder: Path) -> list[str]:
    return sorted(os.listdir(folder / "mnist"))


def test_a_fetched_set_can_be_loaded_and_is_not_fetched_again(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, server.url)
    for name, content in FILES.items():
        server.give(f"/{name}", content)
    assert fetched(tmp_path / "new" / "folder") == 0
    assert here(tmp_path / "new" / "folder") == sorted(FILES)
    assert np.array_equal(load("mnist", tmp_path / "new" / "folder").train.pixels[:, 0], PIXELS)
    output, errors = capsys.readouterr()
    assert errors == ""
    assert output.count("fetched from 127.0.0.1") == 2
    assert fetched(tmp_path / "new" / "folder") == 0
    assert len(server.requests) == 2
    assert capsys.readouterr().out.count("here, whole") == 2


def redirect(handler: BaseHTTPRequestHandler) -> None:
    """Redirect to the same address, for ever."""
    handler.send_response(302)
    handler.send_header("Location", handler.path)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


BAD: dict[str, Callable[[Server, str, bytes], Any]] = {
    "missing": lambda server, path, whole: None,
    "altered": lambda server, path, whole: server.give(path, whole[:-1] + bytes([whole[-1] ^ 1])),
    "cut off": lambda server, path, whole: server.give(path, whole[:40], claim=len(whole)),
    "not gzip": lambda server, path, whole: server.give(path, b"garbage", Content_Encoding="gzip"),
    "round and round": lambda server, path, whole: server.answers.update({path: redirect}),
    "not http": lambda server, path, whole: server.answers.update(
        {path: lambda to: to.wfile.write(b"\0\1\r\n")}
    ),
}


@pytest.mark.parametrize("kind", [*BAD, "dead", "no such host", "no such scheme"])
def test_a_bad_mirror_costs_nothing_but_the_try(
    kind: str,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    others = {
        "dead": "http://127.0.0.1:9",
        "no such host": "http://no-such-host.invalid",
        "no such scheme": "gopher://127.0.0.1",
    }
    bad = others.get(kind, server.url + "/bad")
    for name, content in FILES.items():
        server.give(f"/{name}", content)
        if kind in BAD:
            BAD[kind](server, f"/bad/{name}", content)
    install(monkeypatch, bad, server.url)
    assert fetched(tmp_path) == 0
    assert here(tmp_path) == sorted(FILES)
    assert {name: (tmp_path / "mnist" / name).read_bytes() for name in FILES} == FILES
    assert capsys.readouterr().err == ""
    # and where there is no other: one line, and nothing left behind
    install(monkeypatch, bad)
    assert fetched(tmp_path / "alone") == 1
    output, errors = capsys.readouterr()
    assert errors.count("\n") == 1
    assert errors.startswith("error: no mirror gave pixels.gz with SHA-256 ")
    assert "Traceback" not in output + errors
    assert len(errors) < 1000
    assert here(tmp_path / "alone") == []


def test_a_file_that_a_server_calls_encoded_arrives_as_it_is(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Some servers say Content-Encoding: gzip of a .gz file, unless asked to leave it."""
    install(monkeypatch, server.url)

    def answer(name: str) -> Callable[[BaseHTTPRequestHandler], None]:
        def respond(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            if "gzip" in handler.headers.get("Accept-Encoding", ""):
                handler.send_header("Content-Encoding", "gzip")
            handler.send_header("Content-Length", str(len(FILES[name])))
            handler.end_headers()
            handler.wfile.write(FILES[name])

        return respond

    for name in FILES:
        server.answers[f"/{name}"] = answer(name)
    assert fetched(tmp_path) == 0


def test_an_altered_file_is_replaced_and_a_whole_one_kept(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, server.url)
    server.give("/pixels.gz", FILES["pixels.gz"])
    folder = tmp_path / "mnist"
    folder.mkdir()
    (folder / "pixels.gz").write_bytes(b"altered")
    (folder / "labels.gz").write_bytes(FILES["labels.gz"])
    answers, server.answers = server.answers, {}
    assert fetched(tmp_path) == 1  # a fetch that fails keeps the file
    assert (folder / "pixels.gz").read_bytes() == b"altered"
    assert "127.0.0.1" in capsys.readouterr().err
    server.answers = answers
    server.requests.clear()
    assert fetched(tmp_path) == 0
    assert server.requests == ["/pixels.gz"]
    assert (folder / "pixels.gz").read_bytes() == FILES["pixels.gz"]


def archived(kind: str) -> bytes:
    buffer = io.BytesIO()
    if kind == "tar":
        with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
            for name, content in FILES.items():
                entry = tarfile.TarInfo("inside/" + name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    else:
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in FILES.items():
                archive.writestr("inside/" + name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_files_are_taken_out_of_an_archive_that_is_then_removed(
    kind: str, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    content, name = archived(kind), f"all.{kind}"
    server.give("/all", content)
    archive = Archive(
        name,
        hashlib.sha256(content).hexdigest(),
        (server.url + "/nothing", server.url + "/all"),
        folder="inside/",
    )
    install(monkeypatch, archive=archive)
    assert fetched(tmp_path) == 0
    assert here(tmp_path) == sorted(FILES)
    # an archive that is there already is not fetched, and can be read as it is
    (tmp_path / "other" / "mnist").mkdir(parents=True)
    (tmp_path / "other" / "mnist" / name).write_bytes(content)
    assert np.array_equal(load("mnist", tmp_path / "other").train.pixels[:, 0], PIXELS)
    assert main(["data", "verify", "mnist", "--data-dir", str(tmp_path / "other")]) == 0
    server.requests.clear()
    assert fetched(tmp_path / "other") == 0
    assert server.requests == []
    assert here(tmp_path / "other") == sorted(FILES)
    # unless it is not whole
    (tmp_path / "third" / "mnist").mkdir(parents=True)
    (tmp_path / "third" / "mnist" / name).write_bytes(content[: len(content) // 2])
    assert fetched(tmp_path / "third") == 0
    assert here(tmp_path / "third") == sorted(FILES)

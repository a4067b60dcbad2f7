"""Pipes, devices, links, pickles, files of any size and depth: a command ends with one line, doing nothing."""

import ast
import hashlib
import io
import json
import os
import pickle
import shlex
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import ROOT, command, contents, refused

from clusterproof.commands.application import main
from clusterproof.common import InvalidArgument
from clusterproof.experiments.units import read
from clusterproof.files import ARRAYS, DEPTH, check_depth, parse_toml
from clusterproof.neural.checkpoint import stored_configuration
from clusterproof.neural.training import train

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes, links and devices of POSIX systems")
Capture = pytest.CaptureFixture[str]

SECONDS = 60
"""Time that a command is given: a thousandth of it is enough, but for imports."""
TRAIN = "train --clusters 2 --clients-per-cluster 2 --images 120 --threads 1 --rounds 2"
FILES = [
    *("check FILE.py", "show cfl-mgd/lemma-2 FILE.py", "claims FILE.py"),
    *("leaderboard fedavg --rounds 1 --module FILE.py", "leaderboard fedavg --rounds 1 --task FILE.py:task"),
    *("conform FILE.py:Mine --as fedavg", "run FILE.py:Mine", "run ifca --measure FILE.py:measure --out out"),
    *("sweep FILE.toml", "train --config FILE.toml --out out"),
    *(f"train --{kind} FILE.py:Mine --out out" for kind in ("data", "network", "algorithm")),
    *(
        "check cfl-mgd/lemma-2 --replay --evidence cfl-mgd.json",
        "check cfl-mgd/lemma-2 --evidence cfl-mgd.json",
    ),
]
"""Command lines, with the file that is handed in; evidence is the folder that it lies in."""
CLOSED = DEPTH + 400
"""Levels that the parsers of JSON accept."""
DEEP = {
    "json": [
        '{"a":' * 10**5,
        f'{{"evidence": [{{"claim": "cfl-mgd/lemma-2", "instance": {"[" * CLOSED}{"]" * CLOSED}}}]}}',
    ],
    "toml": [
        "a = " + "[" * 10**5,
        f"[network]\nhidden = {'[' * 2 * DEPTH}{']' * 2 * DEPTH}\n",
        ".".join(["a"] * 10**5) + " = 1\n",  # which tomllib would take minutes for
        "[" + " . ".join(['"a\\"."', "'b.'"] * 10**5) + "]\n",
    ],
    "py": [],
}


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    def ring(*_: object) -> None:
        pytest.fail(f"not ended after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(path: Path, kind: str) -> None:
    """Put a pipe that nobody writes into, a device without an end, or a file of 64 GiB and a byte."""
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with open(path, "wb") as file:
            file.truncate(ARRAYS + 1)  # a hole: nothing of it is on disk


class Trace:
    """Makes a folder, ``executed``, when it is unpickled."""

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, ("executed",)


def pickles() -> Iterator[bytes]:
    """Yield a pickle, and an npz archive whose arrays hold it."""
    yield pickle.dumps(Trace())
    content, array = io.BytesIO(), np.array([Trace()], dtype=object)
    np.savez(content, models=array, assignments=array, step_size=array)
    yield content.getvalue()


def test_the_pickles_here_do_leave_a_trace() -> None:
    for content in pickles():
        np.load(io.BytesIO(content), allow_pickle=True)["models"] if content[:2] == b"PK" else pickle.loads(
            content
        )
        Path("executed").rmdir()


@pytest.mark.parametrize("line", FILES)
def test_a_file_that_does_not_end_is_deep_or_a_pickle_is_one_line(
    folder: Path, capsys: Capture, line: str
) -> None:
    (word,) = (word for word in line.split() if "FILE" in word or word.endswith(".json"))
    path = folder / word.partition(":")[0]
    words = shlex.split(line.replace(" cfl-mgd.json", " ."))
    for kind in ("pipe", "device", "large"):
        put(path, kind)
        message = refused(capsys, *words)
        assert ("larger than the" if kind == "large" else "not a regular file") in message
    path.unlink()
    for content in [*(text.encode() for text in DEEP[path.suffix[1:]]), *pickles()]:
        path.write_bytes(content)
        refused(capsys, *words)
    assert not {"out", "executed"} & {*os.listdir()}


# ---- stored runs


NETWORK = """
import math
from torch.nn import Flatten, Linear, Sequential
from parts.sizes import HIDDEN

def net(sample_shape, classes):
    return Sequential(Flatten(), Linear(math.prod(sample_shape), HIDDEN), Linear(HIDDEN, classes))
"""
STORED = {
    "training": (
        f"{TRAIN} --checkpoint-every 1 --client-metrics --network mine.py:net",
        "train --resume way/training --network mine.py:net --rounds 3",
    ),
    "trace": (
        "run cfl-mgd --clients 4 --dimension 2 --rounds 2 --record buffers",
        "check cfl-mgd/theorem-d --trace way/trace",
    ),
}
"""What stores a run in a folder, and what reads it, over a link: the run's own folder may lie below one."""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with user code, and with a run of either kind in the folder ``there``."""
    place = tmp_path_factory.mktemp("stored")
    (place / "parts").mkdir()
    (place / "parts/sizes.py").write_text("HIDDEN = 4\n")
    (place / "mine.py").write_text(NETWORK)
    (place / "way").symlink_to("there")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(place)
        for name, (line, _) in STORED.items():
            assert main([*line.split(), "--out", f"there/{name}"]) == 0
    return place


def nested(levels: int) -> Any:
    inner: Any = 0
    for _ in range(levels):
        inner = [inner]
    return inner


def with_sum(record: dict[str, Any]) -> bytes:
    """A record of a run that vouches for what is written in it."""
    record.pop("sha256", None)
    content = json.dumps(record, sort_keys=True).encode()
    return json.dumps({**record, "sha256": hashlib.sha256(content).hexdigest()}).encode()


def spoiled(path: Path, aside: Path) -> Iterator[str | None]:
    """Put something hostile in the place of a file, and yield what the refusal says of it."""
    shutil.move(path, aside)
    path.symlink_to(aside)
    yield f"/{path.name}', but it must be a regular file or a folder"
    put(path, "pipe")
    yield f"/{path.name}', but it must be a regular file or a folder"
    if path.suffix in (".json", ".parquet", ".safetensors"):
        put(path, "large")
        yield None
        path.unlink()
        record = path.with_name("run.json")
        for content in pickles():
            path.write_bytes(content)
            if path.suffix == ".parquet" and record.exists():  # which says that the file is what it was
                before = record.read_bytes()
                read = json.loads(before)
                read["files"][path.name] = hashlib.sha256(content).hexdigest()
                record.write_bytes(with_sum(read))
                yield None
                record.write_bytes(before)
            else:
                yield path.name if path.name != "run.json" else None
        if path.suffix == ".json":
            deep = json.loads(aside.read_bytes())
            if path.name == "run.json":
                deep["settings"]["task"]["labels"] = nested(CLOSED)
            path.write_bytes(
                with_sum(deep)
                if path.name == "run.json"
                else json.dumps(deep | {"network": {"hidden": nested(CLOSED)}}).encode()
            )
            yield None
    path.unlink(missing_ok=True)
    shutil.move(aside, path)


@pytest.mark.parametrize("name", STORED)
def test_a_stored_run_with_a_hostile_file_is_neither_read_nor_written(
    stored: Path, folder: Path, capsys: Capture, name: str
) -> None:
    shutil.copytree(stored, folder, symlinks=True, dirs_exist_ok=True)
    run, line = folder / "there" / name, shlex.split(STORED[name][1])
    files = [path for path in run.rglob("*") if path.is_file()]
    kinds = {path.suffix or path.name for path in files}
    assert kinds == (
        {".lock", ".json", ".safetensors", ".parquet"} if name == "training" else {".json", ".parquet"}
    )
    for path in files:
        for words in spoiled(path, folder / "aside"):
            before = contents(folder)
            message = refused(capsys, *line)
            assert words is None or words in message, (path, message)
            assert contents(folder) == before, path
    assert main(line) == 0
    if name == "training":
        configuration = stored_configuration(run, code={"network": "mine.py:net"})
        (run / "metrics.parquet").rename(folder / "aside")
        (run / "metrics.parquet").symlink_to(folder / "aside")
        with pytest.raises(InvalidArgument, match="must be a regular file or a folder"):
            train(configuration, out="way/training", resume=True)


def links(folder: Path, aside: Path) -> Iterator[Path]:
    """Put a link, and then a pipe, in the place of each file and folder of a folder; yield the place."""
    for path in sorted(folder.rglob("*")):
        shutil.move(path, aside)
        path.symlink_to(aside)
        yield path
        put(path, "pipe")
        yield path
        path.unlink()
        shutil.move(aside, path)


SWEEP = """
command = "train"
measure = ["accuracy"]
rounds = 1
[settings]
clusters = 2
clients_per_cluster = 2
images = 120
hidden = [4]
"""


@pytest.mark.parametrize(
    "line",
    [
        f"{TRAIN} --hidden 4 --out way",
        *(
            pytest.param(line, marks=pytest.mark.slow(reason="several seconds"))
            for line in (
                "table fpfc/table-1 --set rounds=1 --set clients=4 --set largest=20 --seeds 1 --jobs 1 --out way",
                "sweep sweep.toml --jobs 1 --out way",
            )
        ),
    ],
)
def test_a_store_with_a_link_is_neither_read_nor_written(folder: Path, capsys: Capture, line: str) -> None:
    """In the folder of a new run a lock and unfinished files may be."""
    (folder / "sweep.toml").write_text(SWEEP)
    (folder / "there").mkdir()
    (folder / "way").symlink_to("there")
    if line.startswith(TRAIN):
        for name in (".lock", ".clusterproof-1.partial"):
            (folder / "there" / name).write_text("")
    else:
        assert main(line.split()) == 0
    for path in links(folder / "there", folder / "aside"):
        before = contents(folder)
        assert f"/{path.name}', but it must be a regular file or a folder" in refused(capsys, *line.split())
        assert contents(folder) == before, path
    assert main(line.split()) == 0


# ---- other files that are read


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
def test_image_data_that_do_not_end_are_one_line(folder: Path, capsys: Capture, kind: str) -> None:
    (folder / "data" / "mnist").mkdir(parents=True)
    for half in ("train", "t10k"):
        for what in ("images-idx3", "labels-idx1"):
            put(folder / "data" / "mnist" / f"{half}-{what}-ubyte.gz", kind)
    message = refused(capsys, *f"{TRAIN} --data mnist --data-dir data --out out".split())
    assert "(cannot be read" in message
    assert not (folder / "out").exists()
    assert main(["data", "verify", "mnist", "--data-dir", "data"]) == 1  # which says it of each file
    output, errors = capsys.readouterr()
    assert output.count("cannot be read (") == 4
    assert errors.count("\n") == 1


@pytest.mark.parametrize("content", ["", '{"result":' * 10**5, json.dumps({"result": nested(CLOSED)})])
def test_a_stored_part_that_is_large_or_deep_is_computed_again(folder: Path, content: str) -> None:
    path = folder / "unit.json"
    path.write_text(content) if content else put(path, "large")
    assert read(path) is None


def test_the_depth_that_is_accepted() -> None:
    for levels in (1, DEPTH):
        assert check_depth(nested(levels)) == nested(levels)
    # the file's table is a level
    assert parse_toml(f"a = {nested(DEPTH - 1)}".encode()) == {"a": nested(DEPTH - 1)}
    parse_toml(b".".join([b"a"] * DEPTH) + b" = 1")
    for too_deep in (f"a = {nested(DEPTH)}", ".".join(["a"] * (DEPTH + 1)) + " = 1"):
        with pytest.raises(ValueError, match="nested more than"):
            parse_toml(too_deep.encode())
    with pytest.raises(ValueError, match="nested more than"):
        check_depth(nested(DEPTH + 1))


HALF = """
import sys

del sys.modules[__name__], sys.path[0]
import fractions

fractions.Fraction.__le__ = lambda self, other: True
sys.modules[__name__] = fractions
"""


def test_a_file_in_the_working_folder_replaces_no_module_of_python(tmp_path: Path) -> None:
    text = """def half(x):
    return at_most(x, Fraction(1, 2))


claim("a/half")
statement("", half, {"x": choice(Fraction(1, 2), Fraction(2, 3))}, {}, lines=("",), role="statement")
"""
    evidence = [{"claim": "a/half", "statement": "", "line": "", "rule": "exhausted"}]
    (tmp_path / "a.json").write_text(
        json.dumps({"texts": {"a/half": text}, "evidence": evidence, "verdicts": []})
    )
    (tmp_path / "fractions.py").write_text(HALF)
    done = command("check", "--replay", "--evidence", ".", cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})
    assert done.stdout.startswith("a/half  inconclusive")
    (tmp_path / "ast.py").write_text(Path(ast.__file__).read_text())  # loaded before the folder is left out
    done = command("check", "--replay", "--evidence", ".", cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stdout) == (1, "")
    assert "ast.py replaces a module of Python" in done.stderr

"""Nothing outside a folder: whatever file or folder of a run is a link, the run is neither read nor written."""

import os
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import refused

from clusterproof.algorithms import InvalidArgument
from clusterproof.commands.application import main
from clusterproof.neural.checkpoint import stored_configuration
from clusterproof.neural.training import train

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX systems")

NETWORK = """
import math
from torch.nn import Flatten, Linear, Sequential
from parts.sizes import HIDDEN

def net(sample_shape, classes):
    return Sequential(Flatten(), Linear(math.prod(sample_shape), HIDDEN), Linear(HIDDEN, classes))
"""
TRAIN = "train --clusters 2 --clients-per-cluster 2 --images 120 --threads 1 --rounds 2 --checkpoint-every 1"
EVERYTHING = f"{TRAIN} --client-metrics --network mine.py:net"
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


def contents(folder: Path) -> dict[str, bytes | str | None]:
    """Every path below a folder: where a link leads, the bytes of a file."""
    return {
        str(path): os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def replaced(folder: Path, outside: Path) -> Iterator[Path]:
    """Put a link, and then a pipe, in the place of each file and folder of a folder; yield the place."""
    names = sorted(path.relative_to(folder) for path in folder.rglob("*"))
    assert names
    for name in names:
        path = folder / name
        shutil.move(path, outside / "moved")
        path.symlink_to(outside / "moved")
        yield path
        path.unlink()
        os.mkfifo(path)
        yield path
        path.unlink()
        shutil.move(outside / "moved", path)


def check_each(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    folder: Path,
    command: str,
    more: Callable = lambda: None,
) -> None:
    """Require that a command refuses a folder in which anything is a link or a pipe, and touches nothing."""
    outside = tmp_path / "outside"
    outside.mkdir()
    for path in replaced(folder, outside):
        before = contents(tmp_path)
        message = refused(capsys, *shlex.split(command))
        assert f"/{path.name}': must be a regular file or a folder" in message
        more()
        assert contents(tmp_path) == before, path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow(reason="a second or more")
def test_a_training_run_with_a_link_is_not_resumed(
    here: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "sizes.py").write_text("HIDDEN = 4\n")
    (tmp_path / "mine.py").write_text(NETWORK)
    assert main([*EVERYTHING.split(), "--out", "there/run"]) == 0
    kinds = {path.suffix or path.name for path in (tmp_path / "there" / "run").rglob("*")}
    assert kinds == {".lock", ".json", ".safetensors", ".parquet"}
    # the run's own folder may be a link, and lie below one
    (tmp_path / "linked").symlink_to("there")
    (tmp_path / "linked" / "way").symlink_to("run")
    configuration = stored_configuration(tmp_path / "there" / "run", code={"network": "mine.py:net"})

    def by_function() -> None:
        with pytest.raises(InvalidArgument, match="must be a regular file or a folder"):
            train(configuration, out="linked/way", resume=True)

    resume = "train --resume linked/way --network mine.py:net --rounds 3"
    check_each(capsys, tmp_path, tmp_path / "there" / "run", resume, by_function)
    assert main(resume.split()) == 0


def test_a_new_run_does_not_begin_in_a_folder_with_a_link(
    here: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lock and unfinished files may be in it."""
    folder = tmp_path / "run"
    folder.mkdir()
    for name in (".lock", ".clusterproof-1.partial"):
        (folder / name).write_text("")
    check_each(capsys, tmp_path, folder, f"{TRAIN} --hidden 4 --out run")


@pytest.mark.slow(reason="a second or more")
def test_a_stored_trace_with_a_link_is_not_read(
    here: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = "run cfl-mgd --clients 4 --dimension 2 --rounds 2 --record buffers --out run"
    assert main(run.split()) == 0
    (tmp_path / "way").symlink_to("run")
    check_each(capsys, tmp_path, tmp_path / "run", "check cfl-mgd/theorem-d --trace way")
    assert main(["check", "--trace", "way"]) in (0, 3)


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    "command",
    [
        "table fpfc/table-1 --set rounds=1 --set clients=4 --set largest=20 --seeds 1 --jobs 1 --out way",
        "sweep sweep.toml --jobs 1 --out way",
        f"{TRAIN} --hidden 4 --seeds 2 --out way",
    ],
)
def test_a_store_with_a_link_is_neither_read_nor_written(
    here: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "there").mkdir()
    (tmp_path / "way").symlink_to("there")
    assert main(shlex.split(command)) == 0
    check_each(capsys, tmp_path, tmp_path / "there", command)
    assert main(shlex.split(command)) == 0

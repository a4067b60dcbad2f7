"""Files that appear whole or not at all, and what killed writers leave behind."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from clusterproof.common import InvalidArgument
from clusterproof.common.atomic import check_distinct, check_writable, remove_abandoned, write_whole

STOPPED = """
import os, signal, sys
from pathlib import Path
from clusterproof.common.atomic import write_whole
sys.addaudithook(lambda event, _: event == "os.rename" and os.kill(os.getpid(), signal.SIGKILL))
write_whole("out", Path(sys.argv[1]), b"half")
"""


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", STOPPED, str(tmp_path / "unit.json")])
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".partial")
    ours = tmp_path / f".clusterproof-{os.getpid()}-00000000.partial"
    earlier = tmp_path / ".clusterproof-0a1b2c3d.partial"
    for path in (ours, earlier, tmp_path / "a.partial"):
        path.touch()
    remove_abandoned(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([ours.name, "a.partial"])


def test_a_write_that_fails_keeps_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chmod(tmp_path, 0o755)
    with pytest.raises(InvalidArgument, match="must be a file that can be written"):
        write_whole("out", tmp_path / "file" / "below", b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InvalidArgument, match="must be a file that can be written"):
        check_writable("out", tmp_path / "loop")


def test_a_link_into_a_missing_folder_is_refused_before_the_computation_and_after(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "missing" / "file")
    with pytest.raises(InvalidArgument, match="must be a file that can be written"):
        check_writable("out", link)
    with pytest.raises(InvalidArgument, match="must be a file that can be written"):
        write_whole("out", link, b"new")


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX systems")
def test_a_reader_that_goes_away_is_no_wrong_argument(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = Thread(target=lambda: open(pipe, "rb").close())
    reader.start()
    with pytest.raises(BrokenPipeError):
        write_whole("out", pipe, bytes(2**20))  # more than a pipe holds
    reader.join()


def test_two_arguments_may_name_one_special_file_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    check_distinct(json=Path(os.devnull), plot=Path(os.devnull), out=None)
    check_distinct(json=tmp_path / "file", plot=tmp_path / "other")
    with pytest.raises(InvalidArgument, match=r"plot is .*link', but it must differ from --json"):
        check_distinct(json=tmp_path / "file", plot=tmp_path / "link")

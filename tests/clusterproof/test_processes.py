"""Killed, interrupted and starved processes cost no file and no finished work; terminals get styles and progress."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT, command
from small_training import configure, contents, rounds_kept

from clusterproof.algorithms import InvalidArgument
from clusterproof.neural.checkpoint import stored_configuration
from clusterproof.neural.training import train

pty = pytest.importorskip("pty", reason="POSIX only")

pytestmark = pytest.mark.slow(reason="starts and kills processes")

CLAIM = "cfl-mgd/lemma-2"
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "tests" / "helpers")}


def python(code: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    options = {"cwd": ROOT, "env": ENVIRONMENT, **options}
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, **options)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_leaves_nothing(tmp_path: Path, how: signal.Signals) -> None:
    """The signal comes from the fifth round, so that no clock decides."""
    code = (
        "import os, sys\n"
        "from clusterproof.algorithms import IFCA\n"
        "from clusterproof.commands.application import main\n"
        "original, calls = IFCA.step, []\n"
        "def step(*arguments):\n"
        "    calls.append(1)\n"
        f"    if len(calls) == 5: os.kill(os.getpid(), {int(how)})\n"
        "    return original(*arguments)\n"
        "IFCA.step = step\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    done = python(code, "run", "ifca", "--rounds", "50", "--out", str(tmp_path / "run"))
    assert done.returncode == (130 if how is signal.SIGINT else -signal.SIGKILL)
    assert done.stderr == ("clusterproof: interrupted\n" if how is signal.SIGINT else "")
    assert done.stdout == ""
    assert not (tmp_path / "run").exists()


def test_a_closed_pipe_is_quiet_and_costs_no_file(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "clusterproof", "check", CLAIM, "--json", str(tmp_path / "r.json")],
        cwd=ROOT,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")
    assert json.loads((tmp_path / "r.json").read_text())["claims"][0]["claim"] == CLAIM


def test_a_report_may_be_written_to_standard_output() -> None:
    done = command("check", CLAIM, "--json", "/dev/stdout")
    report, _ = json.JSONDecoder().raw_decode(done.stdout)
    assert (done.returncode, report["claims"][0]["claim"]) == (0, CLAIM)


def test_a_full_disk_under_parquet_costs_one_line_and_not_the_report(tmp_path: Path) -> None:
    """Polars writes the file itself, and raises a type of its own."""
    code = (
        "import resource, signal, sys\n"
        "from clusterproof.commands.application import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "sys.exit(main(['run', 'ifca', '--rounds', '100', '--out', 'run']))"
    )
    done = python(code, cwd=tmp_path)
    assert done.returncode == 2
    assert "Theorem D" in done.stdout
    assert re.fullmatch(
        r"clusterproof: (--)?out = .* must be a folder that can be written.*\n", done.stderr
    ), done.stderr
    assert list(tmp_path.iterdir()) == []


def read_terminal(*arguments: str, until: tuple[str, ...] = (), **environment: str) -> str:
    """Run on a pseudo-terminal of 80 columns and return what it shows, until some texts have been shown."""
    screen, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "clusterproof", *arguments],
        stdout=terminal,
        stderr=terminal,
        cwd=ROOT,
        env={**ENVIRONMENT, "COLUMNS": "80", "TERM": "xterm-256color", **environment},
    )
    os.close(terminal)
    shown = b""
    while not until or any(text.encode() not in shown for text in until):
        try:
            chunk = os.read(screen, 65536)
        except OSError:  # Linux: the other end was closed
            break
        if not chunk:
            break
        shown += chunk
    if until:
        process.kill()
    os.close(screen)
    assert process.wait() == (-signal.SIGKILL if until else 0)
    return shown.decode(errors="replace")


def test_a_terminal_gets_styles_and_eighty_columns() -> None:
    coloured = read_terminal("check", CLAIM)
    assert "\x1b[" in coloured
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", coloured)
    assert max(map(len, plain[plain.index(f"{CLAIM}  violated") :].splitlines())) <= 80
    assert CLAIM in plain
    assert not re.search(r"\x1b\[[0-9;]*m", read_terminal("check", CLAIM, NO_COLOR="1"))


def test_progress_is_shown_before_the_first_round_is_done() -> None:
    shown = read_terminal(
        "run", "ifca", "--rounds", "50", "--replicates", "2000", "--clients", "2000", until=("0/50", "ifca")
    )
    assert "1/50" not in shown


KILLED_AT_A_RENAME = """
import itertools, os, signal, sys
from small_training import configure
from clusterproof.neural.training import train
renames = itertools.count(1)
def watch(event, _):
    if event == "os.rename" and next(renames) == int(sys.argv[2]): os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
train(configure(rounds=4, checkpoint_every=1, engine="serial"), sys.argv[1], resume=True)
"""


def test_a_training_run_that_is_killed_twice_resumes_to_the_same_bits(tmp_path: Path) -> None:
    """At the first checkpoint's rename, and after the next one; other moments are in the tests of training."""
    alone, out = tmp_path / "alone", tmp_path / "killed"
    train(configure(rounds=4, checkpoint_every=1, engine="serial"), alone)
    for last, kept in (("3", 0), ("5", 1)):
        assert python(KILLED_AT_A_RENAME, str(out), last).returncode == -signal.SIGKILL
        assert rounds_kept(out) == kept
        assert list(out.glob("*.partial"))
    train(stored_configuration(out), out, resume=True)
    assert contents(alone) == contents(out)


def test_the_lock_of_a_training_run_dies_with_its_process(tmp_path: Path) -> None:
    out = tmp_path / "run"
    code = (
        "import sys, time\n"
        "from clusterproof.neural.checkpoint import run_folder\n"
        "with run_folder(sys.argv[1], resume=True):\n"
        "    print('held', flush=True)\n"
        "    time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(out)], stdout=subprocess.PIPE, cwd=ROOT) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(InvalidArgument, match="is in use by another run"):
            train(configure(rounds=1), out)
        holder.kill()
        holder.wait()
    assert train(configure(rounds=1), out).complete


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


SLEEPY = """
import os, time
from pathlib import Path
from typing import Annotated
from clusterproof.theorem import at_most, choice, claim
def sleep(number):
    Path(__file__).with_name(f"{os.getpid()}.pid").touch()
    time.sleep(600)
    return at_most(number, bound=1)
for name in "abcd":
    @claim(f"sleepy/{name}")
    def statement(number: Annotated[int, choice(1)]):
        "It sleeps."
        return sleep(number)
"""


def test_the_processes_of_a_killed_check_end_with_it(tmp_path: Path) -> None:
    (tmp_path / "sleepy.py").write_text(SLEEPY)
    checking = [sys.executable, "-m", "clusterproof", "check", str(tmp_path / "sleepy.py")]
    with subprocess.Popen(checking, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.DEVNULL) as killed:
        workers = wait_for(lambda: {int(path.stem) for path in tmp_path.glob("*.pid")})
        killed.kill()
    assert wait_for(lambda: not any(map(is_alive, workers)))


SLOW_SWEEP = """
measure = ["error"]
rounds = 100_000
seeds = 4
[grid]
algorithm = ["ifca"]
"""


@pytest.mark.skipif(
    not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="/proc lists no children"
)
def test_the_processes_of_a_sweep_that_is_killed_before_its_first_unit_end_with_it(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SLOW_SWEEP)
    sweep = [sys.executable, "-m", "clusterproof", "sweep", "sweep.toml", "--jobs", "2", "--out", "units"]
    with subprocess.Popen(sweep, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.DEVNULL) as killed:
        children = Path(f"/proc/{killed.pid}/task/{killed.pid}/children")
        assert wait_for(lambda: len(children.read_text().split()) >= 2)  # one cleans up after the others
        workers = [int(number) for number in children.read_text().split()]
        killed.kill()
    assert wait_for(lambda: not any(map(is_alive, workers)))
    assert not list((tmp_path / "units").glob("*.json"))


def wait_for(condition: Callable[[], Any]) -> Any:
    """Return the condition's value once it is true, or after a minute."""
    end = time.monotonic() + 60
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    return value

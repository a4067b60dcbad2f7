"""What surrounds a command: missing libraries, homes and folders, streams that fail, signals, terminals, full disks."""

import fcntl
import importlib.metadata
import itertools
import json
import os
import pwd
import re
import signal
import struct
import subprocess
import sys
import termios
import time
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT, make_claim, refused

from clusterproof.algorithms import IFCA
from clusterproof.commands.application import app, main
from clusterproof.common.validation import EXTRA_OF

pty = pytest.importorskip("pty", reason="POSIX only")
SLOW = pytest.mark.slow(reason="starts processes")
CLAIM = '''
from fractions import Fraction
from typing import Annotated
from clusterproof import at_most, claim, rationals

@claim("mine/a")
def a(step: Annotated[Fraction, rationals(0, 2, 2)]):
    """A step \N{GREEK SMALL LETTER ETA} does not lead away."""
    assert step < LIMIT, "too large"
    return at_most(abs(1 - step), one=1)
'''
SMALL = "train --data digits --clients-per-cluster 2 --hidden 4 --images 120"
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}:{ROOT / 'tests/helpers'}"}


def python(code: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    options = {"cwd": ROOT, "env": ENVIRONMENT, **options}
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, **options)


# ---- libraries

HEAVY = "numpy scipy torch matplotlib polars hypothesis cvxpy clarabel sklearn"
HEAVY += " clusterproof.theory clusterproof.algorithms clusterproof.synthetic"
LIGHT = (
    ("main(['--help'])", HEAVY),
    ("main(['--version'])", HEAVY),
    (
        "import clusterproof.theorem, clusterproof.neural as neural; neural.Partition, neural.configuration_from",
        "torch matplotlib clusterproof.theory",
    ),
    ("main(['check', '--replay', '--evidence', sys.argv[1]])", "cvxpy clarabel scipy torch matplotlib"),
    ("main(['run', '--help'])", "torch cvxpy matplotlib"),
    ("main(['train', '--help'])", "torch cvxpy matplotlib scipy.stats"),
    ("main(['table', '--help'])", "torch cvxpy matplotlib scipy.stats"),
    ("import clusterproof.figures", "torch cvxpy matplotlib"),
    ("from clusterproof.neural.data.loading import load; load('digits')", "sklearn"),
)
"""Statements of one process, in this order, and the modules that they must not import."""


@SLOW
def test_heavy_libraries_are_imported_only_where_they_are_needed(tmp_path: Path) -> None:
    kept = str(tmp_path / "kept")
    words = (
        "improve --algorithm cfl-mgd --momentum 0 --condition 4 --proportion 1/3 --class smooth --evidence"
    )
    assert main([*words.split(), kept]) == 0
    code = "import sys; from clusterproof.commands.application import main\n"
    for statement, modules in LIGHT:
        code += f"{statement}; found = sorted({set(modules.split())} & set(sys.modules))\n"
        code += f"assert not found, ({statement!r}, found)\n"
    done = python(f"import warnings; warnings.simplefilter('error')\n{code}", kept)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"(?m)^\d+\.\d+\.\d+$", done.stdout)
    assert "\nevidence for 3 lines: 3 certified\n" in done.stdout


HIDING = """
import json, sys
from importlib import metadata
from importlib.machinery import PathFinder
hidden = []
true, version = PathFinder.find_spec, metadata.version
PathFinder.find_spec = classmethod(
    lambda cls, full, *rest, **named: None if full.split(".")[0] in hidden else true(full, *rest, **named)
)

def found(name):
    if name in hidden:
        raise metadata.PackageNotFoundError(name)
    return version(name)

metadata.version = found
from clusterproof.commands.application import main
for hidden, line in json.loads(sys.argv[1]):
    for name in [name for name in sys.modules if name.split(".")[0] in hidden]:
        del sys.modules[name]
    print("status", main(line.split()), line, file=sys.stderr)
"""
NAMES = [
    name for name in app if not name.startswith("-") and name != "serve"
]  # whose options are its library's
WORKS = ["--help", *(f"{name} --help" for name in (*NAMES, "data list", "data fetch", "data verify"))]
WORKS += [
    "claims --paper ifca",
    "show cfl-mgd/theorem-1 --no-check",
    "run ifca --rounds 2",
    "data list",
]
WORKS += ["check baselines/fedavg", "figures"]
NEEDING = {
    "polars": "run ifca --rounds 2 --out stored",
    "sklearn": "run sofl",
    "numba": "run fpfc --clients 60 --dimension 100 --rounds 1",
    "joblib": "sweep s.toml --out so",
    "matplotlib": "figures error-per-round --out drawn",
    "pooch": "data fetch mnist",
    **dict.fromkeys(("torch", "safetensors"), f"{SMALL} --rounds 1 --out t"),
    "distributed": "sweep s.toml --out so --dask tcp://127.0.0.1:1",
    "mcp": "serve",
}
"""A command that needs each library."""


@SLOW
def test_commands_do_without_the_optional_libraries_and_name_one_with_its_extra(tmp_path: Path) -> None:
    """All of them are hidden at first, then each alone; matplotlib, the last one, refuses its environment."""
    (tmp_path / "s.toml").write_text('measure = ["error"]\nrounds = 2\n[grid]\nalgorithm = ["ifca"]\n')
    optional = [*EXTRA_OF, "dask_jobqueue", "marimo", "sphinx", "cvxpy"]
    lines = [(optional, line) for line in WORKS]
    lines += [([library], NEEDING[library]) for library in EXTRA_OF]
    lines += [([], "figures error-per-round --out drawn")]
    cache = {"XDG_CACHE_HOME": str(tmp_path), "CLUSTERPROOF_DATA": "", "MPLBACKEND": "nonexistent"}
    done = python(HIDING, json.dumps(lines), cwd=tmp_path, env=ENVIRONMENT | cache)
    printed = done.stderr.splitlines()
    assert printed[: len(WORKS)] == [f"status 0 {line}" for line in WORKS]
    messages, statuses = printed[len(WORKS) :: 2], printed[len(WORKS) + 1 :: 2]
    assert statuses == [f"status 2 {line}" for _, line in lines[len(WORKS) :]], done.stderr
    for library, message in zip(EXTRA_OF, messages[:-1], strict=True):
        assert library in message
        install = re.escape(f"pip install '.[{EXTRA_OF[library]}]' in the checkout")
        assert re.search(rf"[Ii]nstall the extra `\w+`: {install}", message)
    assert messages[-1].endswith("such as MPLBACKEND.")


@SLOW
def test_a_file_is_judged_with_the_required_libraries_alone(tmp_path: Path) -> None:
    """In all of its processes: the optional ones are files that cannot be imported."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    for library in EXTRA_OF:
        (hidden / f"{library}.py").write_text(f"raise ModuleNotFoundError('hidden', name={library!r})\n")
    claims = "from fractions import Fraction\nfrom clusterproof.theorem import Q, at_most, claim\n"
    for number in (3, 4):
        claims += f"\n@claim('mine/c{number}')\ndef c{number}(a: Fraction = Q[0:1]):\n"
        claims += f"    return at_most(a * {number}, right=a * 3)\n"
    (tmp_path / "mine.py").write_text(claims)
    path = os.pathsep.join([str(hidden), ENVIRONMENT["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "clusterproof", "check", "mine.py", "--search", "--json", "report.json"],
        cwd=tmp_path,
        env={**ENVIRONMENT, "PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "report.json").read_text())
    words = {verdict["claim"]: verdict["verdict"] for verdict in found["claims"]}
    assert words == {"mine/c3": "certified", "mine/c4": "violated"}


def test_an_import_that_fails_deep_inside_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no command has asked for the library beforehand."""

    def fail(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")

    monkeypatch.setattr("clusterproof.commands.check.chosen_of", fail)
    assert "pip install '.[neural]'" in refused(capsys, "check", "cfl-mgd/lemma-2")


def test_every_optional_library_has_its_extra() -> None:
    """The extra that is named installs the library, itself or by what it is made of."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {
        extra: {
            re.split(r"[>=<\[]", each)[0].lower() for each in needs if not each.startswith("clusterproof")
        }
        for extra, needs in project["optional-dependencies"].items()
        if extra not in ("test", "docs")  # no command uses their libraries
    }
    distributions = importlib.metadata.packages_distributions()
    made_of = {module: {name.lower() for name in distributions[module]} for module in EXTRA_OF}
    for module, extra in EXTRA_OF.items():
        assert made_of[module] & extras[extra], module
    assert set().union(*extras.values()) <= set().union(*made_of.values())


# ---- homes, folders, options of the interpreter


def test_without_a_home_directory_data_are_named_by_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a user without an entry and without variables, as with ``docker run --user 12345``."""

    def no_entry(user: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {user}")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pwd, "getpwuid", no_entry)
    for name in ("HOME", "XDG_CACHE_HOME", "CLUSTERPROOF_DATA", "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    assert main(["data", "list"]) == 0
    assert "set CLUSTERPROOF_DATA" in capsys.readouterr().out
    for line in ("train --data mnist --out t", "table gradient-loss/figures-4-and-5"):
        assert "set CLUSTERPROOF_DATA" in refused(capsys, *line.split()), line
    assert "Add --out FOLDER" in refused(capsys, "table", "fpfc/table-1")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [("tempfile.gettempdir", "set TMPDIR"), ("os.getcwd", "the working folder was deleted")],
)
def test_a_folder_that_is_missing_is_one_line(
    name: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none() -> str:
        raise FileNotFoundError(2, "No such directory")

    with monkeypatch.context() as patched:
        patched.setattr(name, none)
        assert words in refused(capsys, "claims")


@SLOW
def test_a_file_has_its_assertions_its_statement_and_the_options_of_the_interpreter(tmp_path: Path) -> None:
    """In the child that evaluates it."""
    flags = "import sys\nprint(sys.flags.optimize, sys.flags.dev_mode, sys.warnoptions, file=sys.stderr)\n"
    (tmp_path / "mine.py").write_text(flags + CLAIM.replace("LIMIT", "1"), encoding="utf-8")
    options = ["-OO", "-X", "dev", "-W", "ignore"]
    words = [sys.executable, *options, "-m", "clusterproof", "check", str(tmp_path / "mine.py")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    warning, shown, failure = done.stderr.splitlines()
    assert done.returncode == 1
    assert "python -OO removes assertions" in warning
    assert re.fullmatch(r"2 True \[.*'ignore'\]", shown)  # after what -X dev and the environment add
    assert "AssertionError: too large" in failure


# ---- standard output and terminals

PRINTING = [
    "--help",
    "check mine.py",
    "claims --paper ifca",
    "run ifca --rounds 2",
    "check mine.py --json /dev/stdout",
    "table",
    "figures",
]


@SLOW
@pytest.mark.filterwarnings("error")
def test_output_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], claims_of_files: None
) -> None:
    """To a full disk, to a pipe that nobody reads, and into a file whose encoding lacks the letter."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(CLAIM.replace("LIMIT", "9"), encoding="utf-8")
    for kind, line in itertools.product(("full", "pipe", "ascii"), PRINTING):
        reader, writer = os.pipe()
        os.close(reader)
        place = {"full": "/dev/full", "ascii": "output"}.get(kind, writer)
        kept, encoding, status = os.dup(1), "ascii" if kind == "ascii" else "utf-8", None
        with (
            open(place, "wb") as output,
            monkeypatch.context() as patched,
            suppress(OSError),  # when the stream is closed
            open(1, "w", encoding=encoding, closefd=False) as stream,
        ):
            os.dup2(output.fileno(), 1)
            patched.setattr(sys, "stdout", stream)
            status = main(line.split())
        os.dup2(kept, 1)
        os.close(kept)
        errors = re.sub(r"clusterproof: .* done, \d+ s.*\n", "", capfd.readouterr().err)  # of a slow machine
        if kind == "pipe":
            assert (status, errors) == (141, ""), line
        elif kind == "full" or "mine" in line or line == "table":  # which prints a plus-minus sign
            assert (status, errors.count("\n")) == (2, 1), (line, errors)
        else:
            assert (status, errors) == (0, ""), line


@SLOW
def test_the_end_of_the_process_adds_nothing(tmp_path: Path) -> None:
    """The interpreter flushes standard output once more when it exits, that of a child, too."""
    (tmp_path / "mine.py").write_text(CLAIM.replace("LIMIT", "9"), encoding="utf-8")
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "PYTHONUNBUFFERED"}
    for words, redirection, status in (
        ("--help", ">/dev/full", 2),
        ("check mine.py", ">/dev/full", 2),
        ("--help", ">&-", 2),
        ("--help", ">/dev/null 2>/dev/full", 0),
        ("check mine.py", ">/dev/null 2>&-", 0),
        ("--help", "| true", 0),
    ):
        line = ["sh", "-c", f"{sys.executable} -m clusterproof {words} {redirection}"]
        done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env=environment)
        assert (done.returncode, done.stderr.count("\n")) == (status, status // 2), (line, done.stderr)


def on_a_terminal(*arguments: str, columns: int = 80, until: tuple[str, ...] = (), **environment: str) -> str:
    """Run on a pseudo-terminal and return what it shows, until some texts have been shown."""
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    surroundings = {name: value for name, value in ENVIRONMENT.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        [sys.executable, "-m", "clusterproof", *arguments],
        **dict.fromkeys(("stdin", "stdout", "stderr"), terminal),
        cwd=ROOT,
        env={**surroundings, "TERM": "xterm-256color", **environment},
    )
    os.close(terminal)
    shown = b""
    while not until or any(text.encode() not in shown for text in until):
        try:
            chunk = os.read(screen, 65536)
        except OSError:  # Linux: the other end was closed
            break
        shown += chunk
        assert len(shown) < 10**6
    if until:
        process.kill()
    os.close(screen)
    assert process.wait(timeout=60) == (-signal.SIGKILL if until else 0)
    return shown.decode(errors="replace")


@SLOW
def test_a_terminal_gets_styles_its_columns_and_progress() -> None:
    claim = "cfl-mgd/lemma-2"
    coloured = on_a_terminal("check", claim)
    assert "\x1b[" in coloured
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", coloured)
    assert max(map(len, plain[plain.index(f"{claim}  violated") :].splitlines())) <= 80
    large = ["run", "ifca", "--rounds", "50", "--replicates", "2000", "--clients", "2000"]
    begun = on_a_terminal(*large, until=("0/50", "ifca"), NO_COLOR="1")
    assert "1/50" not in begun  # before the first round is done
    assert not re.search(r"\x1b\[[0-9;]*m", begun)
    for columns, environment in ((1, {}), (80, {"COLUMNS": "0"})):
        assert "--rounds" in on_a_terminal("run", "fpfc", "--help", columns=columns, **environment)


# ---- signals and full disks


def test_a_run_has_stored_nothing_before_its_end(
    tmp_path: Path, plant: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither when it is killed nor when it is interrupted: in its fifth round, so that no clock decides."""
    found: list[list[Path]] = []

    def step(*arguments: Any) -> Any:
        found.append(list(tmp_path.iterdir()))
        if len(found) == 5:
            signal.raise_signal(signal.SIGINT)
        return true(*arguments)

    true = plant(IFCA, "step", step)
    assert main(["run", "ifca", "--rounds", "50", "--out", str(tmp_path / "run")]) == 130
    assert capsys.readouterr() == ("", "clusterproof: interrupted\n")
    assert found == [[]] * 5
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow(reason="a second or more")
def test_a_full_disk_costs_neither_the_page_nor_what_was_there(
    registry: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.chdir(tmp_path)
    make_claim("p/one")
    run = "run fpfc --clients 8 --dimension 2 --rounds 3"
    assert main([*run.split(), "--plot", "run.png"]) == 0
    assert Path("run.png").read_bytes().startswith(b"\x89PNG")
    page = capsys.readouterr().out.removesuffix("drawn in run.png\n")
    for name in ("run.png", "run.csv", "report"):
        Path(name).write_text("old")
    monkeypatch.setattr(os, "replace", full_disk)
    monkeypatch.setattr(os, "rename", full_disk)
    for line in (
        "check p/one --json report",
        f"{run} --out run",
        f"{run} --csv run.csv",
        f"{run} --plot run.png",
    ):
        assert main(line.split()) == 2
        output, errors = capsys.readouterr()
        assert "No space left on device" in errors
        assert output == (page if line.startswith("run") else "")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        ("run.png", "run.csv", "report"), "old"
    )


SLEEPY = """
import os, time
from pathlib import Path
from typing import Annotated
from clusterproof.algorithms import IFCA
from clusterproof.common import InvalidArgument
from clusterproof.theorem import at_most, choice, claim
def sleep(*_):
    Path(__file__).with_name(f"{os.getpid()}.pid").touch()
    time.sleep(600)
    return at_most(1, bound=1)
for name in "abcd":
    @claim(f"sleepy/{name}")
    def statement(number: Annotated[int, choice(1)]):
        "It sleeps."
        return sleep(number)
class Sleepy(IFCA):
    step = sleep
"""
SWEEP = 'measure = ["error"]\nrounds = 1\nseeds = 4\n[grid]\nalgorithm = ["sleepy.py:Sleepy"]\n'


def wait_for(condition: Callable[[], Any]) -> Any:
    """Return the condition's value once it is true, or after a minute."""
    end = time.monotonic() + 60
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    return value


def is_alive(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@SLOW
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="/proc lists no processes")
@pytest.mark.parametrize(
    "line",
    [
        "check sleepy.py",
        "sweep sweep.toml --code sleepy.py:Sleepy --jobs 2 --out units",
    ],
)
def test_the_processes_of_a_killed_command_end_with_it(line: str, tmp_path: Path) -> None:
    (tmp_path / "sleepy.py").write_text(SLEEPY)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    words = [sys.executable, "-m", "clusterproof", *line.split()]
    with subprocess.Popen(words, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.DEVNULL) as killed:
        assert wait_for(lambda: list(tmp_path.glob("*.pid")))
        killed.kill()
    assert wait_for(lambda: not any(is_alive(int(path.stem)) for path in tmp_path.glob("*.pid")))

"""Every command that takes a user's file: whose modules it sees, that it is read again, and what its end costs."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from command_line import ROOT, refused

from clusterproof import check, load_claims, user_files
from clusterproof.checker import REGISTRY, find_claim
from clusterproof.checker.report.verdict import records
from clusterproof.commands import check as check_command
from clusterproof.commands import check_child, check_unit, child_process, terminal
from clusterproof.commands.application import main
from clusterproof.running.storage import load_trace
from clusterproof.user_files import load_file, sources_of, write_sources

FINDER = user_files._finder
HEAD = """
import os, signal, sys, time
from dataclasses import dataclass
from typing import Annotated
from clusterproof.algorithms import FedAvg
from clusterproof.conformance import DEFINITIONS
from clusterproof.theorem import Function, at_most, choice, claim, functions
from clusterproof.theory.leaderboard import leaderboard_bound
"""
MINE = f'''{HEAD}
import helper
from helper import NUMBER

@claim("PAPER/bound")
def bound(n: Annotated[int, choice(1, 2)]):
    """A number is at most what is beside."""
    from helper import NUMBER as again
    return at_most(n, beside=again)

@dataclass(frozen=True, kw_only=True)
class Mine(FedAvg):
    name = "mine"
    local_steps: int = helper.NUMBER

def measured(state, task):
    from helper import NUMBER as again
    return again

@leaderboard_bound("mine/number", algorithm="fedavg", client_class="strong")
def number(setting):
    from helper import NUMBER as again
    return 100 * NUMBER + again

class Start:
    def __init__(self, task, settings):
        from helper import NUMBER as again
        self.task, self.settings, self.model = task, settings, task.start.copy()
        self.factor = again * helper.NUMBER

    def round(self, participants):
        steps = [self.task.gradient(each, self.model) for each in participants]
        weights = [self.task.samples[each] for each in participants]
        mean = sum(w * g for w, g in zip(weights, steps)) / sum(weights)
        self.model = self.model - self.factor * self.settings["step_size"] * self.settings["server_step_size"] * mean
'''
DESCENT = '''
from typing import Annotated
from clusterproof.theorem import Function, at_most, claim, functions
from helper import NUMBER

@claim("PAPER/descent")
def descent(f: Annotated[Function, functions(smoothness=1)]):
    """A gradient step ends at a share of the squared distance."""
    x = f.start - f.gradient(f.start)
    return at_most(f(x) - f.minimum, bound=f.distance**2 / NUMBER)
'''


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folders one and two, and the working folder, which have helpers of one name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for folder, number in (("one", 1), ("two", 2), (".", 7)):
        Path(folder).mkdir(exist_ok=True)
        Path(folder, "helper.py").write_text(f"NUMBER = {number}\n")
    with patch.dict(REGISTRY), patch("os.cpu_count", lambda: 1):
        yield tmp_path
    sys.modules.pop("helper", None)


def write(text: str = MINE) -> list[str]:
    for folder in ("one", "two"):
        Path(folder, "mine.py").write_text(text.replace("PAPER", folder))
    return ["one/mine.py", "two/mine.py"]


# ---- its own neighbours

Capture = pytest.CaptureFixture[str]


def by_run(file: str, capsys: Capture) -> int:
    out = Path(file).parent / "trace"
    words = f"run {file}:Mine --task quadratic --clusters 1 --rounds 1 --measure {file}:measured --out {out}"
    assert main(words.split()) == 0
    trace = load_trace(out)
    assert trace.settings["algorithm"]["local_steps"] == trace.measured["measured"][-1]
    return int(trace.settings["algorithm"]["local_steps"])


def by_train(file: str, capsys: Capture) -> int:
    out = Path(file).parent / "run"
    words = f"train --algorithm {file}:Mine --images 120 --clusters 2 --clients-per-cluster 2 --hidden 4 --rounds 1"
    assert main([*words.split(), "--step-size", "0.1", "--out", str(out)]) == 0
    return int(json.loads((out / "configuration.json").read_text())["algorithm"]["local_steps"])


def by_sweep(file: str, capsys: Capture) -> int:
    """Return the number of local steps with which a sweep's error is that of its own."""
    settings = f'{{algorithm = "{file}:Mine", task = "quadratic", clusters = 2, step_size = 0.3}}'
    Path("sweep.toml").write_text(f'measure = ["error"]\nrounds = 2\nsettings = {settings}\n')
    tables = []
    for steps in ([], ["--set", "local_steps=1"], ["--set", "local_steps=2"]):
        assert (
            main(["sweep", "sweep.toml", *steps, "--code", f"{file}:Mine", "--out", "units", "--jobs", "1"])
            == 0
        )
        tables.append(capsys.readouterr().out.split("round\n")[1])
    assert tables[1] != tables[2]
    return tables[1:].index(tables[0]) + 1


def by_leaderboard(file: str, capsys: Capture) -> int:
    assert (
        main(f"leaderboard fedavg --rounds 1 --local-steps 1 --module {file} --json rows.json".split()) == 0
    )
    rows = json.loads(Path("rows.json").read_text())["rows"]
    (value,) = [row["value"] for row in rows if row["column"] == "mine/number"]
    assert value % 100 == value // 100
    return int(value // 100)


def by_conform(file: str, capsys: Capture) -> int:
    words = f"conform {file}:Start --as fedavg --set local_epochs=1 --supports participation,server-step"
    return 1 + main(words.split())  # the doubled step differs


def by_show(file: str, capsys: Capture) -> int:
    assert main(["show", f"{Path(file).parent}/bound", file]) == 0
    return 1 + ("consistent" in capsys.readouterr().out)


def by_check(file: str, capsys: Capture) -> int:
    """Judged beside the other file, whichever comes first, and stored with what it imports."""
    files = [file, f"{'two' if file.startswith('one') else 'one'}/mine.py"]
    assert main(["check", *files, "--json", "report.json"]) == 0
    report = json.loads(Path("report.json").read_text())
    assert all("helper.py" in report["sources"][each]["beside"] for each in files)
    verdicts = {each["claim"]: each["verdict"] for each in report["claims"]}
    assert verdicts == {"one/bound": "violated", "two/bound": "consistent"}
    return 1 + (verdicts[f"{Path(file).parent}/bound"] == "consistent")


COMMANDS = (by_run, by_train, by_sweep, by_leaderboard, by_conform, by_show, by_check)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_sees_its_own_neighbours(command: Callable[..., int], capsys: Capture) -> None:
    assert [command(file, capsys) for file in write()] == [1, 2]


def test_what_was_edited_is_read_again(capsys: Capture) -> None:
    """Also code that a neighbour imports: it belongs to what a run or a sweep has stored."""
    (file, _) = write()
    Path("one/helper.py").write_text("from deeper import NUMBER\n")
    for number, kind in ((1, "violated"), (2, "consistent"), (1, "violated")):
        Path("one/deeper.py").write_text(f"NUMBER = {number}\n")
        load_claims(file)
        assert check("one/bound").verdict == kind
    assert by_train(file, capsys) == by_sweep(file, capsys) == 1
    Path("one/deeper.py").write_text("NUMBER = 2\n")
    assert by_sweep(file, capsys) == 2
    message = refused(capsys, "train", "--resume", "one/run", "--algorithm", f"{file}:Mine")
    assert "is not the same code as when the run started: deeper.py changed" in message


def test_packages_and_extension_names_beside_a_file_are_its_own() -> None:
    """A package, a folder without __init__.py, relative imports, and names of the standard library."""
    texts = {
        "shapes/__init__.py": "from .flat import square\n",
        "shapes/flat/__init__.py": "from . import sizes\nfrom ..units import METRE\n",
        "shapes/flat/square.py": "from .sizes import SIDE\n",
        "shapes/flat/sizes.py": "from helper import NUMBER as SIDE\n",
        "shapes/units.py": "METRE = 1\n",
        "plain/part.py": "import mine\nVALUE = mine.EARLY\n",
        "queue.py": "MINE = True\n",
        "mine.py": "EARLY = 5\nimport shapes.flat.square as square, shapes.units, plain.part, json, queue, numpy\n"
        "found = square.SIDE, shapes.units.METRE, plain.part.VALUE, json.dumps(1), queue.MINE\n",
    }
    for name, text in texts.items():
        Path("one", name).parent.mkdir(parents=True, exist_ok=True)
        Path("one", name).write_text(text)
    Path("one/json").mkdir()  # no package: the standard library's is meant
    assert load_file("one/mine.py").found == (1, 1, 5, "1", True)
    assert {*sources_of("one/mine.py")} == {*texts, "helper.py"}
    import queue

    assert not hasattr(queue, "MINE")
    assert load_file("one/mine.py") is load_file("one/mine.py")


LOADED_TWICE = {
    "the working folder": (
        "import helper, importlib\nimportlib.import_module('setup')",
        "helper",
        "import NAME",
    ),
    "the name of the folder": ("import helper\nfrom one import setup", "one.helper", "import NAME"),
    "the name of the package": ("from . import helper\nimport one.setup", "one", "from . import NAME"),
}


@pytest.mark.parametrize("way", LOADED_TWICE)
def test_a_file_that_loads_a_neighbour_twice_is_refused_each_time(
    way: str, folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, copy, remedy = LOADED_TWICE[way]
    monkeypatch.syspath_prepend(str(folders / "one" if copy == "helper" else folders))
    own = "helper" if copy == "helper" else "one.helper"
    Path("one/setup.py").write_text(f"import {own}\n{own}.NUMBER = 5\n")
    if copy == "one":
        Path("one/__init__.py").write_text("")
    with patch.dict(sys.modules):
        before = {*sys.modules, "one"}  # a folder without __init__.py is no file
        for name in ("mine", "mine", "other"):
            Path(f"one/{name}.py").write_text(f"{text}\nfound = helper.NUMBER\n")
            with pytest.raises(
                ImportError, match=rf"\.py is loaded twice, as {copy} and as {name}_"
            ) as raised:
                load_file(f"one/{name}.py")
            assert f"write `{remedy}` for setup.py" in str(raised.value)
            assert {*sys.modules} <= before
        Path("one/setup.py").write_text("import helper\nhelper.NUMBER = 5\n")
        Path("one/mine.py").write_text("import helper, setup\nfound = helper.NUMBER\n")
        assert load_file("one/mine.py").found == 5


def test_a_neighbour_behind_a_link_is_not_loaded_twice(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(folders / "one"))
    Path("one/linked.py").symlink_to(folders / "two" / "helper.py")
    Path("one/mine.py").write_text("import importlib, linked\nimportlib.import_module('linked')\n")
    with pytest.raises(ImportError, match=r"linked\.py is loaded twice, as linked and as mine_"):
        load_file("one/mine.py")
    monkeypatch.delitem(sys.modules, "linked", raising=False)


def test_a_module_that_was_loaded_before_or_has_two_names_or_belongs_to_another_file_is_not_loaded_twice() -> (
    None
):
    import helper

    Path("other.py").write_text("import helper\n")
    Path("mine.py").write_text(
        "import helper, sys\nfrom clusterproof.user_files import load_file\n"
        "sys.modules['alias_of_helper'] = helper\nother = load_file('other.py')\n"
    )
    with patch.dict(sys.modules):
        mine = load_file("mine.py")
        assert sys.modules["alias_of_helper"] is mine.helper
        assert len({id(each) for each in (mine.helper, mine.other.helper, helper)}) == 3


class Pretended:
    __slots__ = ()
    __class__ = type(sys)


def test_an_object_in_the_place_of_a_module_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pretended", Pretended())
    Path("mine.py").write_text("VALUE = 1\n")
    assert load_file("mine.py").VALUE == 1


PACKAGE = {
    "__init__.py": "from . import conf\nconf.BOUND = 1\n",
    "conf.py": "BOUND = 3\n",
    "relative.py": "from .conf import BOUND\n",
    "absolute.py": "from conf import BOUND\n",
}


def test_a_file_with_relative_imports_is_one_of_its_package() -> None:
    for name, text in PACKAGE.items():
        Path("one", name).write_text(text)
    assert load_file("one/relative.py").BOUND == 1
    assert load_file("one/absolute.py").BOUND == 3
    assert [*sources_of("one/relative.py")] == ["relative.py", "__init__.py", "conf.py"]
    assert [*sources_of("one/absolute.py")] == ["absolute.py", "conf.py"]
    Path("one/__init__.py").write_text("from . import conf, relative\nconf.BOUND = 2\n")
    loaded = load_file("one/relative.py")
    assert loaded.BOUND == 3  # as Python's package, which imports the file before it sets the bound
    assert sys.modules[loaded.__package__].relative is loaded
    Path("one/__init__.py").write_text("from . import conf\nconf.BOUND = missing\n")
    before = {*sys.modules}
    with pytest.raises(NameError, match="missing"):
        load_file("one/relative.py")
    assert {*sys.modules} == before


@pytest.mark.parametrize("name", ["../x.py", "/x.py", "a/../../x.py", "C:x.py", "a\\b.py"])
def test_sources_are_written_below_their_folder_only(name: str, folders: Path) -> None:
    with pytest.raises(ValueError, match="no relative path"):
        write_sources(folders / "written", {"a.py": "", name: ""})


@pytest.mark.parametrize("order", [1, -1])
def test_id_and_file_are_given_in_any_order(order: int, capsys: Capture) -> None:
    """And what a command suggests names the file that it was given."""
    text = DESCENT.replace("PAPER", "mine")
    Path("my paper.py").write_text(text + text.replace("mine/descent", "mine/other"))
    names = ["mine/descent", "my paper.py"][::order]
    for command, status, words in (
        ("show", 0, "clusterproof check mine/descent 'my paper.py' --replay --evidence FOLDER"),
        ("check", 0, f"clusterproof check {shlex.join(names)} --verbose"),
    ):
        assert main([command, *names]) == status
        assert words in capsys.readouterr().out
    assert "clusterproof show mine/descent 'my paper.py'" in refused(capsys, "show", "my paper.py")
    assert main(["show", *names, "other"]) == 2
    assert main(["check", "mine", "my paper.py", "--verbose"]) == 0  # by the name of the paper
    assert "mine/descent" in capsys.readouterr().out


# ---- a file that ends the process, or raises what has no message

EVERY = (
    "check mine.py",
    "show mine/a mine.py",
    "claims mine.py",
    "conform mine.py:Mine --as scaffold",
    "export mine/a mine.py --out out",
    "leaderboard fedavg --module mine.py",
    "leaderboard fedavg --task mine.py:task",
    "run mine.py:Mine",
    "run ifca --measure mine.py:measure --out out",
    "sweep sweep.toml --code mine.py:Mine",
    "train --data mine.py:data --out out",
    "train --network mine.py:Net --out out",
    "train --algorithm mine.py:Mine --out out",
    "train --resume out --algorithm mine.py:Mine",
)
"""Command lines with a user's file."""
ENDING = f"""{HEAD}
class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no message")

def end():
    HOW

@claim("mine/a")
def a(n: Annotated[int, choice(0, 1)]):
    LATER
    return at_most(n, one=1)

class Mine(DEFINITIONS["scaffold"]):
    def round(self, participants):
        LATER
        super().round(participants)

IMPORT
"""
SWEEP = 'measure = ["error"]\nrounds = 1\nseeds = 1\n[grid]\nalgorithm = ["mine.py:Mine"]\n'


def ending(how: str, when: str) -> None:
    """Write a file whose code ends when it is imported or evaluated."""
    text = ENDING.replace("HOW", how)
    for each in ("import", "later"):
        text = text.replace(each.upper(), "end()" if each == when else "pass")
    Path("mine.py").write_text(text)


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start children here, too, as a command line does."""
    monkeypatch.setattr(child_process, "is_child", False)


def test_the_imports_of_a_file_list_each_folder_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    names = [f"inner.a{n}" for n in range(100)] + [f"b{n}" for n in range(100)]
    (tmp_path / "all.py").write_text(f"import {', '.join(names)}\n")
    for name in ("inner/__init__.py", "inner/a7.py", "b7.py"):
        (tmp_path / name).write_text("")
    folders = []
    monkeypatch.setattr(user_files, "_finder", lambda folder: folders.append(folder) or FINDER(folder))
    found = sources_of(tmp_path / "all.py")
    assert {*found} == {"all.py", "inner/__init__.py", "inner/a7.py", "b7.py"}
    assert sorted(folders) == [tmp_path, tmp_path / "inner"]


@pytest.mark.parametrize("when", ["import", "later"])
@pytest.mark.parametrize(
    ("how", "words"),
    [("sys.exit(0)", "SystemExit"), ("raise Silent", "Silent: its message raises RuntimeError")],
)
@pytest.mark.parametrize("line", ["check mine.py", "conform mine.py:Mine --as scaffold"])
def test_an_exception_that_would_pass_every_handler_is_one_line(
    line: str, how: str, words: str, when: str, capsys: Capture
) -> None:
    ending(how, when)
    assert main(line.split()) == (1 if line == "check mine.py" and when == "later" else 2)
    output, errors = capsys.readouterr()
    assert errors.count("\n") == 1, errors
    assert words in errors
    assert "a defect" not in errors
    assert ("1 claim: 1 failed" in output) == (line == "check mine.py" and when == "later")


SLOW = pytest.mark.slow(reason="starts a process")


BROKEN = """
import os, msgspec
from clusterproof.commands import check_child

def broken(order):
    raise Silent("lost")
    yield

class Silent(BaseException):
    pass

check_child._search = broken
order = check_child.Order([], ["mine.py"], None, False, 0, 1, None, False)
receiving, sending = os.pipe()
check_child.carry_out({"parent": os.getppid(), "pipe": sending, "order": msgspec.to_builtins(order)})
print(os.read(receiving, 10_000).decode())
"""


@SLOW
def test_an_error_in_a_child_is_a_message() -> None:
    ended = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True, timeout=100)
    assert ended.stderr == ""
    (kind, (argument, value, *_)), said = map(json.loads, ended.stdout.splitlines()[:2])
    assert (kind, argument, value, said) == ("refused", "file", "mine.py", ["said", []])
    assert "Silent: lost" in ended.stdout


@SLOW
@pytest.mark.parametrize("command", ["check mine.py", "show mine/a mine.py"])
def test_a_file_that_interrupts_its_loading_is_one_line(command: str) -> None:
    ending("raise KeyboardInterrupt", "import")
    words = [sys.executable, "-m", "clusterproof", *command.split()]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=100)
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr == "clusterproof: interrupted\n"


@SLOW
def test_a_claim_that_interrupts_the_check_is_no_success() -> None:
    ending("raise KeyboardInterrupt", "later")
    last = "@claim('mine/last')\ndef last(n: Annotated[int, choice(1)]):\n    return at_most(n, 0)\n"
    Path("mine.py").write_text(f"{Path('mine.py').read_text()}\n\n{HEAD}\n{last}")
    words = [sys.executable, "-m", "clusterproof", "check", "mine.py", "--fail-on", "violated"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=100)
    assert ended.returncode == 1
    assert "no verdict on 1 further claim: a claim raised KeyboardInterrupt" in ended.stderr


@pytest.mark.usefixtures("children")
@pytest.mark.parametrize("line", EVERY)
def test_every_command_leaves_a_file_to_a_child_whose_report_alone_is_success(
    line: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the place of the child is a process that ends before it has reported a status."""
    ending("open('run', 'w')", "import")
    Path("sweep.toml").write_text(SWEEP)
    popen = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda _, **named: popen([sys.executable, "-S", "-c", ""], **named)
    )
    errors = refused(capsys, *line.split())
    assert "mine.py" in errors
    assert "ended the process with exit status 0" in errors
    assert not Path("run").exists()


@SLOW
@pytest.mark.usefixtures("children")
def test_a_child_prints_what_the_command_prints_and_its_end_is_a_line(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch, folders: Path
) -> None:
    """Files in the working folder replace no module of the standard library."""
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each != str(folders)])
    for name in ("json", "random", "signal"):
        Path(f"{name}.py").write_text("raise RuntimeError\n")
    ending("print('here', file=sys.stderr)", "import")
    Path("mine.py").rename("one/mine.py")  # the file itself sees what is beside it
    assert main(["check", "one/mine.py"]) == 0
    output, errors = capfd.readouterr()
    assert errors == "here\n"
    assert "1 claim: 1 certified" in output
    for name in ("json", "random", "signal"):
        Path(f"{name}.py").unlink()
    for how, words in (
        ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
        ("os._exit(0)", "ended the process with exit status 0"),
    ):
        ending(how, "later")
        assert words in refused(capfd, "check", "mine.py")


@SLOW
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")
def test_an_interrupt_is_one_line_and_leaves_no_process() -> None:
    ending("open('begun', 'w').write(str(os.getpid())); time.sleep(600)", "later")
    words = [sys.executable, "-m", "clusterproof", "check", "mine.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        while not Path("begun").exists() or not Path("begun").read_text():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.communicate() == ("", "clusterproof: interrupted\n")
        assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(Path("begun").read_text()), 0)


@SLOW
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")
def test_a_child_that_refuses_a_file_is_ended_in_silence() -> None:
    """The parent ends it when it has read why: here, while it writes more than its pipe holds."""
    Path("mine.py").write_text("raise ValueError('x' * 100_000)")
    order = check_child.Order([], ["mine.py"], None, False, 0, 1, None, False)
    receiving, sending = os.pipe()
    whole = {"path": [str(ROOT), *sys.path], "parent": os.getpid(), "pipe": sending}
    words = [sys.executable, "-c", check_child.START, json.dumps(whole | {"order": vars(order)})]
    with (
        os.fdopen(receiving, "rb") as messages,
        subprocess.Popen(words, pass_fds=(sending,), stderr=subprocess.PIPE, text=True) as process,
    ):
        os.close(sending)
        messages.read(1)
        process.terminate()
        assert process.communicate()[1] == ""


@SLOW
def test_what_was_finished_before_a_worker_is_lost_is_no_failure_and_as_without_workers(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending("os._exit(1)", "later")
    waiting = f"while not os.path.exists({str(folders / 'finished')!r}): time.sleep(0.05)"
    text = Path("mine.py").read_text()
    Path("mine.py").write_text(text.replace("def end():\n", f"def end():\n    {waiting}\n"))
    terminal.load(["mine.py"])
    claims = [find_claim(name) for name in ("cfl-mgd/theorem-1-large-separation", "mine/a")]
    ((_, alone),) = check_unit.evaluate(claims[:1], [], range(3, 5))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(check_unit, "FEW", 2)
    found = []
    for index, answer in check_unit.evaluate(claims, ["mine.py"], range(3, 5)):
        found.append((index, answer[:20] if isinstance(answer, str) else records(answer)))
        Path("finished").touch()
    assert found == [(0, records(alone)), (1, "a process that ended")]


def test_verdicts_are_printed_where_the_file_has_replaced_standard_output(capsys: Capture) -> None:
    ending("sys.stdout = open(os.devnull, 'w')", "import")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", sys.stdout)  # restored at the end
        assert main(["check", "mine.py"]) == 0
    assert "1 claim: 1 certified" in capsys.readouterr().out


def test_json_on_standard_output_leaves_the_counts_to_standard_error(capsys: Capture) -> None:
    ending("pass", "later")
    assert main(["check", "mine.py", "--json", "-"]) == 0
    output, errors = capsys.readouterr()
    assert [verdict["claim"] for verdict in json.loads(output)["claims"]] == ["mine/a"]
    assert "1 claim: 1 certified" in errors
    assert "--json requires a file" in refused(capsys, "check", "mine.py", "--json", "--verbose")


def test_a_command_that_exits_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Wherever the exit comes from: of the plugins that a command imports, for example."""
    monkeypatch.setattr(check_command, "chosen_of", lambda *_: sys.exit(0))
    errors = refused(capsys, "check", "cfl-mgd/lemma-2")
    assert "test_user_files.py" in errors
    assert "remove sys.exit" in errors


ODD = """
import sys, types
import beside
from clusterproof.theorem import Z, at_most, claim

sys.modules[("a", "b")] = types.ModuleType("odd")
sys.modules[("a", "b")].__file__ = __file__


@claim("odd/one")
def one(n: int = Z[0:2]):
    return at_most(n, beside.MOST)


class Equal(str):
    def __eq__(self, other):
        return True
    __hash__ = str.__hash__


__name__ = Equal("other")
"""


def test_odd_names_and_an_odd_encoding_beside_a_file_end_no_check(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "beside.py").write_bytes("# -*- coding: latin-1 -*-\n# \u00e9\nMOST = 2\n".encode("latin-1"))
    (tmp_path / "odd.py").write_text(ODD)
    assert main(["check", str(tmp_path / "odd.py")]) == 0
    assert capsys.readouterr().out.startswith("odd/one")

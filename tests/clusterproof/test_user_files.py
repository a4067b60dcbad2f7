"""Every command that takes a user's file: it sees its own folder first, shares no module, and is read again."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clusterproof import check, load_claims
from clusterproof.algorithms.storage import load_trace
from clusterproof.commands.application import main
from clusterproof.theory import REGISTRY, certificates
from clusterproof.user_files import load_file, sources_of, write_sources

CLAIM = '''
from typing import Annotated
from clusterproof.theorem import at_most, choice, claim

@claim("{paper}/bound")
def bound(n: Annotated[int, choice(1, 2)]):
    """A number is at most what is beside."""
    from helper import NUMBER
    return at_most(n, beside=NUMBER)
'''
DESCENT = '''
from clusterproof.theorem import Function, at_most, claim, functions
from typing import Annotated
from helper import NUMBER

@claim("{paper}/descent")
def descent(f: Annotated[Function, functions(smoothness=1)]):
    """A gradient step ends at a share of the squared distance."""
    x = f.start - f.gradient(f.start)
    return at_most(f(x) - f.minimum, bound=f.distance**2 / NUMBER)
'''
ALGORITHM = """
from dataclasses import dataclass
from clusterproof.algorithms import FedAvg
import helper

@dataclass(frozen=True, kw_only=True)
class Mine(FedAvg):
    name = "mine"
    local_steps: int = helper.NUMBER

def measured(state, task):
    from helper import NUMBER
    return NUMBER
"""


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folders one and two, and the working folder, which have helpers of one name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for folder, number in (("one", 1), ("two", 2), (".", 7)):
        Path(folder).mkdir(exist_ok=True)
        Path(folder, "helper.py").write_text(f"NUMBER = {number}\n")
    before = dict(REGISTRY)
    yield tmp_path
    REGISTRY.clear()
    REGISTRY.update(before)
    sys.modules.pop("helper", None)


def write(text: str, name: str) -> list[str]:
    for folder in ("one", "two"):
        Path(folder, name).write_text(text.replace("{paper}", folder))
    return [f"{folder}/{name}" for folder in ("one", "two")]


@pytest.mark.parametrize("order", [1, -1])
def test_check_judges_each_file_with_its_own_neighbours(order: int) -> None:
    files = write(CLAIM, "claims.py")[::order]
    assert main(["check", *files, "--json", "report.json"]) == 0
    verdicts = {
        each["claim"]: each["verdict"] for each in json.loads(Path("report.json").read_text())["claims"]
    }
    assert verdicts == {"one/bound": "violated", "two/bound": "consistent"}


def test_a_report_holds_what_its_file_imports_from_beside_it() -> None:
    Path("one/claims.py").write_text(CLAIM.replace("{paper}", "one"))
    Path("one/both.py").write_text("import claims\n" + CLAIM.replace("{paper}", "both"))
    for files in (["one/both.py", "one/claims.py"], ["one/claims.py", "one/both.py"]):
        assert main(["check", *files, "--json", "report.json"]) == 0
        sources = json.loads(Path("report.json").read_text())["sources"]
        assert sources.keys() == set(files)
        assert all("helper.py" in source["beside"] for source in sources.values())


def test_show_shows_each_file(capsys: pytest.CaptureFixture[str]) -> None:
    files = write(CLAIM, "claims.py")
    for folder, file, kind in zip(("one", "two"), files, ("violated", "consistent"), strict=True):
        assert main(["show", f"{folder}/bound", file]) == 0
        assert kind in capsys.readouterr().out


def test_what_was_edited_is_read_again() -> None:
    (file, _) = write(CLAIM, "claims.py")
    for number, kind in ((1, "violated"), (2, "consistent"), (1, "violated")):
        Path("one/helper.py").write_text(f"NUMBER = {number}\n")
        load_claims(file)
        assert check("one/bound").verdict == kind


@pytest.mark.parametrize("order", [1, -1])
def test_a_certificate_holds_what_its_file_imports(
    order: int, capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    Path("two/helper.py").write_text("NUMBER = 3\n")
    files = dict(zip(("one", "two"), write(DESCENT, "claims.py"), strict=True))
    for folder in ("one", "two")[::order]:
        assert main(["certify", files[folder], "--out", f"{folder}.json"]) == 0
        Path(folder, "helper.py").unlink()
    for folder in ("one", "two")[::order]:
        assert main(["verify", f"{folder}.json"]) == 0, capsys.readouterr()
    forged = json.loads(Path("two.json").read_text())
    forged["beside"]["../helper.py"] = "NUMBER = 3\n"
    outcome = certificates.verify(forged)
    assert not outcome
    assert "no relative path" in outcome.condition


def run_algorithm(file: str, capsys: pytest.CaptureFixture[str]) -> int:
    out = Path(file).parent / "trace"
    arguments = ["run", f"{file}:Mine", "--task", "quadratic", "--clusters", "1", "--rounds", "1"]
    assert main([*arguments, "--measure", f"{file}:measured", "--out", str(out)]) == 0
    trace = load_trace(out)
    assert trace.settings["algorithm"]["local_steps"] == trace.measured["measured"][-1]
    return int(trace.settings["algorithm"]["local_steps"])


def train(file: str, capsys: pytest.CaptureFixture[str]) -> int:
    out = Path(file).parent / "run"
    short = [
        "--images",
        "120",
        "--clusters",
        "2",
        "--clients-per-cluster",
        "2",
        "--hidden",
        "4",
        "--rounds",
        "1",
    ]
    assert (
        main(["train", "--algorithm", f"{file}:Mine", *short, "--step-size", "0.1", "--out", str(out)]) == 0
    )
    return int(json.loads((out / "configuration.json").read_text())["algorithm"]["local_steps"])


def sweep(file: str, capsys: pytest.CaptureFixture[str]) -> int:
    """Return the number of local steps with which a sweep's error is that of its own."""
    text = f'''
measure = ["error"]
rounds = 2
settings = {{algorithm = "{file}:Mine", task = "quadratic", clusters = 2, step_size = 0.3}}
'''
    Path("sweep.toml").write_text(text)
    tables = []
    for steps in ([], ["--set", "local_steps=1"], ["--set", "local_steps=2"]):
        more = ["--code", f"{file}:Mine", "--out", "units", "--jobs", "1"]
        assert main(["sweep", "sweep.toml", *steps, *more]) == 0
        tables.append(capsys.readouterr().out.split("round\n")[1])
    assert tables[1] != tables[2]
    return tables[1:].index(tables[0]) + 1


@pytest.mark.parametrize("command", [run_algorithm, train, sweep])
def test_an_algorithm_is_run_with_its_own_neighbours(
    command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert [command(file, capsys) for file in write(ALGORITHM, "mine.py")] == [1, 2]


@pytest.mark.parametrize("command", [train, sweep])
def test_code_beside_a_file_belongs_to_what_is_stored(
    command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Also code that a neighbour imports."""
    (file, _) = write(ALGORITHM, "mine.py")
    Path("one/helper.py").write_text("from deeper import NUMBER\n")
    Path("one/deeper.py").write_text("NUMBER = 1\n")
    assert command(file, capsys) == 1
    Path("one/deeper.py").write_text("NUMBER = 2\n")
    if command is sweep:
        assert sweep(file, capsys) == 2
    else:
        assert main(["train", "--resume", "one/run", "--algorithm", f"{file}:Mine"]) == 2
        error = capsys.readouterr().err
        assert "is another code than when the run was begun: deeper.py changed" in error


BOUND = """
from helper import NUMBER
from clusterproof.theory.leaderboard import leaderboard_bound

@leaderboard_bound("mine/number", algorithm="fedavg", client_class="strong")
def number(setting):
    from helper import NUMBER as again
    return 100 * NUMBER + again
"""


def test_leaderboard_has_bounds_of_each_file(capsys: pytest.CaptureFixture[str]) -> None:
    setting = "--client-class strong --smoothness 1 --strong-convexity 0.1 --rounds 1 --step-size 1/4"
    for file, number in zip(write(BOUND, "bound.py"), (101, 202), strict=True):
        more = ["--local-steps", "1", "--module", file, "--json", "rows.json"]
        assert main(["leaderboard", "fedavg", *setting.split(" "), *more]) == 0
        rows = json.loads(Path("rows.json").read_text())["rows"]
        assert [row["value"] for row in rows if row["column"] == "mine/number"] == [number]


IMPLEMENTATION = """
import helper

class Start:
    def __init__(self, task, settings):
        from helper import NUMBER
        self.task, self.settings, self.model = task, settings, task.start.copy()
        self.factor = NUMBER * helper.NUMBER

    def round(self, participants):
        steps = [self.task.gradient(each, self.model) for each in participants]
        weights = [self.task.samples[each] for each in participants]
        mean = sum(w * g for w, g in zip(weights, steps)) / sum(weights)
        self.model = self.model - self.factor * self.settings["step_size"] * self.settings["server_step_size"] * mean
"""


def test_conform_holds_each_file_against_the_definition(capsys: pytest.CaptureFixture[str]) -> None:
    files = write(IMPLEMENTATION, "mine.py")
    fixed = ["--as", "fedavg", "--set", "local_epochs=1", "--supports", "participation,server-step"]
    assert [main(["conform", f"{file}:Start", *fixed]) for file in files] == [0, 1]


def test_packages_and_extension_names_beside_a_file_are_its_own(folders: Path) -> None:
    """A package, a folder without __init__.py, relative imports, and names of the standard library."""
    Path("one/shapes/flat").mkdir(parents=True)
    Path("one/shapes/__init__.py").write_text("from .flat import square\n")
    Path("one/shapes/flat/__init__.py").write_text("from . import sizes\nfrom ..units import METRE\n")
    Path("one/shapes/flat/square.py").write_text("from .sizes import SIDE\n")
    Path("one/shapes/flat/sizes.py").write_text("from helper import NUMBER as SIDE\n")
    Path("one/shapes/units.py").write_text("METRE = 1\n")
    Path("one/plain").mkdir()
    Path("one/plain/part.py").write_text("import mine\nVALUE = mine.EARLY\n")
    Path("one/json").mkdir()  # no package: the standard library's is meant
    Path("one/queue.py").write_text("MINE = True\n")
    Path("one/mine.py").write_text(
        "EARLY = 5\nimport shapes.flat.square as square, shapes.units, plain.part, json, queue, numpy\n"
        "found = square.SIDE, shapes.units.METRE, plain.part.VALUE, json.dumps(1), queue.MINE\n"
    )
    assert load_file("one/mine.py").found == (1, 1, 5, "1", True)
    names = {
        f"shapes/{name}.py" for name in ("__init__", "units", "flat/__init__", "flat/square", "flat/sizes")
    }
    assert {*sources_of("one/mine.py")} == {*names, "mine.py", "plain/part.py", "queue.py", "helper.py"}
    import queue

    assert not hasattr(queue, "MINE")
    assert load_file("one/mine.py") is load_file("one/mine.py")


@pytest.mark.parametrize("name", ["../x.py", "/tmp/x.py", "a/../../x.py", "C:x.py", "a\\b.py"])
def test_sources_are_written_below_their_folder_only(name: str, folders: Path) -> None:
    with pytest.raises(ValueError, match="no relative path"):
        write_sources(folders / "written", {"a.py": "", name: ""})


@pytest.mark.parametrize("order", [1, -1])
def test_id_and_file_are_given_in_any_order(order: int, capsys: pytest.CaptureFixture[str]) -> None:
    """And what a command suggests names the file that it was given."""
    Path("my paper.py").write_text(
        DESCENT.replace("{paper}", "mine") + DESCENT.replace("{paper}/", "mine/other-")
    )
    names = ["mine/descent", "my paper.py"][::order]
    assert main(["show", *names]) == 0
    shown = capsys.readouterr().out
    assert "mine/descent" in shown
    assert "clusterproof check mine/descent 'my paper.py' --replay --evidence FOLDER" in shown
    assert main(["certify", *names]) == 1
    assert "see `clusterproof check mine/descent 'my paper.py'`" in capsys.readouterr().out
    assert main(["check", *names]) == 0
    printed = capsys.readouterr().out
    assert "clusterproof show mine/descent 'my paper.py' " in printed
    given = shlex.join(names)
    assert f"clusterproof check {given} --verbose" in printed
    for command in ("certify", "show"):
        assert main([command, "my paper.py"]) == 2
        assert f"clusterproof {command} mine/descent 'my paper.py'" in capsys.readouterr().err
    assert main(["show", *names, "other"]) == 2


def test_a_paper_is_checked_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    write(CLAIM, "claims.py")
    for files in (["two/claims.py"], ["two/claims.py", "one/claims.py"]):
        assert main(["check", "two", *files, "--verbose"]) == 0
        assert "two/bound" in capsys.readouterr().out


def test_conform_says_what_to_add(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text("class MyFedProx:\n    pass\n")
    assert main(["conform", "mine.py"]) == 2
    assert "such as mine.py:MyFedProx" in capsys.readouterr().err
    assert main(["conform", "mine.py:MyFedProx"]) == 2
    assert "such as --as fedprox; --list prints all" in capsys.readouterr().err


def test_certify_has_the_class_of_the_leaderboard(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", "--algorithm", "fedavg", "--strong-convexity", "0.5", "--step-size", "1/2"]) == 0
    assert capsys.readouterr().out.startswith("class strong\n")

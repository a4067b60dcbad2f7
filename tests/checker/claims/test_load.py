"""Files and modules of claims: loaded, refused, or run as tests."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clusterproof import InvalidArgument, check, load_claims
from clusterproof.checker import REGISTRY, code_of
from clusterproof.commands.application import main
from clusterproof.theorem import parametrize_with_claims

FILE = """
from __future__ import annotations
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated
from clusterproof.theorem import Sides, at_most, claim, rationals

@dataclass(frozen=True)
class Place:
    step: Annotated[Fraction, rationals(0, 2, 2)]

@claim("{paper}/lemma")
def lemma(place: Place) -> Sides:
    "A step contracts."
    return at_most(abs(1 - place.step), half=Fraction(1, 2))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_a_file_is_loaded_and_its_counterexample_pasted(registry: dict[str, Any], folder: Path) -> None:
    (folder / "my_paper.py").write_text(FILE.format(paper="mine"))
    assert load_claims("my_paper.py") == ["mine/lemma"]
    assert load_claims(folder / "my_paper.py") == ["mine/lemma"]
    verdict = check("mine/lemma")
    assert verdict.counterexample == {"step": 0}
    code = code_of(verdict)
    assert code is not None
    registry.clear()
    exec(code, {})


def test_what_lies_beside_a_file_comes_first(
    registry: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "elsewhere").mkdir()
    monkeypatch.syspath_prepend(folder / "elsewhere")
    for place, half in (("elsewhere", 1), (".", 2)):
        (folder / place / "own_constants.py").write_text(f"HALF = {half}")
    text = FILE.format(paper="mine").rpartition("    return")[0].rstrip()
    text += "\n    from own_constants import HALF\n    return at_most(HALF, one=1)\n"
    for each in (text, text.replace("@dataclass", "from own_constants import HALF\n\n@dataclass")):
        (folder / "my_paper.py").write_text(each)
        load_claims("my_paper.py")
        assert check("mine/lemma").measured == 2
    assert importlib.import_module("own_constants").HALF == 1


def test_a_module_is_loaded_by_its_name(registry: dict[str, Any], folder: Path) -> None:
    (folder / "paper_of_mine").mkdir()
    (folder / "paper_of_mine" / "__init__.py").write_text("from paper_of_mine import one, two\n")
    for name in ("one", "two"):
        (folder / "paper_of_mine" / f"{name}.py").write_text(FILE.format(paper=name))
    assert load_claims("paper_of_mine") == ["one/lemma", "two/lemma"]
    assert load_claims("paper_of_mine.two") == ["two/lemma"]


HELPER = """
from clusterproof.theorem import Z, at_most, claim


def lemma(n: int = Z[0:9]):
    return at_most(n, 3)


def decorator(function):
    def wrapper(n: int = Z[0:9]):
        return function(n)

    return wrapper


def state(name):
    @claim(name)
    def stated(n: int = Z[0:9]):
        return at_most(n, 3)

    return stated


@claim("helper/own")
def own(n: int = Z[0:3]):
    return at_most(n, 3)
"""
USING = """
from helper_of_claims import decorator, lemma, own, state
from clusterproof.theorem import Z, at_most, claim
import beside.claims_of_others

claim("using/imported")(lemma)
claim("using/others")(beside.claims_of_others.theirs.function)
state("using/stated")
beside.claims_of_others.state("using/applied", lemma)


@claim("using/decorated")
@decorator
def decorated(n: int = Z[0:9]):
    return at_most(n, 3)
"""
OTHERS = """
from clusterproof.theorem import Z, at_most, claim


@claim("others/theirs")
def theirs(n: int = Z[0:9]):
    return at_most(n, 3)


@theirs.line("more")
def more(n: int = Z[0:9]):
    return at_most(n, 3)


def state(name, function):
    claim(name)(function)
"""


@pytest.fixture
def others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package elsewhere that states claims, a helper that also states claims, and a file that uses both."""
    (folder / "elsewhere" / "beside").mkdir(parents=True)
    (folder / "elsewhere" / "beside" / "__init__.py").write_text("")
    (folder / "elsewhere" / "beside" / "claims_of_others.py").write_text(OTHERS)
    (folder / "helper_of_claims.py").write_text(HELPER)
    (folder / "using.py").write_text(USING)
    monkeypatch.syspath_prepend(folder / "elsewhere")


@pytest.mark.usefixtures("others")
def test_a_file_states_its_claims_about_the_functions_of_others(registry: dict[str, Any]) -> None:
    """It does not state the claims of the modules that it imports."""
    stated = load_claims("using.py")
    assert stated == [f"using/{name}" for name in ("imported", "others", "stated", "applied", "decorated")]
    assert [check(name).verdict for name in stated] == ["violated"] * 5
    assert {check(name).file for name in stated} == {"using.py"}
    assert check("helper/own").file == "helper_of_claims.py"
    assert REGISTRY["others/theirs"].module == "beside.claims_of_others"
    assert [line.name for line in check("others/theirs").lines] == ["", "more"]


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("method", ["line", "step"])
@pytest.mark.parametrize(
    ("claim", "file"),
    [("own", "helper_of_claims.py"), ("beside.claims_of_others.theirs", "beside.claims_of_others")],
)
def test_a_file_adds_lines_to_its_own_claims_only(
    registry: dict[str, Any], folder: Path, method: str, claim: str, file: str
) -> None:
    (folder / "using.py").write_text(
        f"{USING}\n\n@{claim}.{method}('extra')\ndef extra(n: int = Z[0:9]):\n    return at_most(n, 3)\n"
    )
    with pytest.raises(
        InvalidArgument, match=f"using.py, line 18: name is 'extra', .* states the claim, {file}"
    ):
        load_claims("using.py")
    assert not registry
    text = USING.replace('state("using/stated")', 'stated = state("using/stated")')
    (folder / "using.py").write_text(
        f"{text}\n\n@stated.{method}('extra')\ndef extra(n: int = Z[0:9]):\n    return at_most(n, 3)\n"
    )
    load_claims("using.py")
    assert [line.name for line in check("using/stated").lines] == ["", "extra"]


def test_a_file_that_means_something_else_in_python_is_refused_with_a_remedy(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    (folder / "own_constants.py").write_text("HALF = 1\n")
    (folder / "own_setup.py").write_text("import own_constants\nown_constants.HALF = 2\n")
    text = "import importlib, own_constants\nimportlib.import_module('own_setup')\n"
    (folder / "my_paper.py").write_text(FILE.format(paper="mine") + text)
    for _ in range(2):
        with pytest.raises(InvalidArgument) as raised:
            load_claims("my_paper.py")
        assert "(own_constants.py is loaded twice, as own_constants and as my_paper_" in raised.value.rule
        assert raised.value.remedy.startswith("write `import NAME` for own_setup.py")
    assert "mine/lemma" not in REGISTRY


WITHOUT_RANGE = """
from clusterproof.theorem import at_most, claim

@claim("first/file")
def lemma(x: int):
    return at_most(x, 1)
"""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "must be a file that exists"),
        ("def (", "SyntaxError"),
        (FILE.format(paper="half") + "\nraise RuntimeError('later')", "RuntimeError: later, line 17"),
        ("import sys; sys.exit(3)", "SystemExit"),
        ("x = 1", "must state a claim. Decorate a function"),
        (
            WITHOUT_RANGE,
            "broken.py, line 4: parameter is 'x', but it must have a range. Give it one as its default",
        ),
        (FILE.format(paper="cfl-mgd").replace("/lemma", "/lemma-2"), "must not be the id of another claim"),
    ],
)
def test_what_cannot_be_loaded_leaves_nothing(folder: Path, content: str | None, said: str) -> None:
    known = dict(REGISTRY)
    if content is not None:
        (folder / "broken.py").write_text(content)
    with pytest.raises(InvalidArgument, match=said):
        load_claims("broken.py")
    assert known == REGISTRY
    with pytest.raises(InvalidArgument, match="No module named 'nowhere_at_all'"):
        load_claims("nowhere_at_all")


TWICE = """
from clusterproof.theorem import Z, at_most, claim

@claim("twice/one")
def one(n: int = Z[0:9]):
    return at_most(n, 3)

@claim("twice/one")
def one(n: int = Z[0:3]):
    return at_most(n, 3)
"""
FACTORY = """
from clusterproof.theorem import Z, at_most, claim

def make(bound):
    @claim("twice/one")
    def one(n: int = Z[0:9]):
        return at_most(n, bound)

make(3)
make(9)
"""


@pytest.mark.parametrize("text", [TWICE, FACTORY])
def test_a_file_states_each_id_once_and_may_be_loaded_again(
    registry: dict[str, Any], folder: Path, text: str
) -> None:
    (folder / "twice.py").write_text(text)
    with pytest.raises(
        InvalidArgument, match=r"twice\.py, line .*must not be the id of another claim\. Rename"
    ):
        load_claims("twice.py")
    assert not registry
    (folder / "twice.py").write_text(text.replace('"twice/one"', '"twice/two"', 1).replace("make(3)\n", ""))
    for _ in range(2):
        load_claims("twice.py")
    # a notebook may state a function again
    names: dict[str, Any] = {"__name__": "__main__"}
    for _ in range(2):
        exec(text.replace("twice/one", "notebook/one"), names)
    assert REGISTRY["notebook/one"].function(4).measured == 4


def test_a_repair_that_nobody_states_is_refused(
    registry: dict[str, Any], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One file may name a claim of the next one."""
    repaired = FILE.replace('"{paper}/lemma"', '"{paper}/lemma", repaired_by=("later/lemma", "mine/other")')
    (folder / "first.py").write_text(repaired.format(paper="mine"))
    (folder / "later.py").write_text(FILE.format(paper="later"))
    for arguments in (["check", "later.py", "first.py"], ["check", "mine/lemma", "later.py", "first.py"]):
        registry.clear()
        assert main(arguments) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert (
            "repaired_by is 'mine/other', but it must be the id of a claim, because mine/lemma names it in repaired_by"
            in line
        )
    registry.clear()
    load_claims("first.py")
    with pytest.raises(
        InvalidArgument, match="repaired_by is 'later/lemma', but it must be the id of a claim"
    ):
        check("mine/lemma")
    registry.clear()
    other = "@claim('mine/other')\ndef other(place: Place) -> Sides:\n    'T'\n    return at_most(0, one=1)\n"
    (folder / "first.py").write_text(repaired.format(paper="mine") + "\n" + other)
    load_claims("first.py")
    load_claims("later.py")
    assert check("mine/lemma").repaired_by == ("later/lemma", "mine/other")


CLAIMS = """
from fractions import Fraction
from typing import Annotated

from clusterproof.theorem import at_most, claim, rationals, suppose

Step = Annotated[Fraction, rationals(0, 2, 8)]


@claim("pytested/true")
def true(step: Step):
    return at_most(abs(1 - step), one=1)


@claim("pytested/false")
def false(step: Step):
    return at_most(abs(1 - step), half=Fraction(1, 2))


@claim("pytested/empty")
def empty(step: Step):
    suppose("step > 2", step > 2)
    return at_most(step, one=1)


@claim("pytested/few", evaluations=5)
def few(step: Step):
    return at_most(abs(float(step) - 1) * float(step), allowed=3.0)
"""
TESTS = """
from clusterproof.theorem import parametrize_with_claims


@parametrize_with_claims("paper_of_claims.py", expected_failures={"pytested/empty": "known to be vacuous"})
def test_claim(claim):
    claim()
"""


@pytest.mark.slow(reason="several seconds")
def test_a_claim_fails_holds_or_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "paper_of_claims.py").write_text(CLAIMS)
    (tmp_path / "test_paper.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", "--color=no"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed, 1 skipped, 1 xfailed" in result.stdout, result.stdout + result.stderr
    assert "pytested/false is violated: at step = 0: 1 > 0.5" in result.stdout
    assert "pytested/few is inconclusive, which proves nothing: 5 different instances" in result.stdout


def test_a_wrong_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="no-paper/no-claim"):
        parametrize_with_claims("no-paper/no-claim")
    with pytest.raises(InvalidArgument, match=r"missing\.py"):
        parametrize_with_claims(tmp_path / "missing.py")
    with pytest.raises(InvalidArgument, match="expected_failures"):
        parametrize_with_claims("cfl-mgd/lemma-2", expected_failures={"cfl-mgd/lemma-1": "why"})

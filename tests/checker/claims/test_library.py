"""The checker knows nothing of federated learning: which package states claims, it is told."""

import json
import re
import sys
from pathlib import Path

import pytest

import clusterproof
from clusterproof import library
from clusterproof.checker.claims.claim import REGISTRY
from clusterproof.checker.real_numbers.interval import NoValue
from clusterproof.checker.real_numbers.source import require_own
from clusterproof.checker.report.stored_evidence import read_evidence

MODULE = sys.modules[type(REGISTRY).__module__]
CHECKER = Path(clusterproof.__file__).parent / "checker"
WORDS = re.compile(
    r"\b(fed[a-z]*|federat\w*|clients?|servers?|theor(y|ies)|cluster(s|ed|ing)?|participat\w*|heterogen\w*"
    r"|scaffold\w*|proxskip|fpfc|ifca|sofl|cfl\w*|local[ _]steps?)\b",
    re.IGNORECASE,
)
TOY = '''
from fractions import Fraction
from clusterproof.theorem import Q, at_most, claim
@claim("toy-library/one")
def one(x: Fraction = Q[0:1]):
    """A square is no larger."""
    return at_most(x**2, x=x)
'''


@pytest.mark.parametrize(
    "text", ["def fedavg():", "a client", "Clients meet", "theory.bound", "local_steps", "clusters = 3"]
)
def test_words_of_federated_learning_are_found(text: str) -> None:
    assert WORDS.search(text)


@pytest.mark.parametrize(
    "text", ["import clusterproof.checker", "a feature", "theorem", "Clusterproof searches"]
)
def test_other_words_are_not(text: str) -> None:
    assert not WORDS.search(text)


def test_the_checker_has_no_word_of_federated_learning() -> None:
    found = {
        f"{path.relative_to(CHECKER)}: {line.strip()}"
        for path in [*CHECKER.rglob("*.py"), *CHECKER.rglob("*.pyi"), *CHECKER.rglob("*.v")]
        for line in path.read_text(encoding="utf-8").splitlines()
        if WORDS.search(line)
    }
    assert not found


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Make a package the library in place of the usual one."""
    folder = tmp_path / "toy_library"
    (folder / "evidence").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "one.py").write_text(TOY, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(library, "_PACKAGES", ["toy_library"])
    monkeypatch.setattr(MODULE, "REGISTRY", type(REGISTRY)("All claims by id."))
    yield folder
    for name in ("toy_library", "toy_library.one"):
        sys.modules.pop(name, None)


def test_another_package_states_the_claims_and_holds_their_evidence(toy: Path) -> None:
    assert [*MODULE.REGISTRY] == ["toy-library/one"]
    record = {"statement": "", "line": "", "rule": "exhausted"}
    evidence = [{"claim": "toy-library/one", **record}]
    (toy / "evidence" / "toy-library.json").write_text(
        json.dumps({"texts": {}, "evidence": evidence, "verdicts": []}), encoding="utf-8"
    )
    assert read_evidence("toy-library").evidence == {"toy-library/one": [record]}
    with pytest.raises(NoValue):
        require_own("clusterproof.theory.papers", "f")


def test_without_a_library_there_are_the_claims_of_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_PACKAGES", [])
    monkeypatch.setattr(MODULE, "REGISTRY", type(REGISTRY)("All claims by id."))
    assert not MODULE.REGISTRY
    assert not library.is_of_library("my_paper")
    with pytest.raises(LookupError, match="no package"):
        library.library_evidence()


def test_a_users_file_names_no_other_library() -> None:
    with pytest.raises(ValueError, match="is not set again"):
        library.set_library("mine")
    library.set_library("clusterproof.theory")
    assert library.library() == "clusterproof.theory"

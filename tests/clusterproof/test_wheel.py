"""What is published: the whole product and nothing else, in a project that has folders of the same names."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from checkout import CLEAN, FOLDERS, MYPY_CACHE, copied, done, environment, mypy_configuration, product

pytestmark = pytest.mark.slow(reason="builds and installs the wheel")

OWN_MODULE = '''
"""A project's own folder, with a name that ours has, too."""
OWNER = "the project"
'''

SCRIPT = """
import algorithms, figures, synthetic, theory  # the project's
import clusterproof
import clusterproof.figures, clusterproof.theory

assert {module.OWNER for module in (algorithms, figures, synthetic, theory)} == {"the project"}
assert clusterproof.__file__.startswith(ENVIRONMENT), clusterproof.__file__
from importlib.resources import files
assert (files("clusterproof.experiments") / "results" / "fpfc-table-1.parquet").is_file()
verdict = clusterproof.checker.check("cfl-mgd/lemma-2", evaluations=100)
assert verdict.verdict == "violated" and verdict.counterexample
from hypothesis import given, settings
from clusterproof.synthetic import strategies

@settings(max_examples=5, deadline=None, database=None)
@given(strategies.quadratic_mixtures(clusters=(1, 1)))
def one_cluster_is_found(task):
    assert clusterproof.run(clusterproof.FedAvg(step_size=1 / task.smoothness), task, rounds=3).purity == 1

one_cluster_is_found()
"""

TYPED = """
import algorithms
from clusterproof import check, Trace, Verdict
from clusterproof.algorithms import CFLMGD, FedAvg
from clusterproof.running import run
from clusterproof.synthetic import RegressionMixture

owner: str = algorithms.OWNER


def descend(task: RegressionMixture) -> Trace:
    return run(CFLMGD(step_size=1 / task.smoothness, momentum=0.5), task, rounds=5)


def decide() -> Verdict:
    return check("cfl-mgd/lemma-2", seed=1)
"""

MISTYPED = (
    TYPED
    + """
check("cfl-mgd/lemma-2", seed="one")
FedAvg(step_size="large")
"""
)


def built(tree: Path, place: Path) -> Path:
    """Build the wheel of a folder or of a source archive."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-index"]
    done([*pip, "--no-build-isolation", "--no-deps", "--wheel-dir", place, tree])
    (wheel,) = place.glob("*.whl")
    return wheel


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def shipped(wheel: Path) -> set[str]:
    """Every file in a wheel but its metadata."""
    return {name for name in contents(wheel) if not name.startswith("clusterproof-")}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy without links, as Git for Windows and ZIP downloads make it, and with new folders.

    Without ``__init__.py`` a folder can be imported there, and nowhere else.
    """
    tree = copied(tmp_path_factory.mktemp("checkout") / "tree")
    for link in filter(Path.is_symlink, tree.iterdir()):
        target = link.readlink().as_posix()
        link.unlink()
        link.write_text(target)
    for name in ("package", "no_package"):
        (tree / "clusterproof/theory" / name / "deeper").mkdir(parents=True)
        (tree / "clusterproof/theory" / name / "deeper" / "lemma.py").touch()
    for name in ("package", "package/deeper"):
        (tree / "clusterproof/theory" / name / "__init__.py").touch()
    return tree


@pytest.fixture(scope="module")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tree, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_the_packages_of_the_product_and_nothing_else(tree: Path, wheel: Path) -> None:
    names = shipped(wheel)
    modules = [name for name in names if name.endswith(".py")]
    assert (
        len(modules) == len(list((tree / "clusterproof").rglob("*.py"))) - 1
    )  # of the folder that is no package
    assert names ^ product(tree) == {"clusterproof/theory/no_package/deeper/lemma.py"}
    for name in (
        "py.typed",
        "__init__.pyi",
        "theory/evidence/fedlin.json",
        "experiments/results/fpfc-table-1.parquet",
    ):
        assert f"clusterproof/{name}" in names


def test_the_source_release_gives_the_same_wheel(tree: Path, wheel: Path, tmp_path: Path) -> None:
    code = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    done([sys.executable, "-c", code, tmp_path], tree)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    assert {"tests/conftest.py", "examples/heavy_ball.py", "Makefile", "constraints.txt"} <= names
    assert contents(built(archive, tmp_path)) == contents(wheel)


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel."""
    return environment(tmp_path_factory.mktemp("environment"), wheel)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project whose folders have the names of our folders."""
    for folder in FOLDERS:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text(OWN_MODULE)
    return tmp_path


def test_commands_strategies_and_results_work_beside_the_projects_own_folders(
    python: Path, project: Path
) -> None:
    assert "check" in done([python, "-m", "clusterproof", "--help"], project)
    assert "cfl-mgd/lemma-2" in done([python.with_name("clusterproof"), "claims"], project)
    (project / "script.py").write_text(f"ENVIRONMENT = {str(python.parents[1])!r}\n{SCRIPT}")
    done([python, "script.py"], project)


def test_our_types_are_seen_there(python: Path, project: Path) -> None:
    (project / "typed.py").write_text(TYPED)
    (project / "mistyped.py").write_text(MISTYPED)
    mypy_configuration(project)
    mypy = [python, "-m", "mypy", "--cache-dir", MYPY_CACHE]
    found = subprocess.run(
        [*mypy, "typed.py", "mistyped.py"], capture_output=True, text=True, cwd=project, env=CLEAN
    )
    errors = [line for line in found.stdout.splitlines() if "error:" in line]
    assert [line.partition(":")[0] for line in errors] == ["mistyped.py"] * 2, found.stdout
    assert '"seed" to "check"' in errors[0]
    assert '"step_size" to "FedAvg"' in errors[1]

"""What a shell completes: the names of claims, papers, algorithms, tasks and definitions."""

import pytest

from clusterproof.algorithms import ALGORITHMS
from clusterproof.commands.application import app, main
from clusterproof.conformance import DEFINITIONS
from clusterproof.experiments.tables import TABLES
from clusterproof.figures import FIGURES
from clusterproof.neural.data.loading import DATASETS
from clusterproof.synthetic import TASKS
from clusterproof.theory import REGISTRY


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["check", "cfl-mgd/lem"], [name for name in REGISTRY if name.startswith("cfl-mgd/lem")]),
        (["show", "fpfc/"], [name for name in REGISTRY if name.startswith("fpfc/")]),
        (["claims", "--paper", ""], list(dict.fromkeys(name.partition("/")[0] for name in REGISTRY))),
        (["conform", "x.py:X", "--as", ""], list(DEFINITIONS)),
        (["figures", ""], list(FIGURES)),
        (["data", "fetch", ""], list(DATASETS)),
        (["data", "verify", ""], list(DATASETS)),
    ],
)
def test_names_are_those_of_the_program(
    capsys: pytest.CaptureFixture[str], words: list[str], wanted: list[str]
) -> None:
    """By the command that the scripts of cyclopts call; REGISTRY also holds the claims of other tests' files."""
    assert main(["__complete", *words]) == 0
    offered = {line.partition("\t")[0] for line in capsys.readouterr().out.splitlines() if line[:1] != "\x1f"}
    offered = {name for name in offered if name and name.startswith(words[-1])}
    assert offered <= set(wanted)
    assert len(offered) >= 2


def test_the_script_for_bash_has_algorithms_and_tasks() -> None:
    script = app.generate_completion(shell="bash")
    for name in (*ALGORITHMS, *TASKS, *TABLES, "new", "leaderboard"):
        assert name in script

"""Names of options in other libraries: each is answered by options that exist, and hides none of them."""

import pytest

from clusterproof.algorithms.names_elsewhere import _NAMES, name_here
from clusterproof.conformance import DEFINITIONS
from clusterproof.experiments.synthetic_options import experiment_options
from clusterproof.neural.runs.configuration import NAMES
from clusterproof.neural.runs.options import all_options

COMMON = {"out", "seed", "seeds", "rounds", "jobs"}
KNOWN = {
    "train": {option.flag for option in all_options()} | set(NAMES) | COMMON,
    "run": {option.flag for option in experiment_options()} | COMMON | {"algorithm"},
    "conform": {name for definition in DEFINITIONS.values() for name in definition.defaults()},
}


def test_every_answer_is_given_by_a_command() -> None:
    given = {
        sentence
        for sentence, names in _NAMES.items()
        for known in KNOWN.values()
        for name in names.split()
        if name_here(name, known) == sentence.replace("{", "").replace("}", "")
    }
    assert given == set(_NAMES)


@pytest.mark.parametrize(
    ("name", "known", "sentence"),
    [
        ("--lr", ["--step-size"], "the step size is --step-size"),
        ("LR", ["step_size"], "the step size is step_size"),
        ("lr", ["momentum"], None),
        ("step_sise", ["step_size"], None),
        ("epochs", ["local_steps"], "the number of local steps is local_steps"),
    ],
)
def test_an_answer_names_options_that_exist(name: str, known: list[str], sentence: str | None) -> None:
    assert name_here(name, known) == sentence

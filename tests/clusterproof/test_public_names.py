"""Public names: they are those of the packages, and are imported on first use."""

import re
import subprocess
import sys

import pytest

import clusterproof
from clusterproof import theorem, theory
from clusterproof.algorithms import ALGORITHMS
from clusterproof.algorithms.storage import load_trace
from clusterproof.synthetic import TASKS


def test_the_public_names_are_what_they_are_where_they_come_from() -> None:
    assert clusterproof.check is theory.check
    assert clusterproof.CFLMGD is ALGORITHMS["cfl-mgd"]
    assert clusterproof.RegressionMixture is TASKS["regression"]
    assert clusterproof.load_trace is load_trace
    assert re.fullmatch(r"\d+\.\d+\.\d+", clusterproof.__version__)
    assert set(theorem.__all__) <= set(clusterproof.__all__)
    for word in theorem.__all__:
        assert getattr(theorem, word) is getattr(clusterproof, word)
    with pytest.raises(AttributeError, match="attribute chekc"):
        clusterproof.chekc  # noqa: B018 - the attribute access is the test


def test_names_are_imported_on_first_use() -> None:
    """``clusterproof.neural`` without torch, ``clusterproof.theorem`` without the theory."""
    code = "import sys, clusterproof, clusterproof.theorem, clusterproof.neural as neural\n"
    code += "clusterproof.__version__; neural.Partition, neural.configuration_from\n"
    code += "assert not {'torch', 'clusterproof.theory', 'matplotlib'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")

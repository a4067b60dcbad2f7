import numpy as np
import pytest
from drawings import SEED, SMALL, drawn, line

from clusterproof.algorithms import generator, run
from clusterproof.theory.bounds.audit_settings import experiment
from clusterproof.theory.bounds.corollary_b1 import CorollaryB1
from clusterproof.theory.bounds.theorem_b import TheoremB

RUNS, SETTINGS = (SMALL["tightness"][name] for name in ("REPLICATES", "SETTINGS"))


def panel():
    (only,) = drawn("tightness").axes
    return only


def marks(name, row):
    return line(panel(), f"{name}, row {row}")[0]


def quantile(errors):
    """The 95 % quantile by linear interpolation between order statistics."""
    ordered = np.sort(errors, axis=0)
    position = 0.95 * (len(ordered) - 1)
    below = int(position)
    return ordered[below] + (position - below) * (ordered[below + 1] - ordered[below])


@pytest.mark.parametrize(("name", "momentum", "row"), [("S1", 0.0, 0), ("S1", None, 1), ("S3", None, 2)])
def test_marks_are_the_bound_over_the_quantile_of_the_same_runs(name, momentum, row):
    trial = experiment(name, momentum)
    start = trial.initial(generator(SEED, "figures/tightness", trial.name, "start"), RUNS)
    trace = run(trial.algorithm, trial.task, rounds=trial.rounds, seed=SEED, replicates=RUNS, initial=start)
    observed = quantile(trace.errors[-1])
    expected = TheoremB().best_parts(trial.setting).last_round / observed
    np.testing.assert_allclose(marks("Theorem B", row), expected, rtol=1e-7)
    if row == 1:
        expected = CorollaryB1().best_parts(trial.setting).last_round / observed
        np.testing.assert_allclose(marks("Corollary B1", row), expected, rtol=1e-7)


def test_theorem_d_is_close_and_below_theorem_b_everywhere():
    for row in range(len(SETTINGS)):
        close = marks("Theorem D", row)
        assert 1 < close.min() <= close.max() < 3
        assert (close < marks("Theorem B", row)).all()


def test_the_corollary_is_shown_where_it_applies_and_said_to_fail_elsewhere():
    ids = [str(each.get_gid()) for each in panel().get_lines()]
    shown = {name for name in ids if name.startswith("Corollary")}
    assert shown == {f"Corollary B1, row {row}" for row in (1, 3)}
    failing = [text for text in panel().texts if "hypotheses fail" in text.get_text()]
    assert [round(text.get_position()[1]) for text in failing] == [2]
    trial = experiment("S3", None)
    assert not CorollaryB1().best_parts(trial.setting).applicable

"""Expectations over the replicates of a run, and bounds on runs as they are shown."""

import math
import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from clusterproof.checker.claims import expectation
from clusterproof.theory import TraceBound
from clusterproof.theory.runs.bound_checks import _compare_expectation


def test_both_halves_of_the_replicates_of_a_run_are_judged() -> None:
    samples = np.random.default_rng(0).standard_normal((30_000, 1)) + 3
    first = samples[::2, 0]
    half = norm.isf(1e-9 / 4) * first.std(ddof=1) / math.sqrt(15_000) + 1e-9 * samples.max()
    told = f"(interval {first.mean() - half:.5g} to {first.mean() + half:.5g}, 15000 of 30000 replicates)"
    asymptotic = (
        ", by an interval that is exact only for many replicates without rare large values (give range=)"
    )
    for allowed, kind, how in ((3.0, "holds", ""), (2.9, "broken", asymptotic)):
        found = _compare_expectation(expectation(samples, at_most=allowed))
        assert found.kind == kind
        assert found.sentence == f"expectation {first.mean():.5g} {told}, at most {allowed:.5g}{how}"
        assert found.slack == pytest.approx(allowed / first.mean())


def test_all_replicates_are_judged_at_once_where_the_interval_is_exact() -> None:
    found = _compare_expectation(expectation(np.arange(2000) % 2, at_most=0.25, range=(0, 1)))
    assert (found.kind, found.slack) == ("broken", 0.5)
    assert ", 2000 of 2000 replicates), at most 0.25" in found.sentence
    assert _compare_expectation(expectation([0.0, 0.0], at_most=1, range=(0, 1))).slack == math.inf
    few = _compare_expectation(expectation(np.arange(1000) % 2, at_most=0.75))
    assert few.kind == "inconclusive"


def test_a_bound_on_a_run_is_shown_as_a_table() -> None:
    bound = TraceBound(np.array([[4.0, 3.0], [1.0, 2.0]]), 0.25, last=np.array([1.5, 0.5]), quantity="gap")
    facts = "on the gap 4 -> 2, shape (2, 2), failure probability 0.25, after the last round 1.5"
    assert repr(bound) == f"<TraceBound: {facts}>"
    assert repr(TraceBound(np.array(2.0))).startswith("<TraceBound: on the error 2 -> 2, shape (),")
    shown: Any = re.sub(r"\s*<[^>]*>\s*", " ", bound._repr_html_())
    assert all(word in shown for word in ("TraceBound", "on the gap", "4 ", "after the last round"))
    away = TraceBound(np.zeros((2, 1)), reference=np.zeros((2, 1, 3)), deviation=np.array([[0.5], [0.75]]))
    assert repr(away).endswith("distance from the reference path at most 0.75>")

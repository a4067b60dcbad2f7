"""Certificates of Theorem A' on a run: honest ones are valid, changed ones are refused, and nothing costs much."""

import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import ctx

from clusterproof.algorithms import CFLMGD, InvalidArgument, Trace, run
from clusterproof.synthetic import LogCoshMixture, LogisticMixture, Mixture
from clusterproof.synthetic.mixture import make_labels
from clusterproof.theory.bounds.logarithmic.run_bound import smooth_rows, theorem_a_prime_on
from clusterproof.theory.certificate import (
    SmoothRunCertificate,
    certify,
    read_certificate,
    to_json,
    verify,
    write_certificate,
)
from clusterproof.theory.certificate.document import holds_plain_values_only
from clusterproof.theory.certificate.run_bound.smooth_check import misclassification
from clusterproof.theory.certificate.run_bound.smooth_make import certify_smooth_run

Change = Callable[[SmoothRunCertificate], SmoothRunCertificate]
ROUNDS, DELTA = 6, 1e-6


def log_cosh(clusters: int = 2, **changes: Any) -> LogCoshMixture:
    arguments: dict[str, Any] = {
        "optima": math.sqrt(2) * np.eye(clusters, 5), "valley_curvature": 0.25, "width": 0.1, "noise": 0.5,
        "labels": make_labels(8 * clusters, clusters), "samples": 20_000,
    }  # fmt: skip
    return LogCoshMixture(**(arguments | changes))


def logistic() -> LogisticMixture:
    return LogisticMixture.random(
        clusters=2, clients=20, dimension=2, condition_number=3.0, samples=100_000, seed=1
    )


def traced(task: Mixture, rounds: int = ROUNDS, replicates: int | None = None) -> Trace:
    algorithm = CFLMGD(step_size=1 / task.smoothness, momentum=0.3)
    return run(algorithm, task, rounds=rounds, seed=0, initial=task.optima + 0.02, replicates=replicates)


@cache
def honest() -> dict[str, SmoothRunCertificate]:
    tasks: dict[str, Mixture] = {
        "two clusters": log_cosh(),
        "one cluster": log_cosh(1),
        "no noise": log_cosh(noise=0.0),
        "logistic": logistic(),
    }
    return {
        name: certify_smooth_run(one, traced(one), failure_probability=DELTA) for name, one in tasks.items()
    }


@pytest.mark.parametrize("name", ["two clusters", "one cluster", "no noise", "logistic"])
def test_honest_certificates_are_valid_in_every_form(name: str, tmp_path: Path) -> None:
    certificate = honest()[name]
    path = tmp_path / "c.json"
    write_certificate(certificate, path)
    assert read_certificate(path) == certificate
    for document in (certificate, path, path.read_text(), path.read_bytes(), json.loads(path.read_text())):
        outcome = verify(document)
        assert outcome.valid, outcome.condition
        assert outcome.certificate == certificate
    assert "cannot be checked here" in certificate.statement


def test_it_states_what_theorem_a_prime_gives() -> None:
    for name, task in (("two clusters", log_cosh()), ("logistic", logistic())):
        bound = theorem_a_prime_on(task, traced(task), DELTA)
        certificate = honest()[name]
        stated = [[float(use.reach) for use in row] for row in certificate.uses]
        np.testing.assert_allclose(stated, bound.bound, rtol=1e-8)
        np.testing.assert_allclose([float(use.reach) for use in certificate.last], bound.last, rtol=1e-8)
        assert float(certificate.total) == pytest.approx(bound.failure_probability, rel=1e-6)


def test_a_replicate_is_bounded_from_its_own_start() -> None:
    task = log_cosh()
    trace = traced(task, replicates=2)
    assert certify_smooth_run(task, trace, replicate=1, failure_probability=DELTA) == honest()["two clusters"]
    with pytest.raises(InvalidArgument, match="replicate = 2"):
        certify_smooth_run(task, trace, replicate=2)


def dynamics(**changes: Any) -> Change:
    return lambda c: replace(c, dynamics=replace(c.dynamics, **changes))


def scaled(name: str, factor: Fraction) -> Change:
    return lambda c: replace(c, dynamics=replace(c.dynamics, **{name: getattr(c.dynamics, name) * factor}))


def use(round_number: int, **factors: Fraction) -> Change:
    def change(c: SmoothRunCertificate) -> SmoothRunCertificate:
        rows = list(c.uses)
        first = rows[round_number][0]
        changed = {name: getattr(first, name) * factor for name, factor in factors.items()}
        rows[round_number] = (replace(first, **changed), *rows[round_number][1:])
        return replace(c, uses=tuple(rows))

    return change


def proof(**changes: Any) -> Change:
    def change(c: SmoothRunCertificate) -> SmoothRunCertificate:
        first = c.contractions[0]
        given = {name: value(first) for name, value in changes.items()}
        return replace(c, contractions=(replace(first, **given), *c.contractions[1:]))

    return change


LESS, MORE = Fraction(99, 100), Fraction(101, 100)
BOUND = "does not give the bound"
OTHER = "not one of these dynamics"
TAMPERED: list[tuple[str, Change, str]] = [
    ("two clusters", use(3, reach=LESS), BOUND),
    ("two clusters", use(3, x=Fraction(3)), BOUND),
    ("two clusters", use(3, x=Fraction(0)), BOUND),
    ("two clusters", use(0, reach=LESS), "start is farther"),
    ("two clusters", use(3, reach=Fraction(-1)), "must not be negative"),
    (
        "two clusters",
        lambda c: replace(c, last=(replace(c.last[0], reach=c.last[0].reach * LESS), c.last[1])),
        BOUND,
    ),
    ("two clusters", lambda c: replace(c, total=c.total * LESS), "less than the sum"),
    ("two clusters", lambda c: replace(c, failure=(c.failure[0] * LESS, c.failure[1] * MORE)), BOUND),
    ("two clusters", lambda c: replace(c, failure=(c.failure[0] * MORE, c.failure[1] * LESS)), f"{BOUND}|sum"),
    ("two clusters", lambda c: replace(c, misassignment=Fraction(0)), "misassignment is understated"),
    (
        "two clusters",
        lambda c: replace(c, misclassification=(Fraction(0), *c.misclassification[1:])),
        "wrong choice is understated",
    ),
    ("two clusters", lambda c: replace(c, misclassification=c.misclassification[1:]), "every round"),
    ("two clusters", lambda c: replace(c, uses=c.uses[1:]), "every round"),
    ("two clusters", lambda c: replace(c, contractions=c.contractions[1:]), "one entry a cluster"),
    ("two clusters", scaled("size", MORE), BOUND),
    ("two clusters", scaled("momentum", MORE), OTHER),
    ("two clusters", scaled("step_size", MORE), OTHER),
    ("two clusters", scaled("smoothness", MORE), OTHER),
    ("two clusters", scaled("strong_convexity", LESS), OTHER),
    ("two clusters", scaled("separation", Fraction(1, 50)), "leave the basin"),
    ("two clusters", scaled("separation", MORE), "separation must be positive and at most"),
    ("logistic", scaled("diameter", Fraction(2)), "wrong choice is understated"),
    ("two clusters", dynamics(samples=19_000), f"{BOUND}|understated"),
    ("two clusters", dynamics(dimension=4), f"{BOUND}|understated"),
    ("two clusters", dynamics(rounds=5), "every round"),
    ("two clusters", dynamics(own=(9, 7)), OTHER),
    ("two clusters", dynamics(own=(16, 16)), f"{BOUND}|understated|dynamics"),
    ("two clusters", dynamics(law="bounded"), f"{BOUND}|understated"),
    ("two clusters", proof(rate=lambda p: p.rate * LESS), "not proved"),
    ("two clusters", proof(prefactor=lambda p: p.prefactor * LESS), "not proved"),
    ("two clusters", proof(disturbance=lambda p: p.disturbance * LESS), "not proved"),
    ("two clusters", proof(disturbance=lambda p: None), OTHER),
    ("two clusters", proof(proof=lambda p: None), "not proved"),
    (
        "two clusters",
        lambda c: replace(
            c,
            contractions=(
                certify("0.3", 4, "1/2", function_class="quadratic"), c.contractions[1],
            ),
        ),
        OTHER,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "condition"), TAMPERED)
def test_false_statements_with_a_matching_sum_are_refused_by_the_arithmetic(
    name: str, change: Change, condition: str
) -> None:
    outcome = verify(change(honest()[name]))
    assert not outcome.valid
    assert "SHA" not in outcome.condition
    assert re.search(condition, outcome.condition), outcome.condition


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a document that holds a fraction."""
    found = []
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(one, dict | list):
            found += places(one)
        elif isinstance(one, str) and key not in ("format", "statement", "sha256", "law", "class"):
            found.append((value, key))
    return found


def test_any_changed_number_without_its_sum_is_refused() -> None:
    text = to_json(honest()["two clusters"])
    for number in range(len(places(json.loads(text)))):
        content = json.loads(text)
        group, key = places(content)[number]
        group[key] = str(Fraction(group[key]) + 1)
        assert not verify(content).valid


def test_words_and_lists_of_another_form_are_unreadable() -> None:
    content = json.loads(to_json(honest()["two clusters"]))
    for name, value in (("failure", ["1/2"] * 3), ("uses", {}), ("last", None), ("contractions", [{}])):
        assert not verify(content | {name: value}).readable
    for name, value in (("law", "other"), ("rounds", "0"), ("dimension", "0"), ("start", "1"), ("size", 1)):
        assert not verify(content | {"dynamics": content["dynamics"] | {name: value}}).readable
    assert not verify(content | {"format": "clusterproof-run-bound-1"}).readable


def test_nothing_that_a_record_holds_is_trusted_or_raises() -> None:
    class Sly(Fraction):
        """A number that says it is another."""

        def __eq__(self, other: object) -> bool:
            return True

        def __str__(self) -> str:
            return "1/2"

        __hash__ = Fraction.__hash__

    class Lax(SmoothRunCertificate):
        """A record that agrees with every other."""

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = SmoothRunCertificate.__hash__

    true = honest()["two clusters"]
    bad = [float("nan"), float("inf"), 0.5, "1/2", None, True, 10**400, [], Fraction(-1), Sly(1, 3)]
    for value in bad:
        for change in (
            lambda c, v=value: replace(c, total=v),
            lambda c, v=value: replace(c, failure=v),
            lambda c, v=value: replace(c, uses=v),
            lambda c, v=value: replace(c, contractions=(v, v)),
            lambda c, v=value: replace(c, dynamics=replace(c.dynamics, momentum=v)),
            lambda c, v=value: replace(c, dynamics=replace(c.dynamics, samples=v)),
            lambda c, v=value: replace(c, dynamics=replace(c.dynamics, law=v)),
            lambda c, v=value: replace(c, dynamics=v),
            proof(rate=lambda p, v=value: v),
            proof(function_class=lambda p, v=value: v),
        ):
            assert not verify(change(true))
    assert not verify(Lax(**vars(true)))
    assert not holds_plain_values_only(replace(true, total=Sly(1, 2)))
    assert holds_plain_values_only(true)


def test_absurd_sizes_are_refused_at_once() -> None:
    started = time.process_time()
    for change in (dynamics(samples=10**30), dynamics(rounds=10**12), dynamics(own=(10**50, 3))):
        assert not verify(change(honest()["two clusters"]))
    assert time.process_time() - started < 2


@pytest.mark.slow(reason="a hundred rounds of four clusters in exact arithmetic")
def test_a_hundred_rounds_of_four_clusters_are_checked_in_time() -> None:
    task = log_cosh(4)
    text = to_json(certify_smooth_run(task, traced(task, rounds=100), failure_probability=DELTA))
    started = time.process_time()
    assert verify(text)
    assert time.process_time() - started < 5


def test_wrong_choices_in_balls_against_the_bound_in_floats() -> None:
    with ctx.workprec(200):
        for name, task in (("two clusters", log_cosh()), ("logistic", logistic())):
            for radius in (0.0, 0.05, 0.2):
                exact = misclassification(honest()[name].dynamics, Fraction(radius))
                assert float(exact) == pytest.approx(smooth_rows(task).misclassification(radius), rel=1e-5)
        assert misclassification(honest()["two clusters"].dynamics, Fraction(1)) is None


def test_other_runs_are_refused() -> None:
    task = log_cosh()
    partial = run(
        CFLMGD(step_size=1.0, momentum=0.3, participation=0.5), task, rounds=3, seed=0, initial=task.optima
    )
    with pytest.raises(InvalidArgument, match="option I"):
        certify_smooth_run(task, partial)
    with pytest.raises(InvalidArgument, match="no rounds"):
        certify_smooth_run(task, traced(task, rounds=0))

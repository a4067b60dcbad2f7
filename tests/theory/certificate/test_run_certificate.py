"""Certificates of a run's bound: honest ones are valid, changed ones are refused, and nothing costs much."""

import json
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

from clusterproof.algorithms import CFLMGD, InvalidArgument, run
from clusterproof.synthetic import RegressionMixture
from clusterproof.synthetic.misclassification import worst_case_error
from clusterproof.synthetic.mixture import geometric_spectrum, make_labels
from clusterproof.theory.bounds.logarithmic.gaussian import (
    along_eigenvectors,
    divide_failure,
    gaussian_dynamics,
)
from clusterproof.theory.bounds.logarithmic.theorem_d import theorem_d
from clusterproof.theory.certificate import (
    Certificate,
    RunCertificate,
    certify,
    read_certificate,
    to_json,
    verify,
    write_certificate,
)
from clusterproof.theory.certificate.run_bound.balls import outside, pairwise_error
from clusterproof.theory.certificate.run_bound.make import certify_run
from clusterproof.theory.certificate.strict_json import checksum

Change = Callable[[RunCertificate], RunCertificate]


def task(**changes: Any) -> RegressionMixture:
    optima = np.zeros((2, 5))
    optima[:, 0] = (1.0, -1.0)
    arguments: dict[str, Any] = {
        "optima": optima, "covariance": geometric_spectrum(5, 4.0), "labels": make_labels(40, 2, (3, 2)),
        "noise": 0.5, "samples": 2000,
    }  # fmt: skip
    return RegressionMixture(**(arguments | changes))


def certified(
    algorithm: CFLMGD, *, recorded: bool = True, rounds: int = 6, delta: float = 1e-9, **changes: Any
) -> RunCertificate:
    one = task(**changes)
    initial = one.optima + 0.1 / np.sqrt(one.dimension)
    trace = run(algorithm, one, rounds=rounds, seed=1, initial=initial)
    return certify_run(one, trace, failure_probability=delta, recorded=recorded)


@cache
def honest() -> dict[str, RunCertificate]:
    base = {"step_size": 1.0, "momentum": 0.3}
    crowd = {"samples": 60, "noise": 1.0, "labels": make_labels(6000, 2)}
    turned = np.stack([np.diag(geometric_spectrum(5, 2.0)), np.diag(geometric_spectrum(5, 1.9)[::-1])])
    return {
        "D": certified(CFLMGD(**base)),
        "D, intruders": certified(CFLMGD(**base), **crowd),
        "D, two covariances": certified(CFLMGD(**base), covariance=turned, **crowd),
        "D, one cluster, one mode": certified(
            CFLMGD(**base), optima=np.zeros((1, 1)), covariance=np.ones(1), labels=np.zeros(10, int)
        ),
        "D, few rows": certified(
            CFLMGD(**base), optima=np.zeros((1, 2)), covariance=np.ones(2), labels=np.zeros(10, int), samples=8,
        ),
        "E, by the cluster": certified(CFLMGD(**base, participation=0.5, normalisation="cluster")),
        "E, by all, before": certified(CFLMGD(**base, participation=0.5), recorded=False),
        "E, counted": certified(
            CFLMGD(**base, participation=0.5, normalisation="cluster"), delta=0.05, **crowd
        ),
        "E, option II, empty clusters": certified(
            CFLMGD(**base, participation=0.05, averaging="model", local_steps=3), rounds=4, samples=20_000
        ),
        "E, option II, resets, before": certified(
            CFLMGD(**base, participation=0.5, averaging="model", local_steps=2, reset_momentum=True),
            recorded=False,
            rounds=4,
            delta=0.05,
        ),
    }  # fmt: skip


NAMES = [
    "D", "D, intruders", "D, two covariances", "D, one cluster, one mode", "D, few rows", "E, by the cluster",
    "E, by all, before", "E, counted", "E, option II, empty clusters", "E, option II, resets, before",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_honest_certificates_are_valid_in_memory_as_text_and_as_files(name: str, tmp_path: Path) -> None:
    certificate = honest()[name]
    path = tmp_path / "c.json"
    write_certificate(certificate, path)
    assert read_certificate(path) == certificate
    for document in (certificate, path, path.read_text(), path.read_bytes(), json.loads(path.read_text())):
        outcome = verify(document)
        assert outcome.valid, outcome.condition
        assert outcome.certificate == certificate


def test_it_states_what_theorem_d_gives() -> None:
    algorithm = CFLMGD(step_size=1.0, momentum=0.3)
    start = along_eigenvectors(task(), task().optima + 0.1 / np.sqrt(5))
    tube = theorem_d(gaussian_dynamics(task(), algorithm), start, rounds=6, failure=divide_failure(1e-9))
    certificate = honest()["D"]
    stated = [[float(use.reach) for use in row] for row in certificate.uses]
    np.testing.assert_allclose(stated, tube.reach[1:], rtol=1e-6)
    np.testing.assert_allclose([float(use.reach) for use in certificate.last], tube.last_reach, rtol=1e-6)
    assert float(certificate.total) == 1e-9


def test_the_cases_that_they_are_made_for_occur() -> None:
    assert any(sum(turn.intruders) for turn in honest()["D, intruders"].turns)
    assert any(sum(turn.intruders) for turn in honest()["E, counted"].turns)
    assert any(0 in turn.own for turn in honest()["E, option II, empty clusters"].turns)
    forms = {use.form for one in honest().values() for row in one.uses for use in row}
    assert {1, 2, 3} <= forms


def dynamics(**changes: Any) -> Change:
    return lambda c: replace(c, dynamics=replace(c.dynamics, **changes))


def scaled(name: str, factor: Fraction) -> Change:
    return lambda c: replace(c, dynamics=replace(c.dynamics, **{name: getattr(c.dynamics, name) * factor}))


def use(step: int, **factors: Fraction) -> Change:
    def change(c: RunCertificate) -> RunCertificate:
        row = c.uses[step]
        changed = {name: getattr(row[0], name) * factor for name, factor in factors.items()}
        rows = list(c.uses)
        rows[step] = (replace(row[0], **changed), *row[1:])
        return replace(c, uses=tuple(rows))

    return change


def turn(number: int, **changes: Any) -> Change:
    def change(c: RunCertificate) -> RunCertificate:
        turns = list(c.turns)
        turns[number] = replace(turns[number], **changes)
        return replace(c, turns=tuple(turns))

    return change


LESS, MORE = Fraction(99, 100), Fraction(101, 100)
TAMPERED: list[tuple[str, Change, str]] = [
    ("D", use(3, reach=LESS), "bound is less than path"),
    ("D", use(3, radius=LESS), "does not give the radius|g is too small"),
    ("D", use(3, g=LESS), "g is too small"),
    ("D", use(3, quantile=LESS), "quantile of chi"),
    ("D", use(3, truncation=LESS), "quantile of chi"),
    ("D", use(3, b=Fraction(3)), "does not give the radius|g is too small"),
    (
        "D",
        lambda c: replace(c, last=(replace(c.last[0], reach=c.last[0].reach * LESS), c.last[1])),
        "less than path",
    ),
    ("D", lambda c: replace(c, total=c.total * LESS), "less than the sum"),
    ("D", lambda c: replace(c, failure=(c.failure[0], c.failure[1] * LESS, c.failure[2] * MORE)), "radius"),
    ("D", lambda c: replace(c, first=(c.first[0] * LESS, c.first[1])), "start is farther"),
    ("D", scaled("variance", MORE), "radius|g is too small"),
    ("D", scaled("step_size", MORE), "radius|g is too small|less than path"),
    ("D", scaled("momentum", MORE), "radius|g is too small|less than path"),
    ("D", dynamics(samples=1900), "radius|g is too small"),
    ("D", dynamics(own=(20, 20)), "recorded participants"),
    ("D", dynamics(participants=39), "recorded participants"),
    ("D", lambda c: replace(c, dynamics=replace(c.dynamics, rounds=5), uses=c.uses[:5]), "every round"),
    ("D, intruders", turn(0, intruders=(0, 0)), "exceeded too often"),
    ("D, intruders", turn(0, strays=(0, 0)), "exceeded too often"),
    ("D, intruders", turn(0, misclassification=Fraction(1, 10**9)), "wrong choice is understated"),
    ("D, intruders", scaled("separation", Fraction(4, 5)), "wrong choice is understated|leave the basin"),
    ("D, intruders", scaled("diameter", Fraction(3, 2)), "radius|g is too small|less than path"),
    ("D, two covariances", dynamics(common_covariance=True), "same spectrum"),
    ("E, by the cluster", turn(2, own=(10, 9)), "recorded participants"),
    ("E, by the cluster", turn(2, own=(2, 18)), "recorded participants|radius|g is too small"),
    ("E, by the cluster", dynamics(divisor="clients"), "less than path|radius"),
    ("E, by all, before", lambda c: replace(c, most=(c.most[0] - 3, c.most[1])), "counts of participants"),
    ("E, counted", lambda c: replace(c, counted=False), "stated but not counted"),
    (
        "E, option II, empty clusters",
        lambda c: replace(c, misassignment=Fraction(0)),
        "misassignment is understated",
    ),
    ("E, option II, empty clusters", lambda c: replace(c, counted=True), "cannot be counted"),
    ("E, option II, empty clusters", dynamics(resets=True), "radius|g is too small|less than path"),
    ("E, option II, empty clusters", dynamics(freezes=False), "local steps belong"),
    (
        "E, option II, resets, before",
        lambda c: replace(c, fewest=(c.fewest[0] + 3, c.fewest[1])),
        "too often",
    ),
]


@pytest.mark.parametrize(("name", "change", "condition"), TAMPERED)
def test_false_statements_with_a_matching_sum_are_refused_by_the_arithmetic(
    name: str, change: Change, condition: str
) -> None:
    import re

    outcome = verify(change(honest()[name]))
    assert not outcome.valid
    assert "SHA" not in outcome.condition
    assert re.search(condition, outcome.condition), outcome.condition


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a document that holds a fraction."""
    found = []
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in entries:
        if isinstance(one, dict | list):
            found += places(one)
        elif isinstance(one, str) and key not in ("format", "statement", "sha256", "knowledge", "divisor"):
            found.append((value, key))
    return found


def test_any_changed_number_without_its_sum_is_refused() -> None:
    rng = np.random.default_rng(0)
    for certificate in honest().values():
        text = to_json(certificate)
        for _ in range(12):
            content = json.loads(text)
            group, key = places(content)[rng.integers(len(places(content)))]
            group[key] = str(Fraction(group[key]) + Fraction(1, int(rng.integers(1, 1000))))
            assert not verify(json.dumps(content)).valid


def test_nothing_that_a_record_holds_is_trusted_or_raises() -> None:
    bad = [float("nan"), float("inf"), 0.5, "1/2", None, True, 10**400, [], Fraction(-1)]
    for value in bad:
        for change in (
            lambda c, v=value: replace(c, total=v),
            lambda c, v=value: replace(c, first=(v, v)),
            lambda c, v=value: replace(c, failure=v),
            lambda c, v=value: replace(c, uses=v),
            lambda c, v=value: replace(c, dynamics=replace(c.dynamics, momentum=v)),
            lambda c, v=value: replace(c, dynamics=replace(c.dynamics, samples=v)),
            lambda c, v=value: replace(c, dynamics=v),
        ):
            assert not verify(change(honest()["D"]))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.25, 2, "1/2", None])
def test_a_certificate_of_a_rate_in_memory_is_not_trusted_either(value: object) -> None:
    found = certify("0.3", 4, 1, function_class="quadratic")
    assert isinstance(found, Certificate)
    assert verify(found)
    assert not verify(replace(found, rate=value))  # type: ignore[arg-type]
    if value != 2:
        assert not verify(replace(found, prefactor=value))  # type: ignore[arg-type]
    if value is not None:
        assert not verify(replace(found, disturbance=0.5))  # type: ignore[arg-type]
    assert not verify(replace(found, function_class="all functions"))  # type: ignore[arg-type]


def test_absurd_sizes_are_refused_at_once() -> None:
    started = time.process_time()
    for change in (
        dynamics(samples=10**30),
        dynamics(rounds=10**12),
        dynamics(local_steps=10**9),
        lambda c: replace(c, dynamics=replace(c.dynamics, own=(10**50, 3))),
    ):
        assert not verify(change(honest()["D"]))
    content = json.loads(to_json(honest()["D"]))
    for name, value in (("failure", ["1/2"] * 4), ("turns", {}), ("uses", [["1"]]), ("last", None)):
        damaged = {key: one for key, one in (content | {name: value}).items() if key != "sha256"}
        assert not verify(damaged | {"sha256": checksum(damaged)}).readable
    assert time.process_time() - started < 5


@pytest.mark.slow(reason="a hundred rounds of four clusters in exact arithmetic")
def test_a_hundred_rounds_of_four_clusters_are_checked_in_time() -> None:
    optima = np.sqrt(2) * np.eye(4, 20)
    one = task(
        optima=optima,
        covariance=geometric_spectrum(20, 10.0),
        labels=make_labels(80, 4),
        noise=0.3,
        samples=10**5,
    )
    trace = run(CFLMGD(step_size=1.0, momentum=0.8), one, rounds=100, seed=0, initial=one.optima + 0.01)
    text = to_json(certify_run(one, trace))
    started = time.process_time()
    assert verify(text)
    assert time.process_time() - started < 15


def test_balls_against_other_routes() -> None:
    from scipy import stats

    with ctx.workprec(200):
        for arguments in ((1, 0.25, 2, 0.5, 0.3, 50), (1, 1, 2, 3, 0.2, 20), (2, 1, 3, 0.1, 0.7, 7)):
            smoothness, convexity, separation, noise, radius, samples = arguments
            exact = [Fraction(x) for x in (smoothness, convexity, separation)]
            found = pairwise_error(*exact, Fraction(noise) ** 2, Fraction(radius), samples)
            assert float(found) == pytest.approx(worst_case_error(*arguments), rel=1e-9)
    law = stats.hypergeom(40, 15, 12)
    assert float(outside(40, 15, 12, 2, 7)) == pytest.approx(law.cdf(1) + law.sf(7))
    assert outside(40, 15, 12, 0, 12) == 0


def test_a_rate_of_ones_choice_has_a_small_prefactor_at_tuned_momentum() -> None:
    tuned, condition = Fraction(81, 100), 100  # (1 - sqrt(1/100))^2: critically damped
    least = certify(tuned, condition, 1, function_class="quadratic")
    chosen = certify(tuned, condition, 1, function_class="quadratic", rate="0.92")
    assert isinstance(least, Certificate)
    assert isinstance(chosen, Certificate)
    assert least.prefactor > 100_000
    assert least.informative_from > 100
    assert chosen.prefactor < 3
    assert chosen.informative_from < 15
    assert verify(chosen)
    assert not verify(replace(chosen, prefactor=chosen.prefactor * Fraction(99, 100)))
    assert not certify(tuned, condition, 1, function_class="quadratic", rate="0.89")
    smooth = certify("0.3", 4, 1, rate="0.9")
    assert isinstance(smooth, Certificate)
    assert verify(smooth)
    with pytest.raises(InvalidArgument, match="rate"):
        certify("0.3", 4, 1, function_class="quadratic", rate="1")

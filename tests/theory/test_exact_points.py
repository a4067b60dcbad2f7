"""Both sides of claims at single instances, against numbers computed by hand or by a program of its own.

A row: claim, line (empty for a claim with one), instance in JSON, the measured side (of an equation the list of its
left sides), the terms of the allowed side by name in JSON (of an equation the list of its right sides), and where they
come from. Fractions are texts, "1/3", and compared exactly; decimal numbers to ten digits, and 0.0 to nine places. Of a
probability the measured side is the number of runs in which its event occurred. At an instance that a hypothesis
excludes, the measured side is the hypothesis' name and the terms are "excluded".

Runs of the algorithms give what claims measure at their recorded counterexamples, where no row does.
"""

import csv
import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clusterproof import checker
from clusterproof.algorithms import CFLMGD
from clusterproof.algorithms.averaging import draw_participants
from clusterproof.checker.claims import Frequency, Outside
from clusterproof.checker.claims.statement import Statement
from clusterproof.checker.report.replay import find_line
from clusterproof.checker.report.stored_evidence import read_verdicts
from clusterproof.common import Randomness, generator
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.papers.cfl_mgd import theorem_1
from clusterproof.theory.papers.cfl_mgd.floor import C_4
from clusterproof.theory.papers.fpfc import partial_participation as participation
from clusterproof.theory.papers.fpfc.simplex import SMOOTHING, Simplex


def large_separation(clients: int, own: int, momentum: Fraction, separation: Fraction) -> float:
    """|e_T| of model 1 on two scalar clusters at +-1, from models 1/2 away towards each other."""
    rounds = theorem_1.rounds_of(2 * C_4 / separation, clients, own)
    labels = np.repeat([0, 1], [own, clients - own])
    centers = np.where(labels == 0, 1.0, -1.0)[:, None]
    task = QuadraticMixture(hessians=np.ones((clients, 1, 1)), centers=centers, labels=labels)
    algorithm = CFLMGD(step_size=1.0, momentum=float(momentum))
    trace = run(algorithm, task, rounds=rounds, initial=np.array([[0.5], [-0.5]]))
    return float(separation / 2) * float(np.asarray(trace.errors)[-1, 0])


def pairs_on_the_parabola(clients: int, ratio: float, share: float) -> None:
    """No pair leaves the parabola of the smoothed penalty, so that rounds are linear maps."""
    instance = Simplex(clients, ratio, share)
    algorithm, task = instance.setting.algorithm, instance.task
    state = algorithm.initialise(np.zeros((1, clients)), task)
    randomness = Randomness.from_seed(0, "fpfc", "simplex")
    for done in range(1, instance.rounds + 1):
        state = algorithm.step(state, task, randomness)
        if not done % (2 * clients) or done == instance.rounds:
            assert float(algorithm.difference_lengths(state).max()) <= SMOOTHING


def residuals_on_a_path(clients: int, rounds: int) -> None:
    """||grad_v L_0|| of a hundred rounds with one participant each, by the maps of the rounds."""
    setting = participation.setting_of(clients)
    algorithm = setting.algorithm
    centre = participation.minimiser(clients)
    task = QuadraticMixture(
        hessians=np.full((clients, 1, 1), participation.CURVATURE),
        centers=np.full((clients, 1), centre),
        labels=np.zeros(clients, dtype=int),
    )
    maps, forms = participation.round_maps(setting), participation.residual_rows(setting)
    state = algorithm.initialise(np.zeros((1, 1)), task)
    position = np.zeros(maps.shape[-1])
    position[:clients] = -centre
    randomness, lots = Randomness.from_seed(0), Randomness.from_seed(0).participation
    stream = np.random.default_rng(0)  # the gradients of quadratics draw nothing
    for _ in range(100):
        (active,) = draw_participants(algorithm.participation, clients, state.models, lots)
        state = algorithm.step(state, task, randomness)
        position = maps[active] @ position
        expected = float(np.sqrt(2 * ((forms @ position) ** 2).sum()) / (2 * clients))
        found = algorithm.residuals(state, task, stream).duals
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)


RUNS: dict[str, Callable[..., float | None]] = {
    "cfl-mgd/theorem-1-large-separation": large_separation,
    "fpfc/one-term-waiting": pairs_on_the_parabola,
    "fpfc/theorem-1-participation": residuals_on_a_path,
}


ROWS = []
for PATH in sorted((Path(__file__).parent / "exact_points").glob("*.tsv")):
    with PATH.open(encoding="utf-8", newline="") as FILE:
        ROWS += list(csv.DictReader(FILE, delimiter="\t", quoting=csv.QUOTE_NONE))


def statement_of(claim_id: str, line: str) -> Statement:
    """Return the statement of a claim that has a line."""
    first, *further = checker.find_claim(claim_id).statements
    return next((each for each in further if f"{line}: ".startswith(f"{each.name}: ")), first)


def lines_of_row(claim_id: str, statement: Statement, instance: dict[str, Any]) -> dict[str, Any]:
    """Evaluate an instance with the random numbers for which its row was computed."""
    keys = {name: allowed.key(instance[name]) for name, allowed in statement.space.ranges.items()}
    key = json.dumps(keys, sort_keys=True)
    stream = generator(0, claim_id, statement.name, key) if statement.random else None
    return statement.lines(instance, stream)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['claim']}#{row['line']} {row['instance']}"[:90])
def test_sides_are_those_computed_elsewhere(row: dict[str, str]) -> None:
    statement = statement_of(row["claim"], row["line"])
    line = row["line"].removeprefix(statement.name).removeprefix(": ")
    left, right = json.loads(row["measured"]), json.loads(row["terms"])
    instance = statement.space.decode(json.loads(row["instance"]))
    if right == "excluded":
        with pytest.raises(Outside, match=re.escape(left)):
            lines_of_row(row["claim"], statement, instance)
        return
    sides: Any = lines_of_row(row["claim"], statement, instance)[line]
    if isinstance(sides, Frequency):
        assert (sides.events.sum(), {"allowed": sides.allowed}) == (left, right)
    elif isinstance(right, list):
        assert_same([pair[0] for pair in sides.pairs], left)
        assert_same([pair[1] for pair in sides.pairs], right)
    else:
        assert_same(sides.measured, left)
        assert sides.terms.keys() == right.keys()
        for name, value in right.items():
            assert_same(sides.terms[name], value)
    assert row["source"]


WITHOUT_ROW = {
    ("cfl-mgd", "bounds/test_best_momentum.py"): "momentum-certified momentum-horizon",
    ("cfl-mgd", "bounds/test_tails_from_statements.py"): "theorem-d",
    ("cfl-mgd", "bounds/test_bounds_from_statements.py"): "theorem-a",
    ("cfl-mgd", "papers/cfl_mgd/test_random_claims.py"): """
        assumption-1 assumption-2 assumption-3 assumption-3-ball assumption-5-resampled
        asymptotic-rate-every-loss equation-1-mean equation-12-shifted equation-21 lemma-1-exact lemma-2-every-loss
        lemma-h model-averaging-drift model-averaging-reset norm-inequality""",
    ("cfl-mgd", "papers/cfl_mgd/appendix/test_drawn_rounds.py"): """
        appendix-a3 appendix-a4 appendix-a12 appendix-a15 appendix-a27 lemma-1-union
        lemma-1-worst-case""",
    ("cfl-mgd", "papers/test_planted_faults.py"): """
        algorithm-line-20 appendix-a35 division-by-clients equation-3 equation-8 equation-9-broadcast
        equation-10-line-16 equation-32-fixed-clusters model-averaging-recursion pairwise-error""",
    ("fpfc", "papers/test_planted_faults.py"): """
        one-term-large-augmentation repaired-duals theorem-1-models-positive""",
    ("gradient-loss", "papers/test_planted_faults.py"): """
        equation-3-descent equation-3-euclidean-descent equations-4-7 loss-margin pinning training-loss
        weight-at-start""",
    ("gradient-loss", "papers/gradient_loss/test_races.py"): """
        empty-cluster-rule equation-7-empty fewer-passes reduction-ceiling reduction-up-to same-start sooner
        training-loss-in-passes""",
    ("ifca", "papers/ifca/test_ifca.py"): """
        basin cfl-mgd-same-basin monotone-from-anywhere""",
    ("ifca", "papers/test_planted_faults.py"): "certain-in-basin cfl-mgd-in-basin monotone-in-basin",
    ("scaffold", "papers/scaffold/test_sharp_rounds.py"): "multipliers",
    ("sofl", "papers/sofl/test_map.py"): """
        initialisation mean-field-fixed-point mean-square-distortion-nearest""",
    ("sofl", "papers/test_planted_faults.py"): """
        aggregation-in-cluster equation-10 guarded-count label-shift-ceiling running-mean
        theorem-1-robbins-monro""",
}
"""Tests of claims some lines of which have none of these: their own computation from the same random numbers, or, of
an equation between a run and a formula, a fault of the run that it must show."""


def test_every_line_has_a_run_of_the_algorithm_a_proof_a_row_or_a_test() -> None:
    stored = read_verdicts()
    chains = {name.partition("#")[0] for name in stored if "#" in name}
    rows = {(row["claim"], row["line"]) for row in ROWS}
    without = set()
    for record in stored.values():
        name, _, line = record["claim"].partition("#")
        if name not in checker.REGISTRY or ("#" not in record["claim"] and name in chains):
            continue
        proved = record["proof"] not in (None, "exhausted")
        own = statement_of(name, line).name
        run = (f"{name}#{own}" if own else name) in RUNS
        without |= set() if proved or run or (name, line) in rows else {name}
    assert without == {
        f"{paper}/{name}" for (paper, _), names in WITHOUT_ROW.items() for name in names.split()
    }
    for (_, path), names in WITHOUT_ROW.items():
        text = (Path(__file__).parent / path).read_text(encoding="utf-8").replace("_", "-")
        assert all(name in text for name in names.split()), path


def assert_same(found: Any, written: Any) -> None:
    if isinstance(written, list):
        assert len(found) == len(written)
        for one, other in zip(found, written, strict=True):
            assert_same(one, other)
    elif isinstance(written, float):
        np.testing.assert_allclose(float(found), written, rtol=1e-10, atol=0 if written else 1e-9)
    else:
        assert found == Fraction(written)


def recorded() -> list[Any]:
    """Run, statement, counterexample and measured value of each line that is refuted and has a run."""
    found, seen = [], set()
    for name, record in read_verdicts().items():
        claim_id, written = name.partition("#")[0], dict(record["counterexample"] or {})
        statement, _ = find_line(checker.find_claim(claim_id), written.pop("line", ""))
        key = f"{claim_id}#{statement.name}" if statement.name else claim_id
        if key in RUNS and written and (key, str(record["counterexample"])) not in seen:
            seen.add((key, str(record["counterexample"])))  # a claim's record is that of one of its lines
            found.append(pytest.param(key, statement, written, record["measured"], id=name))
    return found


COUNTEREXAMPLES = recorded()


def test_every_run_has_a_counterexample() -> None:
    assert RUNS.keys() == {each.values[0] for each in COUNTEREXAMPLES}


@pytest.mark.slow(reason="a second or more")
@pytest.mark.parametrize(("key", "statement", "written", "measured"), COUNTEREXAMPLES)
def test_a_run_gives_the_recorded_counterexample(
    key: str, statement: Any, written: dict[str, Any], measured: float
) -> None:
    observed = RUNS[key](**statement.space.arguments(statement.space.decode(written)))
    if observed is not None:
        assert observed == pytest.approx(measured, rel=1e-9, abs=1e-14)

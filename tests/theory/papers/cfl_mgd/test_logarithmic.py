"""Theorems D and A' as claims: their parts, what they make of runs, and faults in their lemmas."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from faulty_runs import MEANT, ROUNDS, meant_task
from sides_by_hand import evaluated

from clusterproof import theory
from clusterproof.algorithms import CFLMGD, run
from clusterproof.theory.bounds.audit_settings import log_cosh_experiment, participation_experiment
from clusterproof.theory.claims import Outside
from clusterproof.theory.claims.judge import judge
from clusterproof.theory.papers.cfl_mgd.repaired.norm_inequality import norm_inequality, row_lemma
from clusterproof.theory.papers.cfl_mgd.repaired.theorem_a_prime import gaussian_step


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize(
    "claim_id",
    [
        *("row-lemma", "norm-inequality", "pairwise-error", "theorem-d", "theorem-a-prime"),
        *("lemma-1-exact", "momentum-helps"),
    ],
)
def test_every_step_holds_on_three_drawn_instances(claim_id: str) -> None:
    claim, stream = theory.find_claim(f"cfl-mgd/{claim_id}"), np.random.default_rng(1)
    slow = {"partial participation"} | ({""} if claim_id.startswith("theorem") else set())
    for statement in (each for each in claim.statements if each.name not in slow):
        inside = 0
        for _ in range(3):
            with suppress(Outside):
                instance = statement.space.draw(stream, 1) or {}
                found = evaluated(statement, instance, claim.id, 300)
                assert not any(one.broken for one in judge(found, 1e-9).values()), statement.name
                inside += 1
        assert inside > 0, statement.name


def test_a_smaller_scale_breaks_the_row_lemma() -> None:
    sides = row_lemma(0.3, 1.0, scale=1.0)
    assert sides.measured > sides.allowed
    sides = row_lemma(0.3, 1.0)
    assert sides.measured <= sides.allowed


def test_the_norm_inequality_says_how_often() -> None:
    sides = norm_inequality(10, 5, 0.1, 1000, np.random.default_rng(0))
    assert sides.failure == 0.1
    assert np.mean(np.asarray(sides.measured) > sides.allowed) < 0.1


def test_the_moment_of_a_gaussian_step_is_an_equation() -> None:
    from fractions import Fraction

    sides = gaussian_step(Fraction(19, 20), Fraction(3))
    (gap,) = sides.measured
    assert abs(gap) < 1e-9


@pytest.mark.slow(reason="several seconds")
def test_true_runs_hold_and_two_wrong_ones_do_not() -> None:
    task = meant_task()
    initial = task.optima + 0.125 * np.eye(20)[:2]
    right = run(MEANT, task, rounds=ROUNDS, seed=0, initial=initial)
    theory.assert_holds("cfl-mgd/theorem-d", task, right)
    wrong = run(
        CFLMGD(step_size=0.2, momentum=0.5), task, rounds=ROUNDS, seed=0, replicates=2, initial=initial
    )
    claimed = replace(wrong, settings=dict(wrong.settings) | {"algorithm": MEANT.settings})
    with pytest.raises(AssertionError, match="theorem-d"):
        theory.assert_holds("cfl-mgd/theorem-d", task, claimed)


@pytest.mark.slow(reason="several seconds")
def test_partial_participation_and_smooth_losses() -> None:
    one = participation_experiment("half, option II, H = 5")
    trace = run(one.algorithm, one.task, rounds=6, seed=0, replicates=3, initial=one.task.optima + 0.03)
    theory.assert_holds("cfl-mgd/theorem-d", one.task, trace)
    smooth = log_cosh_experiment(0.4, 20_000)
    trace = run(smooth.algorithm, smooth.task, rounds=20, seed=0, initial=smooth.task.optima + 0.01)
    theory.assert_holds("cfl-mgd/theorem-a-prime", smooth.task, trace)

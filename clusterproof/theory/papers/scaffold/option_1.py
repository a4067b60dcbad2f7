"""SCAFFOLD I with eta_g = 1 and step sizes up to 1 / L: it diverges on two clients of different curvature."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from clusterproof.algorithms import Scaffold, run
from clusterproof.synthetic import QuadraticMixture
from clusterproof.theory.claims import Sides, at_most, choice, claim, integers, rationals
from clusterproof.theory.claims.confirm import RunDisagrees
from clusterproof.theory.exact import affine_rounds

Flat = Annotated[Fraction, choice(*(Fraction(1, 10**k) for k in range(4)))]
Pace = Annotated[Fraction, rationals(Fraction(1, 4), 1, 4)]
LocalSteps = Annotated[int, integers(1, 12, upwards=True)]


def confirm_growth(flat: Flat, pace: Pace, local_steps: LocalSteps) -> None:
    """Run the algorithm: the error grows over the last hundred rounds.

    Raises
    ------
    RunDisagrees
        If it does not.
    """
    task = QuadraticMixture(
        hessians=np.array([[[1.0]], [[float(flat)]]]),
        centers=np.array([[0.0], [1.0]]),
        labels=np.zeros(2, int),
    )
    algorithm = Scaffold(step_size=float(pace), local_steps=local_steps, option="I")
    models = np.asarray(run(algorithm, task, rounds=200).models)[:, 0]
    errors = np.abs(models - task.pooled_optimum[0])
    if not errors[-20:].max() > errors[80:100].max():
        raise RunDisagrees("scaffold/option-1-diverges: the run does not diverge")


@claim(
    "scaffold/option-1-diverges",
    label="SCAFFOLD I, any steps",
    judges="ours",
    confirm=confirm_growth,
    repaired_by="scaffold/sharp-option-1",
    evaluations=60,
)
def option_1_diverges(flat: Flat, pace: Pace, local_steps: LocalSteps) -> Sides:
    """SCAFFOLD I with eta_g = 1 does not diverge at step sizes up to 1 / L, whatever K.

    Hypotheses
        Two clients phi_i(w) = a_i (w - b_i)^2 / 2 with 0 < a_2 <= a_1 = L, all clients in every round, eta <= 1 / L.

    Statement
        The spectral radius of a round is at most 1.

    Symbols
        eta L ``pace``, a_2 / L ``flat``, K ``local_steps``.

    Source
        Ours: what a reader of Karimireddy et al. (2020), who call option I the more stable one for some applications,
        may expect. Their theorems do not state it: their step, restated, is at most 1 / (81 L K eta_g), which excludes
        this instance. At eta L = 1 the radius tends to more than 1 as a_2 -> 0 for every K >= 6.
    """
    matrix = affine_rounds.scaffold_map(
        np.array([[[1.0]], [[float(flat)]]]), step_size=float(pace), local_steps=local_steps, option="I"
    )
    return at_most(affine_rounds.radius(matrix), one=1)

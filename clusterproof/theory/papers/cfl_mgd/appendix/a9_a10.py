"""(A9) and (A10): the false members' gradients T_2 of a round, and their bound without noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from clusterproof.synthetic import Mixture
from clusterproof.theory.checker import Sides, Stream, at_most, earlier, equal, rationals
from clusterproof.theory.checker.sides import summed
from clusterproof.theory.exact.algebra import AtLeastOne, Client, NotNegative, Number, Share
from clusterproof.theory.papers.cfl_mgd.appendix.runs import Momentum, momentum_run
from clusterproof.theory.papers.cfl_mgd.appendix.tasks import (
    PAPER,
    AnyTask,
    NoisyTask,
    basin_models,
    suppose_units,
)


@PAPER.claim("a9", label="(A9)", kind="identity", budget=20)
def a9(task: NoisyTask, momentum: Momentum, stream: Stream) -> dict[str, Sides]:
    """The gradients of cluster p's clients in C_1 are their mean plus noise.

    Hypotheses
        Option I.

    Statement
        T_2p = |C_1 n C*_p| grad phi_p(chi_1) + sum over C_1 n C*_p of (g_i - grad phi_p(chi_1)), and
        T_2 = (eta/m) sum_(p >= 2) T_2p is what the false members contribute to chi_1^(t+1).

    Symbols
        C_1 n C*_p the clients of cluster p that chose model 1.

    Source
        Zhao et al. (2023), (A9). Identity.

    Checked
        Proved symbolically, client by client and coordinate by coordinate, for the gradients of recorded runs of
        option I as printed; there also the step of model 1, rebuilt with the right side of (A9), against the
        next model.
    """
    one = momentum_run(task, momentum, stream)
    return {
        f"cluster {p + 1}": summed(
            a9_on_symbols(
                Client.of(one.gradients, one.shared(p)),
                task.expected_gradient(one.models, p)[:, None],
                rounding=1e-10,
            ),
            axis=-2,
        )
        for p in range(1, task.clusters)
    }


@a9.proof("algebra")
def a9_on_symbols(one: Client, mean: Number, *, rounding: float = 0.0) -> Sides:
    """The term of each client, in each coordinate."""
    return one.of_deviations(mean, rounding)


@a9.step("next model", budget=20)
def a9_next_model(task: NoisyTask, momentum: Momentum, stream: Stream) -> Sides:
    """The algorithm's next model is that with the right side of (A9)."""
    one = momentum_run(task, momentum, stream)
    false_members = np.zeros_like(one.models)
    for cluster in range(1, task.clusters):
        chosen = one.shared(cluster)[..., None]
        mean = task.expected_gradient(one.models, cluster)
        noise = (one.gradients - mean[:, None]) * chosen
        false_members += chosen.sum(axis=1) * mean + noise.sum(axis=1)
    carried = one.sum_over(one.buffers, own=True) + one.sum_over(one.buffers, own=False)
    total = one.sum_over(one.gradients, own=True) + false_members + momentum * carried
    return equal((one.models - one.weight * total, one.following), rounding=1e-10)


@PAPER.claim("a10", label="(A10)", kind="upper", budget=200)
def a10(task: NoisyTask, stream: Stream) -> dict[str, Sides]:
    """The gradient of another cluster at chi_1 is at most 3 L.

    Hypotheses
        Assumption 1, chi_1 in the basin, and max ||chi*_p|| <= 1 with the constant 1 where Assumption 4
        says <~ 1; so Delta <= 2.

    Statement
        ||grad phi_p(chi_1) - grad phi_p(chi*_p)|| <= L ||chi_1 - chi*_p|| <= 3 L.

    Symbols
        L ``smoothness``.

    Source
        Zhao et al. (2023), (A10). Upper bound in the units in which the largest optimum has norm 1;
        2.5 L is enough. Free of units: ``cfl-mgd/a10-meant``.

    Checked
        Proved symbolically. On random regressions with max ||chi*|| <= 1 and models on the rim of the basin; all
        sides squared, in units of L.
    """
    suppose_units(task)
    model = basin_models(task, stream)[:1]
    triangle = triangles(task, model)
    root = math.sqrt(task.condition_number)
    return a10_on_symbols(
        root=root,
        apart=triangle.apart,
        separation=task.separation,
        share=4 * root * triangle.off / task.separation,
        cosine=triangle.cosine,
        saved=triangle.saved,
    )


@dataclass(frozen=True)
class Triangle:
    """Model, own optimum and another one: ||chi*_1 - chi*_p||, ||chi_1 - chi*_1||, and the cosine between.

    Beside them ||chi_1 - chi*_p||^2 - ||grad phi_p(chi_1)||^2 / L^2, nonnegative by Assumption 1.
    """

    apart: np.ndarray
    off: np.ndarray
    cosine: np.ndarray
    saved: np.ndarray


def triangles(task: Mixture, models: np.ndarray) -> Triangle:
    """Give those of models (n, d) of cluster 1 and every other cluster, (P - 1, n)."""
    others = range(1, task.clusters)
    between, offsets = task.optima[0] - task.optima[1:, None], models - task.optima[0]
    apart, off = np.linalg.norm(between, axis=-1), np.linalg.norm(offsets, axis=-1)
    reach = np.linalg.norm(models - task.optima[1:, None], axis=-1)
    gradient_norms = [np.linalg.norm(task.expected_gradient(models, p), axis=-1) for p in others]
    return Triangle(
        apart,
        off,
        cosine=(between * offsets).sum(axis=-1) / (apart * off),
        saved=reach**2 - (np.stack(gradient_norms) / task.smoothness) ** 2,
    )


Cosine = Annotated[Any, rationals(-1, 1, 4)]


@a10.proof("algebra")
def a10_on_symbols(
    root: AtLeastOne,
    apart: Annotated[Any, rationals(0, 2, 4)],
    separation: Annotated[Any, rationals(0, earlier("apart"), 4)],
    share: Share,
    cosine: Cosine,
    saved: NotNegative,
) -> dict[str, Sides]:
    """From Delta <= ||chi*_1 - chi*_p|| <= 2, the basin and the law of cosines; for ``saved`` see ``Triangle``."""
    radius = share * separation / (4 * root)
    reach = apart**2 + 2 * cosine * apart * radius + radius**2
    return {"smoothness": at_most(reach - saved, reach=reach), "units": at_most(reach, nine=9)}


@PAPER.claim("a10-meant", label="(A10), meant", judges="ours", kind="upper", budget=150)
def a10_meant(task: AnyTask, stream: Stream) -> dict[str, Sides]:
    """The gradient of another cluster at chi_1 is at most L (D + B).

    Hypotheses
        Assumption 1, ||chi_1 - chi*_1|| <= B.

    Statement
        ||grad phi_p(chi_1)|| <= L ||chi_1 - chi*_p|| <= L (D + B), D = max ||chi*_p - chi*_q||.

    Symbols
        D ``diameter``, B ``basin_radius``, L ``smoothness``.

    Source
        What (A10) of Zhao et al. (2023) needs, in any units; b of Theorem A uses it. Upper bound,
        attained at kappa = 1 by two clusters that face away from each other.

    Checked
        Proved symbolically. On random regressions, quadratics and ridge-logistic losses, models on the rim of
        the basin; all sides squared, in units of L.
    """
    offsets = stream.standard_normal((20, task.dimension))
    offsets *= task.basin_radius / np.linalg.norm(offsets, axis=-1, keepdims=True)
    models = task.optima[0] + offsets
    triangle = triangles(task, models)
    return a10_meant_on_symbols(
        diameter=task.diameter,
        apart=triangle.apart,
        radius=task.basin_radius,
        off=triangle.off,
        cosine=triangle.cosine,
        saved=triangle.saved,
    )


@a10_meant.proof(
    "algebra",
)
def a10_meant_on_symbols(
    diameter: NotNegative,
    apart: Annotated[Any, rationals(0, earlier("diameter"), 4)],
    radius: NotNegative,
    off: Annotated[Any, rationals(0, earlier("radius"), 4)],
    cosine: Cosine,
    saved: NotNegative,
) -> dict[str, Sides]:
    """From distances of at most D and B and the law of cosines; for ``saved`` see ``Triangle``."""
    reach = apart**2 + 2 * cosine * apart * off + off**2
    return {
        "smoothness": at_most(reach - saved, reach=reach),
        "geometry": at_most(reach, square=(diameter + radius) ** 2),
    }

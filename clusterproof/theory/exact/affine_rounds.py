"""Rounds on quadratics as affine maps: their matrices, rates and fixed points.

If phi_i(w) = (w - b_i)' A_i (w - b_i) / 2, a round is an affine map of the state. The spectral radius of its matrix
is the rate. ``method_map`` computes the map by evaluating the method at 0 and at the vectors of a basis. Claims
compare runs with closed forms of fixed points (functions ``..._rest``). If all clients start a round from one model,
the round of client i is w -> w - Q_i (w - b_i). If the server takes the mean of the clients, the fixed point is a
mean of the clients' optima with matrices as weights, (sum_i Q_i)^-1 sum_i Q_i b_i. FedAvg with one step has Q_i = eta
A_i, and the fixed point is the optimum of the mean loss. Other matrices Q_i lead to a different fixed point. This
effect is called *client drift*.

All functions take ``hessians`` A_i (m, d, d), symmetric positive definite, and ``centers`` b_i (m, d). Results are in
the units of ``centers``. Clients have equal weights. With ``shares`` p_i (m,), each Q_i has the factor p_i, such as
n_i / n. If clients form groups with equal Hessians, the map for the groups' means has the shares of the groups. The
spectral radius may belong to control variates that do not affect any model. For a double eigenvalue, only half of the
digits are correct.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.linalg import inv, matrix_power, solve

from clusterproof.methods.clustered import cfl_mgd_option_2
from clusterproof.methods.declaration import METHODS
from clusterproof.methods.exact import ExactClients, Functions, exact_clients


def radius(matrix: np.ndarray) -> float:
    """Return the largest absolute eigenvalue of a square matrix."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())


@dataclass(frozen=True)
class RoundMap:
    """A round on a state z with n numbers, z' = matrix z + offset.

    Attributes
    ----------
    matrix
        (n, n).
    offset
        (n,).
    """

    matrix: np.ndarray
    offset: np.ndarray

    @property
    def rate(self) -> float:
        """Spectral radius of the matrix, the asymptotic factor per round.

        If it is at least 1, rounds do not converge.
        """
        return radius(self.matrix)

    @property
    def fixed_point(self) -> np.ndarray:
        """The fixed point. Rounds converge to it if the rate is below 1."""
        return np.asarray(solve(np.eye(len(self.matrix)) - self.matrix, self.offset))


def map_of(after: Callable[[np.ndarray], np.ndarray], size: int) -> RoundMap:
    """Return the affine map of a round, a function ``after`` of states that are the columns of a matrix (n, any)."""
    columns = after(np.concatenate([np.zeros((size, 1)), np.eye(size)], axis=1))
    return RoundMap(columns[:, 1:] - columns[:, :1], columns[:, 0])


def gradients_of(hessians: np.ndarray, centers: np.ndarray | None = None) -> Functions:
    """Return one gradient function per client, for points (d, any). If ``centers`` is None, the centres are 0."""

    def gradient_of(hessian: np.ndarray, center: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return lambda points: np.asarray(hessian @ (points - center[:, None]))

    centers = np.zeros(hessians.shape[:2]) if centers is None else centers
    return [gradient_of(*pair) for pair in zip(hessians, centers, strict=True)]


def products_of(hessians: np.ndarray) -> list[Callable[[Any, np.ndarray], np.ndarray]]:
    """Return one function per client that multiplies vectors (d, any) by the client's constant Hessian."""

    def product_of(hessian: np.ndarray) -> Callable[[Any, np.ndarray], np.ndarray]:
        return lambda _, vectors: np.asarray(hessian @ vectors)

    return list(map(product_of, hessians))


def method_round(
    rule: Callable[..., Any],
    hessians: np.ndarray,
    centers: np.ndarray | None = None,
    *,
    local_steps: int = 1,
    shares: np.ndarray | None = None,
    **settings: Any,
) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    """Return a round of a method as a function of states (n, any), with one state per column, and return n.

    Parameters
    ----------
    rule
        The method's round, such as ``methods.controls.scaffold``, in which all clients take part.
    local_steps, settings
        Settings of the method.

    Returns
    -------
    tuple
        The round and n. The state consists of the method's states in order, with the clients' states as (m, d). The
        state omits states of the server that are means of clients' states.
    """
    method, (m, d) = METHODS[rule], hessians.shape[:2]
    clients = exact_clients(
        gradients_of(hessians, centers), [local_steps] * m, products=products_of(hessians)
    )
    if shares is not None:
        clients = Groups(clients.participants, m, list(shares))
    settings |= {name: [settings[name]] * m for name in method.of_each}
    kept = [name for name in method.states if name not in method.averages]
    sizes = [m * d if name in method.of_clients else d for name in kept]

    def after(state: np.ndarray) -> np.ndarray:
        parts: dict[str, Any] = dict(zip(kept, np.split(state, np.cumsum(sizes)[:-1]), strict=True))
        for name in method.of_clients:
            parts[name] = list(parts[name].reshape(m, d, -1))
        for name, clients_state in method.averages.items():
            parts[name] = clients.mean(parts[clients_state])
        new = method.round(clients, parts, **settings)
        return np.concatenate([np.reshape(new[name], (-1, state.shape[1])) for name in kept])

    return after, sum(sizes)


def method_map(rule: Callable[..., Any], *given: Any, **settings: Any) -> RoundMap:
    """Return the map of a round of a method with affine rounds. ``method_round`` describes the arguments."""
    return map_of(*method_round(rule, *given, **settings))


def method_map_if_affine(rule: Callable[..., Any], *given: Any, **settings: Any) -> RoundMap | None:
    """Return the map of a round of a method, or None if a round is not affine or overflows."""
    after, size = method_round(rule, *given, **settings)
    with np.errstate(all="ignore"):
        found = map_of(after, size)
        if not np.isfinite(found.matrix).all():
            return None
        tried = np.linspace(1, 2, size)[:, None]
        expected, moved = found.matrix @ tried + found.offset[:, None], after(tried)
    size_of_error = 1e-9 * max(np.abs(tried).max(), np.abs(expected).max())
    return found if np.allclose(moved, expected, rtol=1e-6, atol=size_of_error) else None


class Groups(ExactClients):
    """Clients that form groups of equal clients. A sum over all clients is N times the mean over the groups."""

    def total(self, values: Any) -> Any:
        """Return the sum over all N clients: N times the weighted mean of the groups' values."""
        return self.count * self.mean(values)


def round_map(
    hessians: np.ndarray,
    centers: np.ndarray,
    *,
    step_size: float,
    momentum: float,
    local_steps: int,
    reset_momentum: bool = False,
) -> RoundMap:
    """Return the map of option II of CFL-MGD in a fixed cluster, on (chi, u), or on chi alone if u is reset to 0."""
    clients = exact_clients(gradients_of(hessians, centers), [local_steps] * len(hessians))
    dimension = hessians.shape[-1]

    def after(state: np.ndarray) -> np.ndarray:
        model, buffer = (state, 0 * state) if reset_momentum else np.split(state, 2)
        (model,), (buffer,) = cfl_mgd_option_2(
            clients, [model], [buffer], step_size=step_size, momentum=momentum, chosen=[0] * len(hessians)
        )
        return model if reset_momentum else np.concatenate([model, buffer])

    return map_of(after, dimension if reset_momentum else 2 * dimension)


def cfl_mgd_rest(
    hessians: np.ndarray, centers: np.ndarray, *, step_size: float, momentum: float, local_steps: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return the fixed point of option II of CFL-MGD in one cluster, a model and a momentum, (d,) each.

    For one local step, the fixed point is the optimum with u = 0. Option I has this fixed point, as well.
    """
    after = round_map(hessians, centers, step_size=step_size, momentum=momentum, local_steps=local_steps)
    rest = after.fixed_point
    return rest[: hessians.shape[-1]], rest[hessians.shape[-1] :]


def weighted_mean(weights: np.ndarray, centers: np.ndarray, shares: np.ndarray | None = None) -> np.ndarray:
    """Return (sum_i p_i Q_i)^-1 sum_i p_i Q_i b_i.

    Parameters
    ----------
    weights
        Matrices Q_i, (m, d, d).
    centers
        Centres b_i, (m, d).
    shares
        Positive weights p_i, (m,), which need not add up to 1. If None, the weights are equal.

    Returns
    -------
    numpy.ndarray
        The fixed point, (d,).
    """
    if shares is not None:
        weights = shares[:, None, None] / np.sum(shares) * weights
    return np.asarray(solve(weights.sum(axis=0), np.einsum("mij,mj->i", weights, centers)))


def exact_rest(hessians: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return the minimiser of the mean loss, (d,), which corresponds to Q_i = A_i."""
    return weighted_mean(hessians, centers)


def local_rest(centers: np.ndarray) -> np.ndarray:
    """Return the fixed point of LOCAL: the optimum of every client, (m, d)."""
    return centers


def fedavg_rest(
    hessians: np.ndarray,
    centers: np.ndarray,
    *,
    step_size: float,
    local_steps: int | np.ndarray = 1,
    shares: np.ndarray | None = None,
) -> np.ndarray:
    """Return FedAvg's fixed point for H steps and any server step size, (d,), with Q_i = I - (I - eta A_i)^H.

    A step maps w - b to (I - eta A)(w - b). For H = 1, the fixed point is the optimum of the mean loss. As H ->
    infinity, Q_i tends to I, and the fixed point tends to the unweighted mean of the clients' optima. ``local_steps``
    may be one number per client, integers (m,).
    """
    return weighted_mean(covered(hessians, step_size, local_steps), centers, shares)


def covered(hessians: np.ndarray, step_size: float, local_steps: int | np.ndarray) -> np.ndarray:
    """Return C_i = I - (I - eta A_i)^H_i, (m, d, d). Local steps change the model of client i by C_i (b_i - w)."""
    identity = np.eye(hessians.shape[-1])
    counts = np.broadcast_to(local_steps, len(hessians))
    steps = identity - step_size * hessians
    return np.stack([identity - matrix_power(step, count) for step, count in zip(steps, counts, strict=True)])


def pulled(hessians: np.ndarray, centers: np.ndarray, common: np.ndarray, strength: float) -> np.ndarray:
    """Return the minimisers of phi_i(v) + strength / 2 ||v - common||^2, (m, d)."""
    curvature = hessians + strength * np.eye(centers.shape[1])
    right = np.einsum("mij,mj->mi", hessians, centers) + strength * common
    return np.asarray(solve(curvature, right[..., None])[..., 0])


def fedprox_rest(
    hessians: np.ndarray,
    centers: np.ndarray,
    *,
    proximal: float,
    step_size: float | None = None,
    local_steps: int | None = None,
    shares: np.ndarray | None = None,
) -> np.ndarray:
    """Return FedProx's fixed point for H steps, (d,).

    The matrices are Q_i = (I - (I - eta (A_i + mu I))^H) (A_i + mu I)^-1 A_i. The local objective has the Hessian A +
    mu I, and its minimiser is w - (A + mu I)^-1 A (w - b). H steps multiply the difference from this minimiser by (I -
    eta (A + mu I))^H. Without ``local_steps``, clients solve their local problems exactly: Q_i = (A_i + mu I)^-1 A_i.
    """
    return weighted_mean(pulled_cover(hessians, proximal, step_size, local_steps), centers, shares)


def pulled_cover(
    hessians: np.ndarray, proximal: float, step_size: float | None, local_steps: int | None
) -> np.ndarray:
    """Return the matrices Q_i of ``fedprox_rest``, (m, d, d)."""
    curvature = hessians + proximal * np.eye(hessians.shape[-1])
    weights = inv(curvature) @ hessians
    if local_steps is not None and step_size is not None:
        weights = covered(curvature, step_size, local_steps) @ weights
    return np.asarray(weights)


def fedbcd_rest(
    hessians: np.ndarray, centers: np.ndarray, *, proximal: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the fixed point of penalised FedBCD, and the personal models at this point.

    For any number of steps, this is the fixed point of exact FedProx. Since clients continue from their own x_i, the
    fixed point has x_i = argmin phi_i(x) + mu/2 ||x - z||^2 = (A_i + mu I)^-1 (A_i b_i + mu z). With z = mean x_i
    this implies sum_i (A_i + mu I)^-1 A_i (z - b_i) = 0. The paper's rho equals mu / 2.

    Returns
    -------
    tuple
        z (d,) and x_i (m, d).
    """
    common = fedprox_rest(hessians, centers, proximal=proximal)
    return common, pulled(hessians, centers, common, proximal)


def fedbcd_separate_rest(
    hessians: np.ndarray, centers: np.ndarray, *, step_size: float, local_steps: int, pull: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the fixed point of FedBCD-I, and the personal models at this point.

    The matrices are Q_i = (I - c M_i)^-1 (I - M_i), where M_i = (I - eta A_i)^n and c = (1 - pull)^n. A round is x ->
    z + c (b + M (x - b) - z). At the fixed point (I - c M)(x - z) = c (I - M)(b - z), and z = mean x_i requires sum_i
    (x_i - z) = 0. As pull -> 0, Q_i tends to I. As pull -> 1, Q_i tends to FedAvg's matrix, but z changes only by c
    times FedAvg's step, and c tends to 0.

    Returns
    -------
    tuple
        z (d,) and x_i (m, d).
    """
    identity = np.eye(centers.shape[1])
    power = matrix_power(identity - step_size * hessians, local_steps)
    retained = (1 - pull) ** local_steps
    weights = inv(identity - retained * power) @ (identity - power)
    common = weighted_mean(weights, centers)
    return common, common + retained * np.einsum("mij,mj->mi", weights, centers - common)


def per_fedavg_rest(
    hessians: np.ndarray,
    centers: np.ndarray,
    *,
    step_size: float,
    inner_step_size: float,
    local_steps: int = 1,
    second_order: bool,
    shares: np.ndarray | None = None,
) -> np.ndarray:
    """Return Per-FedAvg's fixed point, (d,), with Q_i = I - (I - beta J_i A_i (I - alpha A_i))^tau.

    The gradient after the inner step is A (I - alpha A)(w - b). J_i = I - alpha A_i with the second-order factor (HF),
    and J_i = I without this factor (FO). With the factor and tau = 1, the fixed point minimises the mean of phi_i(w -
    alpha grad phi_i(w)).
    """
    identity = np.eye(centers.shape[1])
    inner = identity - inner_step_size * hessians
    curvature = hessians @ inner
    if second_order:
        curvature = inner @ curvature
    weights = identity - matrix_power(identity - step_size * curvature, local_steps)
    return weighted_mean(weights, centers, shares)


def within_clusters(
    fixed_point: Callable[[np.ndarray, np.ndarray], np.ndarray],
    hessians: np.ndarray,
    centers: np.ndarray,
    labels: np.ndarray,
) -> np.ndarray:
    """Return the fixed point in each cluster, for IFCA, GL-CFL, CFL and SoFL with correct clusters.

    Parameters
    ----------
    fixed_point
        Function that maps the Hessians and centres of a cluster's clients to the fixed point (d,).
    labels
        Cluster of each client, integers (m,) in which each of 0 .. P - 1 occurs.

    Returns
    -------
    numpy.ndarray
        One fixed point per cluster, (P, d).
    """
    groups = [labels == cluster for cluster in range(int(labels.max()) + 1)]
    return np.stack([fixed_point(hessians[group], centers[group]) for group in groups])


def drift_constant(momentum: float, local_steps: int) -> float:
    """Return c_H(beta) = (1/H) sum_(j<H) sum_(k=1..j) (1 - beta^k) / (1 - beta), which is (H - 1) / 2 for beta = 0."""
    inner = [sum(1 - momentum**k for k in range(1, j + 1)) / (1 - momentum) for j in range(local_steps)]
    return sum(inner) / local_steps


def first_order_drift(
    hessians: np.ndarray, centers: np.ndarray, *, momentum: float, local_steps: int
) -> np.ndarray:
    """Return the derivative of the fixed point with respect to eta at eta = 0, (d,).

    The derivative is c_H(beta) (mean A)^-1 mean A_i^2 (chi* - b_i), where chi* is the minimiser of the mean loss.
    """
    mean = hessians.mean(axis=0)
    optimum = np.linalg.solve(mean, np.einsum("nij,nj->i", hessians, centers) / len(hessians))
    pull = np.einsum("nij,njk,nk->i", hessians, hessians, optimum - centers) / len(hessians)
    return np.asarray(drift_constant(momentum, local_steps) * np.linalg.solve(mean, pull))

"""The pages of Per-FedAvg, FedBCD and LOCAL: their rounds on exact quadratics, where these rest, and what is stated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.linalg import matrix_power

from clusterproof.algorithms import FedBCD, Local, PerFedAvg
from clusterproof.algorithms.fedbcd import DEFAULTS
from clusterproof.theory.bounds.hypotheses import Need
from clusterproof.theory.bounds.numbers import apart, short
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.runs import facts
from clusterproof.theory.runs.facts import comes_to_rest, range_words
from clusterproof.theory.runs.page import Entry, Page, Row, Said, entry, page_of, says
from clusterproof.theory.runs.run import AT_REST, Run

MOST_UNKNOWNS = 1200
"""Size of a round's matrix up to which its eigenvalues are computed: a second or two."""


@dataclass(frozen=True, eq=False)
class AffineRounds:
    """Rounds of all clients, with equal weights.

    Attributes
    ----------
    own, common
        M_i and N_i, (m, d, d).
    centers
        b_i, (m, d).
    server
        s; None where no model is common to the clients.
    rest
        The fixed point in closed form: of the server's model (1, d), or of the clients' (m, d).
    """

    own: np.ndarray
    common: np.ndarray
    centers: np.ndarray
    server: float | None
    rest: np.ndarray

    def lead(self, models: np.ndarray) -> np.ndarray:
        """Return where each round leads from the models before it, (T, R, P, d) of (T, R, P, d).

        The clients' models start from the server's, and are computed from its models of all rounds before.
        """
        if self.server is None:
            return self._locally(models, 0 * models)
        clients = np.broadcast_to(models[0], (*models.shape[1:-2], *self.centers.shape))
        led = []
        for model in models:
            clients = self._locally(clients, np.broadcast_to(model, clients.shape))
            led.append(model - self.server * (model - clients.mean(axis=-2, keepdims=True)))
        return np.array(led).reshape(models.shape)

    def leads_to_rest(self) -> float:
        """Return how far a round leads from the closed form, with every client's model at rest."""
        if self.server is None:
            return float(np.abs(self._locally(self.rest, 0 * self.rest) - self.rest).max())
        identity = np.eye(self.centers.shape[-1])
        z = np.broadcast_to(self.rest, self.centers.shape)
        right = np.einsum("mij,mj->mi", self.common, z - self.centers)
        clients = self.centers + np.linalg.solve(identity - self.own, right[..., None])[..., 0]
        return float(np.abs(clients.mean(axis=0) - self.rest[0]).max())

    @cached_property
    def radius(self) -> float | None:
        """Spectral radius of a round; None where it is too large to compute.

        Clients with equal matrices are at their mean, which moves with the server, and apart, which does not.
        """
        size = self.centers.shape[-1]
        flat = np.concatenate([self.own, self.common], axis=1).reshape(len(self.own), -1)
        _, first, counts = np.unique(flat, axis=0, return_index=True, return_counts=True)
        own, common = self.own[first], self.common[first]
        apart = [affine_rounds.radius(matrix) for matrix, count in zip(own, counts, strict=True) if count > 1]
        if self.server is None:
            return max(affine_rounds.radius(matrix) for matrix in own)
        shares, identity = counts / counts.sum(), np.eye(size)
        pull = np.einsum("g,gij->ij", shares, common)
        if not own.any():
            return affine_rounds.radius((1 - self.server) * identity + self.server * pull)
        if size * (1 + len(own)) > MOST_UNKNOWNS:
            return None
        groups = len(own)
        matrix = np.zeros((1 + groups, size, 1 + groups, size))
        matrix[0, :, 0] = (1 - self.server) * identity + self.server * pull
        for group in range(groups):
            matrix[0, :, 1 + group] = self.server * shares[group] * own[group]
            matrix[1 + group, :, 0] = common[group]
            matrix[1 + group, :, 1 + group] = own[group]
        return max([affine_rounds.radius(matrix.reshape((1 + groups) * size, -1)), *apart])

    def _locally(self, clients: np.ndarray, model: np.ndarray) -> np.ndarray:
        away, apart = clients - self.centers, model - self.centers
        moved = self.own @ away[..., None]
        if self.server is not None:
            moved = moved + self.common @ apart[..., None]
        return np.asarray(self.centers + moved[..., 0])


class AffineRun(Run):
    """A run of Per-FedAvg, FedBCD or LOCAL."""

    @property
    def inner_step(self) -> float:
        """alpha of Per-FedAvg, by default half of the step size."""
        given: float | None = self.algorithm.inner_step_size
        return float(self.algorithm.step_size / 2 if given is None else given)

    @property
    def strength(self) -> float:
        """The coefficient of FedBCD's penalty, or the pull of the other variant, or its default."""
        ((name, default),) = DEFAULTS[self.algorithm.variant].items()
        given: float | None = getattr(self.algorithm, name)
        return default if given is None else given

    @cached_property
    def affine(self) -> AffineRounds | None:
        """Its rounds; None off exact quadratics, with some of the clients, or without one fixed point."""
        if not all(need.met for need in self.exact_needs()):
            return None
        assert self.quadratics is not None
        make = {"per-fedavg": _per_fedavg, "fedbcd": _fedbcd, "local": _local}[self.algorithm.name]
        try:
            with np.errstate(all="ignore"):
                rounds = make(self, *self.quadratics)
        except np.linalg.LinAlgError:  # no fixed point, or more than one
            return None
        return rounds if np.isfinite(rounds.rest).all() else None

    @cached_property
    def distances(self) -> np.ndarray:
        """Distances of the models from the fixed point, (rounds + 1, R)."""
        assert self.affine is not None
        return np.asarray(np.linalg.norm(self.models - self.affine.rest, axis=(-1, -2)))

    def stable_needs(self) -> Iterator[Need]:
        """Yield the hypothesis on the step size."""
        algorithm = self.algorithm
        added = self.strength if getattr(algorithm, "variant", "") == "penalised" else 0.0
        scaled, name = algorithm.step_size * (self.client_smoothness + added), "(L + mu)" if added else "L"
        needed, here = apart(2.0, scaled)
        yield Need(scaled < 2, f"eta < {needed}/{name}", f"{here}/{name}")

    def usual_needs(self) -> Iterator[Need]:
        """Yield the hypotheses of all claims about a fixed point."""
        yield from self.exact_needs()
        yield from self.stable_needs()
        yield Need(self.affine is not None, "one fixed point", "none or several")

    @cached_property
    def difference(self) -> tuple[int, float] | None:
        """The first round that ends elsewhere than it should, beyond rounding, and by how much; else None."""
        models = self.models
        if self.affine is None or len(models) == 1 or not all(need.met for need in self.stable_needs()):
            return None
        led, axes = self.affine.lead(models[:-1]), tuple(range(1, models.ndim))
        away = np.abs(models[1:] - led).max(axis=axes, initial=0.0)
        size = np.abs(models).max(axis=axes) + np.abs(self.affine.centers).max()
        wrong = np.flatnonzero(~(away <= 10 * ROUNDING * np.maximum.accumulate(size)[1:]))
        return (int(wrong[0]) + 1, float(away[wrong[0]])) if len(wrong) else None


def _per_fedavg(run: AffineRun, hessians: np.ndarray, centers: np.ndarray) -> AffineRounds:
    algorithm = run.algorithm
    inner, second = run.inner_step, algorithm.gradient == "second-order"
    identity = np.eye(centers.shape[1])
    shrink = identity - inner * hessians
    curvature = shrink @ hessians @ shrink if second else hessians @ shrink
    power = matrix_power(identity - algorithm.step_size * curvature, algorithm.local_steps)
    rest = affine_rounds.per_fedavg_rest(
        hessians,
        centers,
        step_size=algorithm.step_size,
        inner_step_size=inner,
        local_steps=algorithm.local_steps,
        second_order=second,
    )
    return AffineRounds(0 * power, power, centers, 1.0, rest[None])


def _fedbcd(run: AffineRun, hessians: np.ndarray, centers: np.ndarray) -> AffineRounds:
    algorithm, strength, identity = run.algorithm, run.strength, np.eye(centers.shape[1])
    steps, server = algorithm.local_steps, algorithm.server_step_size
    if algorithm.variant == "penalised":
        curvature = hessians + strength * identity
        own = matrix_power(identity - algorithm.step_size * curvature, steps)
        common = (identity - own) @ np.linalg.inv(curvature) * strength
        rest, _ = affine_rounds.fedbcd_rest(hessians, centers, proximal=strength)
        return AffineRounds(own, common, centers, server, rest[None])
    kept = (1 - strength) ** steps
    own = kept * matrix_power(identity - algorithm.step_size * hessians, steps)
    rest, _ = affine_rounds.fedbcd_separate_rest(
        hessians, centers, step_size=algorithm.step_size, local_steps=steps, pull=strength
    )
    common = np.broadcast_to((1 - kept) * identity, own.shape)
    return AffineRounds(own, common, centers, server, rest[None])


def _local(run: AffineRun, hessians: np.ndarray, centers: np.ndarray) -> AffineRounds:
    steps = np.eye(centers.shape[1]) - run.algorithm.step_size * hessians
    power = matrix_power(steps, run.algorithm.local_steps)
    return AffineRounds(power, 0 * power, centers, None, affine_rounds.local_rest(centers))


FEWEST = 3
"""A factor is measured over at least so many rounds."""


def rest_on_run(run: AffineRun) -> Said:
    """Compare a run with the closed form of its fixed point: whether each round leads there.

    A run whose rounds are the stated ones, which contract to the closed form, is one that rests there.
    """
    if run.rounds == 0:
        return says("inconclusive", "no round was run")
    assert run.affine is not None
    off = run.affine.leads_to_rest()
    if off > 100 * ROUNDING * run.size:
        return says("broken", f"a round leads {short(off)} away from the stated point", off, 0.0)
    return comes_to_rest(run, run.distances, "the stated point")


def _optimum_on_run(run: AffineRun) -> Said:
    """Compare with the reading that first-order Per-FedAvg minimises F."""
    if run.rounds == 0:
        return says("inconclusive", "no round was run")
    gap, end = _gap(run), float(run.distances[-1].max())
    tag, words = " (Fallah et al. 2020, as read)", f"{run.algorithm.name} rests"
    if gap == 0:
        return says("holds", f"{words} at the minimiser of F", gap, 0.0, tag)
    if end > gap / 2:
        where = f"{short(gap)} from the minimiser of F"
        return says("inconclusive", f"{short(end)} from its fixed point, which is {where}", end, gap)
    return says("broken", f"{words} {short(gap)} from the minimiser of F, exactly", gap, 0.0, tag)


def _gap(run: AffineRun) -> float:
    """Return the distance of Per-FedAvg's fixed point from the minimiser of F, 0 up to rounding."""
    assert run.affine is not None
    assert run.quadratics is not None
    hessians, centers = run.quadratics
    shrink = np.eye(centers.shape[1]) - run.inner_step * hessians
    minimiser = affine_rounds.weighted_mean(shrink @ hessians @ shrink, centers)
    gap = float(np.linalg.norm(run.affine.rest[0] - minimiser))
    return gap if gap > AT_REST * run.size else 0.0


def _needs(run: AffineRun, option: str = "", value: str = "", *, one_step: bool = False) -> Iterator[Need]:
    """Yield the hypotheses of a claim on one of an algorithm's variants."""
    if option:
        given = getattr(run.algorithm, option)
        yield Need(given == value, f"--{option} {value}", given)
    if one_step:
        yield Need(run.local_steps == 1, "1 local step", str(run.local_steps))
    yield from run.usual_needs()
    if isinstance(run.algorithm, PerFedAvg):
        scaled = run.inner_step * run.client_smoothness
        needed, here = apart(1.0, scaled)
        yield Need(scaled < 1, f"alpha < {needed}/L", f"{here}/L")
    yield from run.needs_its_rounds()


def _rests(label: str, claim: str, option: str = "", value: str = "") -> Row:
    return Row(label, f"baselines/{claim}", rest_on_run, partial(_needs, option=option, value=value))


ROWS: dict[str, tuple[Row, ...]] = {
    "per-fedavg": (
        Row(
            "Optimum",
            "baselines/per-fedavg-fo-optimum",
            _optimum_on_run,
            partial(_needs, option="gradient", value="first-order", one_step=True),
        ),
        _rests("FO rest", "per-fedavg-fo", "gradient", "first-order"),
        _rests("HF rest", "per-fedavg-hf", "gradient", "second-order"),
    ),
    "fedbcd": (
        _rests("At rest", "fedbcd", "variant", "penalised"),
        _rests("FedBCD-I", "fedbcd-separate", "variant", "separate"),
    ),
    "local": (_rests("At rest", "local"),),
}
Command = tuple[str, str]
NEXT: dict[str, Callable[[Any], tuple[Command, Command]]] = {
    "per-fedavg": lambda algorithm: (
        ("run per-fedavg", "not at F's minimum")
        if algorithm.gradient == "second-order"
        else ("run per-fedavg --gradient second-order", "minimises F"),
        ("check baselines/per-fedavg-fo-optimum", "two clients"),
    ),
    "fedbcd": lambda algorithm: (
        ("run fedbcd --local-steps 5", "rests where one step does")
        if algorithm.variant == "separate"
        else ("run fedbcd --variant separate", "another fixed point"),
        ("check baselines/fedbcd", "on 50 drawn tasks"),
    ),
    "local": lambda _: (
        ("run fedbcd --proximal 0.1", "where a common model pulls"),
        ("run fpfc", "groups share a model"),
    ),
}
"""Commands that show something else."""


def personal_page(run: AffineRun) -> Page:
    """Return the page of a run of Per-FedAvg, FedBCD or LOCAL."""
    algorithm, local = run.algorithm, isinstance(run.algorithm, Local)
    who = ", ".join(facts.share_words(algorithm)) or "all clients"
    known = [facts.task_entry(run.task), entry("Run", f"{_options(run)}; {who}", facts.runs_words(run))]
    if run.quadratics is not None and not local:
        known.append(_model_entry(run))
    whose = "largest distance from a cluster's optimum" if local else "distance from the common optimum"
    known += [*facts.error_entry(run, whose), *_rest_entries(run)]
    commands = NEXT[algorithm.name](algorithm)
    width = max(len(command) for command, _ in commands) + 3
    following = [f"clusterproof {command:<{width}}{remark}" for command, remark in commands]
    if run.quadratics is None:
        following = [f"clusterproof run {algorithm.name}   on quadratics: its fixed point, exactly"]
    return page_of(facts.title(run), known, ROWS[algorithm.name], run, entry("Next", *following))


def _options(run: AffineRun) -> str:
    algorithm, smoothness = run.algorithm, run.client_smoothness
    parts = [facts.descent_words(algorithm, smoothness)]
    if isinstance(algorithm, PerFedAvg):
        inner = facts.step_words(run.inner_step * smoothness)
        parts = [algorithm.gradient, *parts, f"personal {inner}"]
    elif isinstance(algorithm, FedBCD):
        name = "mu" if algorithm.variant == "penalised" else "pull"
        parts = [f"{algorithm.variant}, {name} {short(run.strength)}", *parts]
        if algorithm.server_step_size != 1:
            parts.append(f"server's step {short(algorithm.server_step_size)}")
    return ", ".join([*parts, *["samples weigh"] * (getattr(algorithm, "weighting", "") == "samples")])


def _model_entry(run: AffineRun) -> Entry:
    """Say how far the last models are from the clusters' optima, and from the clients' after a personal step."""
    task, last, more = run.task, run.models[-1], ""
    away = np.linalg.norm(last - task.optima, axis=-1)
    if isinstance(run.algorithm, PerFedAvg):
        assert run.quadratics is not None
        hessians, centers = run.quadratics
        stepped = last - run.inner_step * np.einsum("mij,...mj->...mi", hessians, last - centers)
        left = np.linalg.norm(stepped - task.client_optima, axis=-1)
        more = f"after a client's step {range_words(left)} from them"
    return entry("Model", f"one for all clients, {range_words(away)} from the clusters' optima", more)


def _rest_entries(run: AffineRun) -> list[Entry]:
    """Return the entries Rest and Factor, where the fixed point is known."""
    if run.affine is None:
        return []
    lines, radius = [_where(run)], run.affine.radius
    if radius is not None and radius >= 1:
        return [entry("Rest", *lines, f"no run comes there: a round multiplies the way by {radius:.4g}")]
    if run.difference is not None:
        number, size = run.difference
        name = run.algorithm.name
        lines.append(f"but round {number} ends {short(size)} from where {name} with these options leads")
    end = float(run.distances[-1].max())
    lines.append(f"the run ends {'there' if end <= AT_REST * run.size else f'{short(end)} from it'}")
    return [entry("Rest", *lines), _factor(run, radius)]


def _where(run: AffineRun) -> str:
    """Say what the fixed point minimises, and how far it is from the optima."""
    assert run.affine is not None
    assert run.quadratics is not None
    rest, algorithm, task = run.affine.rest, run.algorithm, run.task
    if isinstance(algorithm, Local):
        away = range_words(np.linalg.norm(rest - task.client_optima, axis=-1))
        return f"each client's own optimum, {away} from its cluster's, exactly"
    common = short(float(np.linalg.norm(rest[0] - task.pooled_optimum)))
    if isinstance(algorithm, PerFedAvg):
        return (
            f"fixed point {common} from the common optimum, {short(_gap(run))} from the minimiser of F(w) = "
            "mean phi_i(w - alpha grad phi_i(w)), exactly"
        )
    if algorithm.variant == "separate":
        return f"fixed point {common} from the common optimum, exactly"
    hessians, centers = run.quadratics
    own = affine_rounds.pulled(hessians, centers, rest[0], run.strength)
    return (
        f"minimises sum phi_i(x_i) + mu/2 |x_i - z|^2: z is {common} from the common optimum, the x_i "
        f"{range_words(np.linalg.norm(own - centers, axis=-1))} from the clients' own, exactly"
    )


def _factor(run: AffineRun, radius: float | None) -> Entry:
    """Return the factor by which the distance from the fixed point falls in a round, of the slowest run."""
    limit = "" if radius is None else f"(limit, exactly: {radius:.4f})"
    slowest = run.distances[:, int(np.argmax(run.distances[-1]))]
    far = np.flatnonzero(slowest > AT_REST * run.size)
    last = int(far[-1]) if len(far) else 0
    first = last // 2
    if last - first < FEWEST:
        rested = f"at rest from round {last + 1} on" if len(far) < len(slowest) else "too few rounds"
        return entry("Factor", f"none: {rested} {limit}".rstrip())
    value = float((slowest[last] / slowest[first]) ** (1 / (last - first)))
    return entry("Factor", f"{value:.4f} a round towards the fixed point, rounds {first} to {last}", limit)

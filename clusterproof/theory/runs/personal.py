"""The pages of Per-FedAvg, FedBCD and LOCAL: their rounds on exact quadratics, where these rest, and what is stated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from clusterproof.algorithms import FedBCD, Local, PerFedAvg
from clusterproof.algorithms.fedbcd import DEFAULTS
from clusterproof.theory.bounds.hypotheses import Need
from clusterproof.theory.bounds.numbers import apart, short
from clusterproof.theory.bounds.trace_bound import ROUNDING
from clusterproof.theory.definitions.fedavg import descend
from clusterproof.theory.definitions.fedbcd import fedbcd_round
from clusterproof.theory.definitions.per_fedavg import per_fedavg_round
from clusterproof.theory.exact import affine_rounds
from clusterproof.theory.runs import facts
from clusterproof.theory.runs.facts import comes_to_rest, range_words
from clusterproof.theory.runs.page import Entry, Page, entry, following
from clusterproof.theory.runs.run import AT_REST, Run
from clusterproof.theory.runs.theorem import Row, Said, page_of, says

MOST_UNKNOWNS = 1200
"""Size of a round's matrix up to which its eigenvalues are computed: a second or two."""


class Affine(NamedTuple):
    """Rounds of all clients, with equal weights.

    Attributes
    ----------
    after
        A round, from its definition, of states that are the columns of a matrix (n d, any).
    rest
        The fixed point in closed form, (n, d): of the server's model and, with FedBCD, the clients'; or of these alone.
    radius
        Spectral radius of a round; None where it is too large to compute.
    """

    after: Callable[[np.ndarray], np.ndarray]
    rest: np.ndarray
    radius: float | None

    @property
    def leads_to_rest(self) -> float:
        """How far a round leads from the closed form."""
        state = self.rest.reshape(-1, 1)
        return float(np.abs(self.after(state) - state).max())


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
    def affine(self) -> Affine | None:
        """Its rounds; None off exact quadratics, with some of the clients, or without one fixed point."""
        if not all(need.met for need in self.exact_needs()):
            return None
        assert self.quadratics is not None
        make = {"per-fedavg": _per_fedavg, "fedbcd": _fedbcd, "local": _local}[self.algorithm.name]
        try:
            with np.errstate(all="ignore"):
                after, rest = make(self, *self.quadratics)
        except np.linalg.LinAlgError:  # no fixed point, or more than one
            return None
        if not np.isfinite(rest).all():
            return None
        radius, size = None, rest.size
        if isinstance(self.algorithm, Local):  # clients do not meet
            hessians, _ = self.quadratics
            moves = affine_rounds.covered(hessians, self.algorithm.step_size, self.local_steps)
            radius = max(affine_rounds.radius(np.eye(len(each)) - each) for each in moves)
        elif size <= MOST_UNKNOWNS:
            radius = affine_rounds.map_of(after, size).rate
        return Affine(after, rest, radius)

    @property
    def rest(self) -> np.ndarray:
        """The models of the fixed point, (P, d)."""
        assert self.affine is not None
        return self.affine.rest[: self.models.shape[2]]

    @cached_property
    def distances(self) -> np.ndarray:
        """Distances of the models from the fixed point, (rounds + 1, R)."""
        return np.asarray(np.linalg.norm(self.models - self.rest, axis=(-1, -2)))

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


Made = tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]
"""A round and its fixed point."""


def _per_fedavg(run: AffineRun, hessians: np.ndarray, centers: np.ndarray) -> Made:
    algorithm, count = run.algorithm, [run.local_steps] * len(hessians)
    second, products = algorithm.gradient == "second-order", [partial(_times, each) for each in hessians]
    gradients = affine_rounds.gradients_of(hessians, centers)

    def after(model: np.ndarray) -> np.ndarray:
        given = gradients, products, model, algorithm.step_size, count, run.inner_step
        return np.asarray(per_fedavg_round(*given, not second, server_step=1))

    steps = {"step_size": algorithm.step_size, "inner_step_size": run.inner_step}
    rest = affine_rounds.per_fedavg_rest(
        hessians, centers, **steps, local_steps=run.local_steps, second_order=second
    )
    return after, rest[None]


def _times(matrix: np.ndarray, _: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return np.asarray(matrix @ vectors)


def _fedbcd(run: AffineRun, hessians: np.ndarray, centers: np.ndarray) -> Made:
    algorithm, strength, clients = run.algorithm, run.strength, range(len(hessians))
    step, count, penalised = algorithm.step_size, run.local_steps, algorithm.variant == "penalised"
    gradients = affine_rounds.gradients_of(hessians, centers)

    def after(state: np.ndarray) -> np.ndarray:
        model, *personal = state.reshape(1 + len(hessians), centers.shape[1], -1)
        given = gradients, clients, model, personal, step, [count] * len(hessians), penalised, strength
        moved, own = fedbcd_round(*given, server_step=algorithm.server_step_size)
        return np.concatenate([moved, *own])

    if penalised:
        common, personal = affine_rounds.fedbcd_rest(hessians, centers, proximal=strength)
    else:
        common, personal = affine_rounds.fedbcd_separate_rest(
            hessians, centers, step_size=step, local_steps=count, pull=strength
        )
    return after, np.concatenate([common[None], personal])


def _local(run: AffineRun, hessians: np.ndarray, centers: np.ndarray) -> Made:
    gradients = affine_rounds.gradients_of(hessians, centers)

    def after(state: np.ndarray) -> np.ndarray:
        models = state.reshape(*centers.shape, -1)
        steps = run.algorithm.step_size, run.local_steps
        return np.concatenate([descend(*each, *steps) for each in zip(gradients, models, strict=True)])

    return after, affine_rounds.local_rest(centers)


def rest_on_run(run: AffineRun) -> Said:
    """Compare a run with the closed form of its fixed point: whether each round leads there.

    A run whose rounds are the stated ones, which contract to the closed form, is one that rests there.
    """
    assert run.affine is not None
    off = run.affine.leads_to_rest
    if off > 100 * ROUNDING * run.size:
        return says("broken", f"a round leads {short(off)} away from the stated point", off, 0.0)
    return comes_to_rest(run, run.distances, "the stated point")


def _optimum_on_run(run: AffineRun) -> Said:
    """Compare with the reading that first-order Per-FedAvg minimises F."""
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
    assert run.quadratics is not None
    hessians, centers = run.quadratics
    minimiser = affine_rounds.per_fedavg_rest(
        hessians, centers, step_size=1.0, inner_step_size=run.inner_step, second_order=True
    )
    gap = float(np.linalg.norm(run.rest[0] - minimiser))
    return gap if gap > AT_REST * run.size else 0.0


def _needs(run: AffineRun, option: str = "", value: str = "", *, one_step: bool = False) -> Iterator[Need]:
    """Yield the hypotheses of a claim on one of an algorithm's variants."""
    if option:
        yield run.option(option, value)
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


def personal_page(run: AffineRun) -> Page:
    """Return the page of a run of Per-FedAvg, FedBCD or LOCAL."""
    algorithm, local = run.algorithm, isinstance(run.algorithm, Local)
    who = ", ".join(facts.share_words(algorithm)) or "all clients"
    known = [facts.task_entry(run.task), entry("Run", f"{_options(run)}; {who}", facts.runs_words(run))]
    if run.quadratics is not None and not local:
        known.append(_model_entry(run))
    whose = "largest distance from a cluster's optimum" if local else "distance from the common optimum"
    known += [*facts.error_entry(run, whose), *_rest_entries(run)]
    return page_of(facts.title(run), known, ROWS[algorithm.name], run, following(*_commands(run)))


def _commands(run: AffineRun) -> list[tuple[str, str]]:
    """Return commands that show something else."""
    algorithm = run.algorithm
    if run.quadratics is None:
        return [(f"run {algorithm.name}", "on quadratics: its fixed point, exactly")]
    if isinstance(algorithm, Local):
        some = "run fedbcd --proximal 0.1", "where a common model pulls"
        return [some, ("run fpfc", "groups share a model")]
    if isinstance(algorithm, FedBCD):
        some = "run fedbcd --variant separate", "another fixed point"
        if algorithm.variant == "separate":
            some = "run fedbcd --local-steps 5", "rests where one step does"
        return [some, ("check baselines/fedbcd", "on 50 drawn tasks")]
    some = "run per-fedavg --gradient second-order", "minimises F"
    if algorithm.gradient == "second-order":
        some = "run per-fedavg", "not at F's minimum"
    return [some, ("check baselines/per-fedavg-fo-optimum", "two clients")]


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
    rest, towards = entry("Rest", *lines), "towards the fixed point"
    return [rest, facts.factor_entry(run.distances, AT_REST * run.size, towards, radius)]


def _where(run: AffineRun) -> str:
    """Say what the fixed point minimises, and how far it is from the optima."""
    assert run.affine is not None
    algorithm, task = run.algorithm, run.task
    if isinstance(algorithm, Local):
        away = range_words(np.linalg.norm(run.rest - task.client_optima, axis=-1))
        return f"each client's own optimum, {away} from its cluster's, exactly"
    common = short(float(np.linalg.norm(run.rest[0] - task.pooled_optimum)))
    if isinstance(algorithm, PerFedAvg):
        return (
            f"fixed point {common} from the common optimum, {short(_gap(run))} from the minimiser of F(w) = "
            "mean phi_i(w - alpha grad phi_i(w)), exactly"
        )
    if algorithm.variant == "separate":
        return f"fixed point {common} from the common optimum, exactly"
    assert run.quadratics is not None
    away = range_words(np.linalg.norm(run.affine.rest[1:] - run.quadratics[1], axis=-1))
    return (
        f"minimises sum phi_i(x_i) + mu/2 |x_i - z|^2: z is {common} from the common optimum, the x_i "
        f"{away} from the clients' own, exactly"
    )

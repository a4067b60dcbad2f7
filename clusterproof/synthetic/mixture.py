"""Base class of synthetic tasks: true clusters, true optima, and initial models."""

from __future__ import annotations

import math
import pprint
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from clusterproof.algorithms import Task
from clusterproof.common import InvalidArgument
from clusterproof.common.arrays import convert_array, to_numpy
from clusterproof.common.calls import checked
from clusterproof.common.notebook import html_table
from clusterproof.common.validation import brief, check_count, check_number, check_seed

SPELLED = 24
"""Tasks with more values than this have a short description as repr, instead of a constructor call."""


class Mixture(Task):
    """A task in which each cluster's expected loss is smooth and strongly convex, and has a known minimiser."""

    name: ClassVar[str]
    """Name of the task, used on the command line and as ``task`` in the settings."""

    labels: np.ndarray
    """The true cluster of each client, integers (m,)."""

    call: ClassVar[str | None] = None
    """Call on one line that recreates the task, used as the repr of tasks drawn by Hypothesis strategies."""

    optima: np.ndarray
    """Minimisers chi*_p of the clusters' expected losses, (P, d)."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """Largest curvature of a cluster's expected loss (L)."""

    @property
    @abstractmethod
    def strong_convexity(self) -> float:
        """Smallest curvature of a cluster's expected loss (mu)."""

    @property
    @abstractmethod
    def pooled_optimum(self) -> np.ndarray:
        """Minimiser of the clients' mean expected loss, (d,)."""

    @abstractmethod
    def expected_loss(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return the expected losses phi_p (...) of models (..., d) in cluster p."""

    @abstractmethod
    def expected_gradient(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Return the gradients of phi_p at models; both have the shape (..., d)."""

    @property
    def settings(self) -> dict[str, Any]:
        """The constructor's arguments, as plain JSON values."""
        return {"task": self.name, **{field.name: _plain(self, field) for field in _parameters(self)}}

    @classmethod
    @abstractmethod
    def random(cls, *, clusters: int, clients: int, dimension: int, seed: int = 0) -> Mixture:
        """Draw a random task with these sizes; subclasses have additional keyword parameters with defaults."""

    @classmethod
    def numbers_held(cls, sizes: Mapping[str, int]) -> int:
        """Estimate the number of values in a task that ``random`` draws with these integer arguments."""
        return sizes["clients"] * sizes["dimension"]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "random" in vars(cls):
            setattr(cls, "random", classmethod(checked(vars(cls)["random"].__func__)))  # noqa: B010  (mypy refuses to assign methods)
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # dataclass does not replace a __repr__ of the class itself

    @property
    def code(self) -> str:
        """Python code that recreates the task bit for bit, as a constructor call."""
        settings = self.settings
        printed = {field.name: field.default for field in _parameters(self) if field.default is not MISSING}
        arguments_given = {
            name: value
            for name, value in settings.items()
            if name != "task" and not (name in printed and printed[name] == value)
        }
        arguments = [
            f"{name}=" + pprint.pformat(value, width=90, compact=True).replace("\n", "\n    ")
            for name, value in arguments_given.items()
        ]
        one_line = f"{type(self).__name__}({', '.join(arguments)})"
        if len(one_line) <= 96 and "\n" not in one_line:
            return one_line
        return f"{type(self).__name__}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"

    def __repr__(self) -> str:
        if self.call is not None:
            return self.call
        numbers = sum(np.size(getattr(self, field.name)) for field in _parameters(self))
        if numbers <= SPELLED:
            return one_line(self.code)
        facts = ", ".join(f"{name}={fact}" for name, fact in self._facts.items())
        return f"<{type(self).__name__}: {facts}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        # without this method, Hypothesis prints a dataclass field by field, which is not valid code
        printer.text(repr(self))

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, self._facts)

    @property
    def _facts(self) -> dict[str, object]:
        """Sizes of the task, and all parameters that are numbers or strings."""
        facts: dict[str, object] = {
            "clusters": self.clusters,
            "clients": self.clients,
            "dimension": self.dimension,
        }
        for field in _parameters(self):
            value = getattr(self, field.name)
            if isinstance(value, str) or (np.ndim(value) == 0 and value is not None):
                facts[field.name] = value if isinstance(value, str) else f"{value:g}"
        return facts

    @property
    def client_samples(self) -> np.ndarray:
        """Number of samples of each client for weighted averages (n_i), (m,); by default, all are 1."""
        return np.ones(self.clients, dtype=np.int64)

    @property
    def clusters(self) -> int:
        """Number of true clusters (P)."""
        return len(self.optima)

    @property
    def dimension(self) -> int:
        """Number of parameters of a model (d)."""
        return int(self.optima.shape[-1])

    @property
    def client_optima(self) -> np.ndarray:
        """Minimiser of each client's cluster, (m, d)."""
        return np.asarray(self.optima[self.labels])

    @property
    def condition_number(self) -> float:
        """Condition number kappa = L / mu."""
        return self.smoothness / self.strong_convexity

    @cached_property
    def proportions(self) -> np.ndarray:
        """Each cluster's share of the clients, l_p = |C*_p| / m, (P,)."""
        return np.bincount(self.labels, minlength=self.clusters) / self.clients

    @cached_property
    def _distances(self) -> np.ndarray:
        differences = self.optima[:, None, :] - self.optima[None, :, :]
        return np.asarray(np.linalg.norm(differences, axis=-1)[~np.eye(self.clusters, dtype=bool)])

    @property
    def separation(self) -> float:
        """Smallest distance between two clusters' optima (Delta), or infinity if there is only one cluster."""
        return float(self._distances.min()) if self.clusters > 1 else float("inf")

    @property
    def diameter(self) -> float:
        """Largest distance between two clusters' optima (D), or 0 if there is only one cluster."""
        return float(self._distances.max()) if self.clusters > 1 else 0.0

    @property
    def basin_radius(self) -> float:
        """Largest distance of initial models from the optima in Assumption 4 of CFL-MGD, sqrt(mu / L) Delta / 4."""
        return 0.25 * self.separation / math.sqrt(self.condition_number)

    def reference_optima(self, target: str) -> np.ndarray:
        """Return the optima of the clusters, of the pooled loss, or of the clients, as ``target`` states."""
        return {
            "clusters": lambda: self.optima,
            "pooled": lambda: self.pooled_optimum[None, :],
            "clients": lambda: self.client_optima,
        }[target]()

    def initial_models(
        self, count: int, shape: tuple[int, ...], generator: np.random.Generator
    ) -> np.ndarray:
        """Draw initial models in random directions from the optima.

        With one model per cluster, model p starts half a ``basin_radius`` from optimum p, inside the region that the
        theorems require. With any other number of models, all models start half a ``separation`` from the pooled
        optimum. In a task with one cluster, all models start at distance 1 from the optimum. The result is (*shape,
        count, d).
        """
        directions = generator.standard_normal((*shape, count, self.dimension))
        directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
        if self.clusters == 1:
            return np.asarray(self.pooled_optimum + directions)
        if count == self.clusters:
            return np.asarray(self.optima + 0.5 * self.basin_radius * directions)
        return np.asarray(self.pooled_optimum + 0.5 * self.separation * directions)


def one_line(code: str) -> str:
    """Write code on one line."""
    return " ".join(code.split()).replace("( ", "(").replace(", )", ")")


def _parameters(task: Any) -> list[Any]:
    """Return the dataclass fields that are arguments of a task's constructor."""
    return [field for field in fields(task) if field.init] if is_dataclass(task) else []


def _plain(task: Any, parameter: Any) -> Any:
    """Convert a parameter's value to a JSON value of the annotated type."""
    value = getattr(task, parameter.name)
    if isinstance(value, np.ndarray):
        return value.tolist()
    return {"float": float, "int": int}.get(parameter.type, lambda given: given)(value)


def check_samples(samples: Any) -> None:
    """Raise ``InvalidArgument`` unless ``samples`` is a valid number of samples for a batch."""
    remedy = "give the number of samples in a client's batch"
    check_count("samples", samples, at_least=1, at_most=2**53, remedy=remedy)


def check_random(
    dimension: Any, seed: Any, *, separation: Any = 1, condition_number: Any = 1, above_one: bool = False
) -> None:
    """Check arguments that every method ``random`` has; ``above_one`` requires a condition number above 1.

    Raises
    ------
    InvalidArgument
        If an argument is out of range.
    """
    check_count("dimension", dimension, at_least=1, remedy="give the number of parameters")
    limit = {"above": 1} if above_one else {"at_least": 1}
    check_number("condition_number", condition_number, **limit, remedy="the condition number is L / mu")
    check_number("separation", separation, above=0, remedy="give the distance between clusters")
    check_seed(seed)


def read_array(argument: str, value: Any, axes: str, remedy: str) -> np.ndarray:
    """Convert a value to a nonempty, finite floating-point array; ``axes`` names its axes, for example ``"P, d"``.

    Raises
    ------
    InvalidArgument
        If the value is not such an array.
    """
    rule = f"must be a finite array ({axes})"
    given = read_doubles(argument, value, rule, remedy)
    if given.ndim != axes.count(",") + 1 or not given.size or not np.isfinite(given).all():
        raise InvalidArgument(argument, given.shape, rule, remedy)
    return given


def read_doubles(argument: str, value: Any, rule: str, remedy: str) -> np.ndarray:
    """Convert a value to a NumPy array in double precision; see ``convert_array`` for parameters and errors."""
    return np.asarray(to_numpy(convert_array(argument, value, rule, remedy)), dtype=float)


def check_labels(labels: Any, clusters: int | None = None) -> np.ndarray:
    """Check labels (m,), integers from 0 to P - 1 that each occur at least once; if ``clusters`` is None, infer P.

    Raises
    ------
    InvalidArgument
        If the labels are not such integers.
    """
    rule = f"must be integers in which each of 0 .. {clusters - 1 if clusters else 'P - 1'} occurs"
    remedy = "give every client its true cluster, and every cluster a client"
    given = to_numpy(convert_array("labels", labels, rule, remedy, integers=True))
    present = np.unique(given)
    if given.ndim != 1 or not given.size or not np.array_equal(present, np.arange(clusters or len(present))):
        raise InvalidArgument("labels", brief(given.tolist()), rule, remedy)
    return given


def make_labels(clients: int, clusters: int, proportions: Any = None) -> np.ndarray:
    """Return sorted labels (m,) of m clients in P clusters with given proportions; no cluster is empty.

    ``proportions`` contains P positive numbers l_p, which are rescaled to sum 1. If None, all are equal.

    Raises
    ------
    InvalidArgument
        If there are more clusters than clients or the proportions are not P positive numbers.
    """
    check_count("clusters", clusters, at_least=1, remedy="give the number of true clusters")
    check_count("clients", clients, at_least=1, remedy="give the number of clients")
    if clusters > clients:
        rule = f"must be at most the number of clients ({clients})"
        raise InvalidArgument("clusters", clusters, rule, "reduce the number of clusters, or add clients")
    rule, remedy = f"must be {clusters} positive finite numbers", "give each cluster's share of the clients"
    given = np.ones(clusters) if proportions is None else proportions
    shares = read_doubles("proportions", given, rule, remedy)
    if shares.shape != (clusters,) or not (np.isfinite(shares) & (shares > 0)).all():
        raise InvalidArgument("proportions", brief(shares.tolist()), rule, remedy)
    exact = shares / shares.sum() * clients
    sizes = np.maximum(1, np.floor(exact).astype(int))
    while sizes.sum() < clients:
        sizes[np.argmax(exact - sizes)] += 1
    while sizes.sum() > clients:
        sizes[np.argmax(np.where(sizes > 1, sizes - exact, -np.inf))] -= 1
    return np.repeat(np.arange(clusters), sizes)


def place_optima(
    clusters: int, dimension: int, separation: float, generator: np.random.Generator
) -> np.ndarray:
    """Draw random optima (P, d) with mean zero.

    The smallest distance between two optima is exactly ``separation``.
    """
    centers = generator.standard_normal((clusters, dimension))
    centers -= centers.mean(axis=0)
    if clusters == 1:
        return centers
    differences = centers[:, None, :] - centers[None, :, :]
    distances = np.linalg.norm(differences, axis=-1)
    return np.asarray(centers * (separation / distances[~np.eye(clusters, dtype=bool)].min()))


def geometric_spectrum(dimension: int, condition_number: float) -> np.ndarray:
    """Return d eigenvalues from 1 / kappa to 1 in geometric progression, (d,).

    Raises
    ------
    InvalidArgument
        If the dimension is 1 and the condition number is not 1.
    """
    if dimension == 1 and condition_number != 1:
        raise InvalidArgument(
            "condition_number", condition_number, "must be 1 in dimension 1", "increase the dimension"
        )
    return np.geomspace(1 / condition_number, 1.0, dimension)

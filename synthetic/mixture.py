"""What all synthetic tasks share: true clusters, true optima, and where a run starts."""

from __future__ import annotations

import math
import pprint
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from clusterproof.algorithms import InvalidArgument, sum_gradients
from clusterproof.algorithms.parts.notebook import html_table
from clusterproof.algorithms.validation import check_count

SPELLED = 24
"""Most numbers of a task whose short form is the call that makes it."""


class Mixture(ABC):
    """A task whose cluster objectives are smooth and strongly convex with known minimisers."""

    name: ClassVar[str]
    """Name on the command line, and ``task`` in the settings."""

    labels: np.ndarray
    """The true cluster of each client, integers (m,)."""

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
        """Minimiser of the mean over clients of their expected losses, (d,)."""

    @abstractmethod
    def expected_loss(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Expected loss phi_p of models (..., d) in a cluster, (...)."""

    @abstractmethod
    def expected_gradient(self, model: np.ndarray, cluster: int) -> np.ndarray:
        """Gradient of phi_p at models (..., d), (..., d)."""

    @abstractmethod
    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Losses of models (..., P, d) on the samples of clients (..., k): (..., k, P)."""

    @abstractmethod
    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Gradients at the clients' own points (..., k, d): (..., k, d)."""

    def gradient_sums(
        self,
        models: np.ndarray,
        clients: np.ndarray,
        assignments: np.ndarray,
        generator: np.random.Generator,
    ) -> np.ndarray:
        """Sum of the gradients of each cluster's participants at its model: (..., P, d)."""
        return np.asarray(sum_gradients(self, models, clients, assignments, generator))

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Everything needed to make the task again, as plain JSON values."""

    @classmethod
    @abstractmethod
    def random(cls, *, clusters: int, clients: int, dimension: int, seed: int = 0) -> Mixture:
        """Draw a task of these sizes; what else a task can be told are keywords with defaults."""

    @classmethod
    def numbers_held(cls, sizes: Mapping[str, int]) -> int:
        """About how many numbers a task holds.

        Parameters
        ----------
        sizes
            ``clusters``, ``clients``, ``dimension``, and every other integer that ``random`` was given.
        """
        return sizes["clients"] * sizes["dimension"]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # a dataclass keeps one that is the class's own

    @property
    def code(self) -> str:
        """The call that makes the task again, valid Python and exact to the last bit."""
        settings = self.settings
        printed = {each.name: each.default for each in _parameters(self) if each.default is not MISSING}
        told = {
            name: value
            for name, value in settings.items()
            if name != "task" and not (name in printed and printed[name] == value)
        }
        arguments = [
            f"{name}=" + pprint.pformat(value, width=90, compact=True).replace("\n", "\n    ")
            for name, value in told.items()
        ]
        one_line = f"{type(self).__name__}({', '.join(arguments)})"
        if len(one_line) <= 96 and "\n" not in one_line:
            return one_line
        return f"{type(self).__name__}(\n" + "".join(f"    {each},\n" for each in arguments) + ")"

    def __repr__(self) -> str:
        numbers = sum(np.size(getattr(self, each.name)) for each in _parameters(self))
        if numbers <= SPELLED:  # hypothesis prints it, so that a failing example can be pasted
            return " ".join(self.code.split()).replace("( ", "(").replace(", )", ")")
        facts = ", ".join(f"{name}={fact}" for name, fact in self._facts.items())
        return f"<{type(self).__name__}: {facts}>"

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, self._facts)

    @property
    def _facts(self) -> dict[str, object]:
        """Sizes, and every parameter that is one number or word."""
        facts: dict[str, object] = {
            "clusters": self.clusters,
            "clients": self.clients,
            "dimension": self.dimension,
        }
        for each in _parameters(self):
            value = getattr(self, each.name)
            if isinstance(value, str) or (np.ndim(value) == 0 and value is not None):
                facts[each.name] = value if isinstance(value, str) else f"{value:g}"
        return facts

    @property
    def clients(self) -> int:
        """Number of clients (m)."""
        return len(self.labels)

    @property
    def client_samples(self) -> np.ndarray:
        """Samples that each client counts for where samples weigh (n_i), (m,); as many for all."""
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
        """Each client's cluster's minimiser, (m, d)."""
        return np.asarray(self.optima[self.labels])

    @property
    def condition_number(self) -> float:
        """Kappa = L / mu."""
        return self.smoothness / self.strong_convexity

    @cached_property
    def proportions(self) -> np.ndarray:
        """Share of the clients in each cluster, l_p = |C*_p| / m, (P,)."""
        return np.bincount(self.labels, minlength=self.clusters) / self.clients

    @cached_property
    def _distances(self) -> np.ndarray:
        differences = self.optima[:, None, :] - self.optima[None, :, :]
        return np.asarray(np.linalg.norm(differences, axis=-1)[~np.eye(self.clusters, dtype=bool)])

    @property
    def separation(self) -> float:
        """Smallest distance of two clusters' optima (Delta); infinite for one cluster."""
        return float(self._distances.min()) if self.clusters > 1 else float("inf")

    @property
    def diameter(self) -> float:
        """Largest distance of two clusters' optima (D); 0 for one cluster."""
        return float(self._distances.max()) if self.clusters > 1 else 0.0

    @property
    def basin_radius(self) -> float:
        """The paper's radius of initialisation, sqrt(mu / L) Delta / 4 (Assumption 4)."""
        return 0.25 * self.separation / math.sqrt(self.condition_number)

    def reference_optima(self, target: str) -> np.ndarray:
        """Minimisers that an algorithm aims at: of clusters, of the pooled loss, of clients."""
        return {
            "clusters": lambda: self.optima,
            "pooled": lambda: self.pooled_optimum[None, :],
            "clients": lambda: self.client_optima,
        }[target]()

    def initial_models(
        self, count: int, shape: tuple[int, ...], generator: np.random.Generator
    ) -> np.ndarray:
        """Draw starting points in random directions.

        With one model a cluster, model p starts half a ``basin_radius`` from optimum p, inside
        the region that the theorems ask for. With any other number all models start half a
        ``separation`` from the pooled optimum. A single cluster starts at distance 1.

        Parameters
        ----------
        count
            Number of models.
        shape
            Replicate axes.

        Returns
        -------
        numpy.ndarray
            (*shape, count, d).
        """
        directions = generator.standard_normal((*shape, count, self.dimension))
        directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
        if self.clusters == 1:
            return np.asarray(self.pooled_optimum + directions)
        if count == self.clusters:
            return np.asarray(self.optima + 0.5 * self.basin_radius * directions)
        return np.asarray(self.pooled_optimum + 0.5 * self.separation * directions)


def _parameters(task: Any) -> list[Any]:
    """Fields of a task that its constructor takes."""
    return [each for each in fields(task) if each.init] if is_dataclass(task) else []


def read_array(argument: str, value: Any, axes: str, remedy: str) -> np.ndarray:
    """Read a floating array whose axes have the given names, such as ``"P, d"``.

    Raises
    ------
    InvalidArgument
        If it is not a finite array of numbers with so many axes, none of them empty.
    """
    try:
        given = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.ndim != axes.count(",") + 1 or not given.size or not np.isfinite(given).all():
        shown = given.shape if given.size else value
        raise InvalidArgument(argument, shown, f"must be a finite array ({axes})", remedy)
    return given


def check_labels(labels: Any, clusters: int | None = None) -> np.ndarray:
    """Read labels, integers 0 .. P - 1 in which every cluster occurs.

    Parameters
    ----------
    labels
        (m,).
    clusters
        P; one more than the largest label where None.

    Raises
    ------
    InvalidArgument
        If they are not such integers.
    """
    try:
        given = np.asarray(labels)
    except ValueError:  # lists of unequal lengths
        given = np.empty((0, 0))
    valid = given.ndim == 1 and given.size > 0 and np.issubdtype(given.dtype, np.integer)
    count = clusters or (int(given.max()) + 1 if valid else 1)
    if not valid or not np.array_equal(np.unique(given), np.arange(count)):
        raise InvalidArgument(
            "labels",
            given.tolist() if 0 < given.size <= 20 else "...",
            f"must be integers in which each of 0 .. {count - 1} occurs",
            "give every client its true cluster, and every cluster a client",
        )
    return given.astype(np.int64)


def make_labels(clients: int, clusters: int, proportions: Any = None) -> np.ndarray:
    """Deal clients to clusters in given proportions, at least one to each.

    Parameters
    ----------
    clients, clusters
        m and P.
    proportions
        l_p, P positive numbers (rescaled to sum to 1); equal where None.

    Returns
    -------
    numpy.ndarray
        Sorted labels (m,).

    Raises
    ------
    InvalidArgument
        If there are more clusters than clients or the proportions are not P positive numbers.
    """
    check_count("clusters", clusters, at_least=1, remedy="give the number of true clusters")
    check_count("clients", clients, at_least=1, remedy="give the number of clients")
    if clusters > clients:
        raise InvalidArgument(
            "clusters",
            clusters,
            f"must be at most the number of clients ({clients})",
            "ask for fewer clusters or add clients",
        )
    shares = np.ones(clusters) if proportions is None else np.asarray(proportions, dtype=float)
    if shares.shape != (clusters,) or not (np.isfinite(shares) & (shares > 0)).all():
        raise InvalidArgument(
            "proportions",
            np.asarray(proportions).tolist(),
            f"must be {clusters} positive finite numbers",
            "give each cluster's share of the clients",
        )
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
    """Draw random centres whose smallest distance is exactly ``separation``.

    Returns
    -------
    numpy.ndarray
        (P, d), with mean zero.
    """
    centers = generator.standard_normal((clusters, dimension))
    centers -= centers.mean(axis=0)
    if clusters == 1:
        return centers
    differences = centers[:, None, :] - centers[None, :, :]
    distances = np.linalg.norm(differences, axis=-1)
    return np.asarray(centers * (separation / distances[~np.eye(clusters, dtype=bool)].min()))


def geometric_spectrum(dimension: int, condition_number: float) -> np.ndarray:
    """Eigenvalues from 1 / kappa to 1 in geometric progression, (d,).

    Raises
    ------
    InvalidArgument
        If one dimension is asked to have a condition number other than 1.
    """
    if dimension == 1 and condition_number != 1:
        raise InvalidArgument(
            "condition_number", condition_number, "must be 1 in dimension 1", "raise the dimension"
        )
    return np.geomspace(1 / condition_number, 1.0, dimension)

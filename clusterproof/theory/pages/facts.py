"""Records of the facts on the page of a run, as numbers and names. ``words`` writes sentences about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from clusterproof.theory.bounds.hypotheses import Hypothesis, Value
from clusterproof.theory.pages.records import Outcome


@dataclass(frozen=True)
class TaskFacts:
    """The task of a run.

    Attributes
    ----------
    kind
        Name of the task for the option ``--task``.
    data
        How clients evaluate their losses: ``"fresh"``, ``"fixed"``, ``"exact"`` or ``"noisy"``.
    clients, dimension
        m and d.
    sizes
        Number of clients of each cluster.
    constants
        Numbers of the task, indexed by their names in the glossary.
    """

    kind: str
    data: Literal["fresh", "fixed", "exact", "noisy"]
    clients: int
    dimension: int
    sizes: tuple[int, ...]
    constants: Mapping[str, float]


@dataclass(frozen=True)
class RunFacts:
    """The settings of a run.

    Attributes
    ----------
    algorithm
        Name of the algorithm, and whether the algorithm belongs to the library.
    rounds, runs, seed
        Number of rounds, number of runs, and the seed.
    same_start
        Whether all runs have the same initial models.
    participants
        Number of participants in a round.
    step
        Step size, in units of 1 / L.
    settings
        All settings of the algorithm.
    usual
        Names of the settings that have their default values.
    """

    algorithm: str
    library: bool
    rounds: int
    runs: int
    seed: int
    same_start: bool
    participants: int
    step: float | None
    settings: Mapping[str, Value]
    usual: frozenset[str]


@dataclass(frozen=True)
class Lost:
    """A cluster that lost its model: after the last round, at most half of the cluster's clients choose the model.

    The fields are the cluster, its number of clients, the number of runs in which it lost its model, and the model that
    most of its clients choose instead.
    """

    cluster: int
    clients: int
    runs: int
    model: int


@dataclass(frozen=True)
class Choices:
    """The clients' choices of models, in a run with one model per cluster.

    Attributes
    ----------
    clusters
        Number of clusters.
    found
        Whether, in every run, all clients choose the model of their cluster in the last round.
    wrong, total
        Number of wrong choices, and number of all choices.
    chance
        Upper bound on the probability of a wrong choice in the first round, or None if no bound is known.
    lost
        Clusters that lost their model.
    """

    clusters: int
    found: bool
    wrong: int
    total: int
    chance: float | None
    lost: tuple[Lost, ...]


@dataclass(frozen=True)
class GroupFacts:
    """Groups of clients after the last round.

    Attributes
    ----------
    true
        Number of true clusters.
    fewest, most
        Smallest and largest number of groups among the runs.
    right, runs
        Number of runs in which the groups equal the true clusters, and number of all runs.
    since
        Last round in which the groups change, or None for a run without rounds.
    purity, least_purity
        Median and smallest purity over the runs, or None if the page does not show the purity.
    absent
        Number of clients that have never taken part in some run.
    merged
        Pairs of true clusters that share a group, for the first run with such a pair.
    empty, empty_runs
        Models without clients in the first run that has such models, and number of runs that have such models.
    distance
        Largest distance between the mean model of a group and its optimum, or None if it is unknown.
    remedy
        An option that may separate merged clusters, or bring clients to models that no client chooses.
    """

    true: int
    fewest: int
    most: int
    right: int
    runs: int
    since: int | None
    purity: float | None = None
    least_purity: float | None = None
    absent: int = 0
    merged: tuple[tuple[int, int], ...] = ()
    empty: tuple[int, ...] = ()
    empty_runs: int = 0
    distance: float | None = None
    remedy: str = ""


@dataclass(frozen=True)
class CutFacts:
    """A split of a cluster in two: the round, the numbers of clients, and the largest cosine across the split."""

    round: int
    sizes: tuple[int, int]
    cosine: float | None


@dataclass(frozen=True)
class Cuts:
    """The splits in the first run."""

    cuts: tuple[CutFacts, ...]


@dataclass(frozen=True)
class ErrorFacts:
    """The initial and the final error.

    Attributes
    ----------
    quantity
        Name of the error.
    start, end
        Medians over the runs.
    upper, largest
        95 % quantile and largest value, over the runs, of the error after the last round. The quantile is None for few
        runs, and the largest value is None for one run.
    nearest, farthest
        Smallest and largest distance between the single model and a cluster's optimum after the last round, or None if
        there are several models.
    stepped
        The distances ``nearest`` and ``farthest`` after one personal step of each client, or None for algorithms
        without such a step.
    """

    quantity: str
    start: float
    end: float
    upper: float | None = None
    largest: float | None = None
    nearest: float | None = None
    farthest: float | None = None
    stepped: tuple[float, float] | None = None


@dataclass(frozen=True)
class Rest:
    """The fixed point of the rounds without randomness.

    Attributes
    ----------
    point
        Name of the point in the glossary.
    distance
        Exact distance between the fixed point and the common optimum, or None if the page does not show it.
    end
        Distance between the last models and the fixed point, or None if the run is random.
    rounding
        Largest ``end`` that we attribute to rounding.
    factor
        Asymptotic factor by which the distance decreases per round, or None if it is unknown.
    assumes
        Conditions for the fixed point that the run does not satisfy: ``"all clients"``, ``"exact gradients"``.
    constants
        Further distances.
    """

    point: str
    distance: float | None
    end: float | None
    rounding: float
    factor: float | None
    assumes: tuple[str, ...] = ()
    constants: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Rate:
    """The factor by which a distance decreases per round.

    Attributes
    ----------
    of
        Name of the distance.
    value
        Factor measured over the rounds ``first`` to ``last``. None if there is a ``reason`` or an ``unmet`` hypothesis.
    low, high
        Ends of the 95 % confidence interval, or of the range of the runs' factors.
    spread
        Whether ``low`` and ``high`` are the ends of the range of the runs' factors. With 20 or more runs, this is the
        range of 95 % of the factors.
    exact
        Factor of the same rounds without noise.
    limit
        Exact asymptotic factor, that is, the factor after many rounds.
    root_mean_square
        Exact factor of the root mean square error.
    floor, computed_floor
        Measured and computed error over the last rounds (noise floor).
    floor_reached
        Whether the error has reached the noise floor.
    window
        Number of last rounds over which the noise floor is averaged.
    cluster
        The slowest cluster, counted from 1, or None for algorithms with one model.
    of_all
        Whether every cluster has a factor.
    reason, remedy
        Why there is no factor, and an option that may help.
    unmet
        The hypothesis that is not satisfied, so that there is no factor.
    """

    of: str
    value: float | None = None
    first: int = 0
    last: int = 0
    low: float | None = None
    high: float | None = None
    spread: bool = False
    exact: float | None = None
    limit: float | None = None
    root_mean_square: float | None = None
    floor: float | None = None
    computed_floor: float | None = None
    floor_reached: bool | None = None
    window: int | None = None
    cluster: int | None = None
    of_all: bool = True
    reason: str = ""
    remedy: str = ""
    unmet: Hypothesis | None = None


@dataclass(frozen=True)
class Law:
    """Comparison of the run with the exact models (*path*) or the exact distribution (*law*) for its settings.

    Attributes
    ----------
    kind
        ``"path"``, ``"law"`` or ``"coins"``.
    outcome
        Whether the run follows the path or law.
    noise
        Standard deviation of the noise, divided by its exact value.
    path_differs, noise_differs
        Whether the mean path differs, and whether the noise differs.
    round, distance
        First round in which the run differs from the path, and the distance in this round. If there is no such round,
        the largest distance.
    coins, heads
        Number of coin tosses that the models reveal, and number of these tosses that lead to communication.
    reason
        Why there is no comparison, if all hypotheses are satisfied.
    unmet
        The hypothesis that is not satisfied.
    """

    kind: Literal["path", "law", "coins"]
    outcome: Literal["follows", "differs", "not compared"]
    noise: float | None = None
    path_differs: bool = False
    noise_differs: bool = False
    round: int | None = None
    distance: float | None = None
    coins: int | None = None
    heads: int | None = None
    reason: str = ""
    unmet: Hypothesis | None = None

    @property
    def differs(self) -> bool:
        """Whether the run differs from the exact path or law."""
        return self.outcome == "differs"


@dataclass(frozen=True)
class Told:
    """Additional numbers of a result, which a sentence of the glossary presents."""

    sentence: str
    constants: Mapping[str, Value]


Result = Choices | GroupFacts | Cuts | ErrorFacts | Rest | Rate | Law | Told


@dataclass(frozen=True)
class Next:
    """A command to try next, and the name of its purpose in the glossary."""

    command: str
    shows: str


@dataclass(frozen=True)
class Facts:
    """The facts of a page.

    Attributes
    ----------
    task, run
        The task and the run.
    results
        Results of measurements, in the order on the page.
    theorems
        The theorems that the page describes in paragraphs, and the claims that the user named.
    others
        Theorems about other options of the algorithm, which appear only in the table of all theorems.
    no_theorem
        Name, in the glossary, of the reason why no theorem is listed; or ``""``.
    next
        Commands to try next.
    """

    task: TaskFacts
    run: RunFacts
    results: tuple[Result, ...]
    theorems: tuple[Outcome, ...]
    others: tuple[Outcome, ...] = ()
    next: tuple[Next, ...] = ()
    no_theorem: str = ""

    def result(self, kind: type[Any]) -> Any:
        """Return the first result of a kind, or None if there is none."""
        return next((one for one in self.results if isinstance(one, kind)), None)

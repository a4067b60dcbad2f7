"""The facts of a run's page: numbers and names. ``words`` makes sentences from them; the sentences decide nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from clusterproof.theory.bounds.hypotheses import Hypothesis, Value
from clusterproof.theory.pages.outcomes import Outcome


@dataclass(frozen=True)
class TaskFacts:
    """The task of a run.

    Attributes
    ----------
    kind
        Name of the task for the option ``--task``.
    data
        ``"fresh"``, ``"fixed"``, ``"exact"`` or ``"noisy"``: how clients see their losses.
    clients, dimension
        m and d.
    sizes
        Number of clients of each cluster.
    constants
        Numbers of the task, by names of the glossary.
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
        Whether all runs start from the same models.
    participants
        Number of clients in a round.
    step
        Step size times L.
    settings
        All settings of the algorithm.
    usual
        Names of the settings that have the algorithm's default value.
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
    """A lost cluster, whose model at most half of its clients choose at the end: number of runs, and the choices."""

    cluster: int
    clients: int
    runs: int
    model: int


@dataclass(frozen=True)
class Choices:
    """The clients' choices of models, in a run with one model for every cluster.

    Attributes
    ----------
    clusters
        Number of clusters.
    found
        Whether the clients of every cluster choose its model in the end, in every run.
    wrong, total
        Number of wrong choices, and number of all choices.
    chance
        Upper bound on the probability of a wrong choice at the start; None if it is unknown.
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
        Least and largest number of groups over the runs.
    right, runs
        Number of runs whose groups are the true clusters, and number of all runs.
    since
        Round since which the groups do not change; None for a run without rounds.
    purity, least_purity
        Median and least purity over the runs; None if the page does not show them.
    absent
        Number of clients that never took part in some run.
    merged
        Pairs of true clusters in one group, for the first run with such a pair.
    empty, empty_runs
        Models without clients in the first run with such models, and the number of runs with such models.
    distance
        Largest distance of the groups' means from the optima; None if it is unknown.
    remedy
        An option that may separate merged clusters, or fill empty ones.
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
    """A cut of a cluster in two: its round, the numbers of clients, and the largest cosine across."""

    round: int
    sizes: tuple[int, int]
    cosine: float | None


@dataclass(frozen=True)
class Cuts:
    """The cuts of the first run."""

    cuts: tuple[CutFacts, ...]


@dataclass(frozen=True)
class ErrorFacts:
    """The error at the start and at the end.

    Attributes
    ----------
    quantity
        Name of the error.
    start, end
        Medians over the runs.
    upper, largest
        95 % quantile over the runs of the errors after the last round (None for few runs), and the largest of these
        errors (None for one run).
    nearest, farthest
        Distances of the one model from the clusters' optima after the last round; None for several models.
    stepped
        These distances after one step of each client, the least and the largest; None for other algorithms.
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
        Exact distance of the point from the common optimum; None if the page does not show it.
    end
        Distance of the last models from the point; None if randomness moves the run.
    rounding
        Length up to which ``end`` counts as rounding.
    factor
        Factor by which the distance shrinks per round after many rounds; None if it is unknown.
    assumes
        Conditions that the run does not meet: ``"all clients"``, ``"exact gradients"``.
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
    """The factor by which a distance shrinks per round.

    Attributes
    ----------
    of
        Name of the distance.
    value
        Factor measured over the rounds ``first`` to ``last``; None if there is a ``reason`` or a hypothesis that fails.
    low, high
        Ends of the 95 % interval, or of the runs' factors.
    spread
        Whether ``low`` and ``high`` are the ends of the runs' factors, or of 95 % of the factors from 20 runs on.
    exact
        Factor of the same rounds without noise.
    limit
        Exact factor after many rounds: the asymptotic factor.
    root_mean_square
        Exact factor of the root mean square error.
    floor, computed_floor
        The error over the last rounds, and its computed value.
    floor_reached
        Whether the error has reached the floor.
    window
        Number of the last rounds in the floor.
    cluster
        The slowest cluster, from 1; None for one model.
    of_all
        Whether every cluster has a factor.
    reason, remedy
        Why there is no factor, and an option that may help.
    unmet
        A failing hypothesis without which there is no factor.
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
    """Comparison of the run with the exact path or law of its settings.

    Attributes
    ----------
    kind
        ``"path"``, ``"law"`` or ``"coins"``.
    outcome
        Whether the run follows the path or law.
    noise
        Size of the noise, divided by its size in the law.
    path_differs, noise_differs
        The parts that differ.
    round, distance
        Round and distance where the run leaves the path; if it follows the path, the largest distance.
    coins, heads
        Number of coins that the models determine, and number of these coins with communication.
    reason
        Why there is no comparison, if no hypothesis says it.
    unmet
        The failing hypothesis.
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
        """Whether the run differs from the path or law of its settings."""
        return self.outcome == "differs"


@dataclass(frozen=True)
class Told:
    """Further numbers of a result, printed in a sentence of the glossary."""

    sentence: str
    constants: Mapping[str, Value]


Result = Choices | GroupFacts | Cuts | ErrorFacts | Rest | Rate | Law | Told


@dataclass(frozen=True)
class Next:
    """A command that shows something else, and the name of its purpose."""

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
        Results of measurements, in the order of the page.
    theorems
        The theorems that the page describes, and the claims that the user named.
    others
        Theorems about other options of the algorithm, which the page does not describe.
    no_theorem
        Name in the glossary of the reason why no theorem is listed; or ``""``.
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
        """Return the first result of a kind; None if there is none."""
        return next((one for one in self.results if isinstance(one, kind)), None)

"""The facts of a run's page: numbers and names. Sentences are made from them by ``words``, and decide nothing."""

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
        Its name, as the option ``--task`` has it.
    data
        ``"fresh"``, ``"fixed"``, ``"exact"`` or ``"noisy"``: what clients see of their losses.
    clients, dimension
        m and d.
    sizes
        Number of clients of each cluster.
    constants
        Numbers of the task by names of the glossary.
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
        Its name, and ``library`` whether it is one of the library.
    rounds, runs, seed
        Their numbers.
    same_start
        Whether all runs start from the same models.
    participants
        Number of clients in a round.
    step
        Step size times L.
    settings
        All settings of the algorithm.
    usual
        Those of them that have the algorithm's default.
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
    """A cluster at most half of whose clients choose its model in the end: in how many runs, and what they choose."""

    cluster: int
    clients: int
    runs: int
    model: int


@dataclass(frozen=True)
class Choices:
    """Choices of a model by the clients of clusters that have one each.

    Attributes
    ----------
    clusters
        Their number.
    found
        Whether the clients of every cluster choose its model in the end, in every run.
    wrong, total
        Numbers of wrong choices, and of all.
    chance
        Probability of a wrong choice at the start, at most; None where it is not known.
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
        Numbers of groups over the runs.
    right, runs
        In how many runs the groups are the true clusters, and of how many.
    since
        Round since which the groups do not change; None of a run without rounds.
    purity, least_purity
        Median and least over the runs; None where it is not told.
    absent
        Clients that never took part in some run.
    merged
        Pairs of true clusters in one group, of the first run that has some.
    empty, empty_runs
        Models without clients of the first run that has some, and in how many runs there are some.
    distance
        Of the groups' means from the optima, the largest; None where it is not known.
    remedy
        An option that would part what is merged, or fill what is empty.
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
    """A cut of a cluster in two: after which round, into how many clients, and the largest cosine across."""

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
        Name of what the error is.
    start, end
        Medians over the runs.
    upper, largest
        Of the last errors, what 95 % of the runs are below, and the largest; None of few runs, or of one.
    nearest, farthest
        Distances of the one model from the clusters' optima after the last round; None of several models.
    stepped
        These distances after a step of each client, the least and the largest; None of other algorithms.
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
    """The fixed point of the rounds without chance.

    Attributes
    ----------
    point
        Name of that point in the glossary.
    distance
        Of the point from the common optimum, exactly; None where that is not told.
    end
        Distance of the last models from it; None where chance moves the run.
    rounding
        Length up to which ``end`` is rounding.
    factor
        By which the distance shrinks in a round after many rounds; None where it is not known.
    assumes
        What the run does not have: ``"all clients"``, ``"exact gradients"``.
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
    """The factor by which a distance shrinks in a round.

    Attributes
    ----------
    of
        Name of the distance.
    value
        As measured over the rounds ``first`` to ``last``; None with a ``reason`` or a hypothesis that is not met.
    low, high
        Of the 95 % interval, or of the runs.
    spread
        Whether these are the ends of the runs' factors, of 95 % of them from 20 runs on.
    exact
        Of the same rounds without noise.
    limit
        After many rounds, exactly: the asymptotic factor.
    root_mean_square
        Of the root mean square error, exactly.
    floor, computed_floor
        The error over the last rounds, and what is computed for that.
    floor_reached
        Whether the error rests there.
    window
        Number of these rounds.
    cluster
        The slowest cluster, from 1; None of one model.
    of_all
        Whether every cluster has a factor.
    reason, remedy
        Why there is no factor, and an option that helps.
    unmet
        A hypothesis without which there is none.
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
    """The run beside the exact path or law of its settings.

    Attributes
    ----------
    kind
        ``"path"``, ``"law"`` or ``"coins"``.
    outcome
        Whether the run follows it.
    noise
        Size of the noise, by that of the law.
    path_differs, noise_differs
        What is another.
    round, distance
        Where the run leaves the path, and by how much; of a run that follows it, the largest distance.
    coins, heads
        Coins that the models decide, and those of them that communicate.
    reason
        Why it is not compared, where no hypothesis says it.
    unmet
        The hypothesis that is not met.
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
        """Whether the run is not one of its settings."""
        return self.outcome == "differs"


@dataclass(frozen=True)
class Told:
    """Further numbers of a result, said by a sentence of the glossary."""

    sentence: str
    constants: Mapping[str, Value]


Result = Choices | GroupFacts | Cuts | ErrorFacts | Rest | Rate | Law | Told


@dataclass(frozen=True)
class Next:
    """A command that shows something else, and the name of what."""

    command: str
    shows: str


@dataclass(frozen=True)
class Facts:
    """The facts of a page.

    Attributes
    ----------
    task, run
        What was run.
    results
        What was measured, in the order of the page.
    theorems
        The theorems about the algorithm of which the page tells, and claims that were named.
    others
        Theorems about its other options, of which it does not tell.
    no_theorem
        Why there is none: ``""``, or a name of the glossary.
    next
        Commands.
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

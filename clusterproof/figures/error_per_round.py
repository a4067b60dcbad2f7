"""Errors of runs by round, with the bounds on them: one run, or several in one panel."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec import Meta

import clusterproof.figures.style as style
from clusterproof.algorithms import CFLMGD, FedAvg, InvalidArgument
from clusterproof.experiments.run_defaults import one_start, run_with
from clusterproof.experiments.synthetic_options import algorithm_class, algorithm_parameters
from clusterproof.figures.illustration import Illustration, Kappa, Momentum, NotNegative, Positive, written
from clusterproof.figures.pages import LOOKS, draw_page, in_symbols
from clusterproof.figures.runs import check_one_quantity
from clusterproof.synthetic import Mixture
from clusterproof.theory.runs.compare import compare
from clusterproof.theory.runs.page import Curve, ErrorPicture, Page, Role

Name: TypeAlias = Literal["cfl-mgd", "ifca", "fedavg", "scaffold", "fedlin"]
Clients: TypeAlias = Annotated[int, Meta(ge=1, le=100_000)]
Samples: TypeAlias = Annotated[int, Meta(ge=1, le=10_000_000)]
Steps: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
Share: TypeAlias = Annotated[float, Meta(gt=0, le=1)]

OF_ALGORITHMS = ("momentum", "step_size", "local_steps", "participation")
"""Parameters that not every algorithm has."""

SYMBOLS = {
    "kappa": r"$\kappa$",
    "separation": r"$\Delta$",
    "momentum": r"$\beta$",
    "step_size": r"$\eta L$",
    "samples": "$n'$",
}

LINES: dict[Role, Any] = {role: LOOKS[role]["linestyle"] for role in ("printed", "repaired")}
"""Line styles of the bounds; the curves of runs are solid."""

DRAWN: dict[str, tuple[Role, ...]] = {"all": ("printed", "repaired"), "repaired": ("repaired",), "none": ()}
"""Kinds of bounds by the parameter ``bounds``."""

ONE_MODEL = ("fedavg", "scaffold", "fedlin")

COINCIDE = 0.01
"""Curves whose values differ by at most this share are drawn once: less than a line's width on a log axis."""


class Run(NamedTuple):
    """A run with its page, named by what tells it from the others."""

    label: str
    page: Page

    @property
    def picture(self) -> ErrorPicture:
        """The curves of the page."""
        picture = self.page.picture
        assert isinstance(picture, ErrorPicture)
        return picture


@dataclass(frozen=True, kw_only=True)
class ErrorPerRound(Illustration):
    """The error of ``clusterproof run cfl-mgd`` by round, or that of several runs in one panel.

    A list of values of ``algorithm``, or of any number but ``clusters``, ``dimension``, ``rounds`` and
    ``replicates``, makes a run for each of them; several lists make one for each combination.

    Parameters
    ----------
    algorithm
        Name of the algorithm, or names: cfl-mgd, ifca, fedavg, scaffold, fedlin.
    kappa
        Condition number of the task.
    separation
        Least distance Delta of two clusters' optima.
    noise
        Deviation of a target.
    samples
        Rows of a client and round, n'.
    clients
        Number of clients, m.
    momentum
        Momentum of CFL-MGD.
    step_size
        In units of 1 / L.
    local_steps
        Local steps, of algorithms that average models.
    participation
        Share of the clients in each round.
    clusters
        Number of clusters, and of models.
    dimension
        Number of parameters of a model.
    proportions
        Relative sizes of the clusters; by default 5, 3 and 2 of three clusters, equal ones otherwise.
    rounds
        Number of rounds.
    replicates
        Number of independent runs with one start.
    bounds
        Of several runs, the bounds that are drawn: all, those that hold (repaired), or none.
    """

    name: ClassVar[str] = "error-per-round"
    title: ClassVar[str] = "Error of CFL-MGD round by round below the paper's bound and the repaired one"
    alt: ClassVar[str] = (
        "On a log axis the error of the runs falls linearly and then stays at a noise floor. The repaired bound, "
        "Theorem D, runs closely above it; the printed bound is a horizontal line far above the start."
    )
    claims: ClassVar[tuple[str, ...]] = ("cfl-mgd/theorem-1", "cfl-mgd/theorem-d")

    algorithm: Name | tuple[Name, ...] = "cfl-mgd"
    kappa: Kappa | tuple[Kappa, ...] = 4.0
    separation: Positive | tuple[Positive, ...] = 1.6
    noise: NotNegative | tuple[NotNegative, ...] = 0.2
    samples: Samples | tuple[Samples, ...] = 10_000
    clients: Clients | tuple[Clients, ...] = 100
    momentum: Momentum | tuple[Momentum, ...] = 0.5
    step_size: Positive | tuple[Positive, ...] = 1.0
    local_steps: Steps | tuple[Steps, ...] = 1
    participation: Share | tuple[Share, ...] = 1.0
    clusters: Annotated[int, Meta(ge=1, le=100)] = 3
    dimension: Annotated[int, Meta(ge=1, le=10_000)] = 20
    proportions: tuple[Positive, ...] | None = None
    rounds: Annotated[int, Meta(ge=1, le=100_000)] = 60
    replicates: Annotated[int, Meta(ge=1, le=100_000)] = 500
    bounds: Literal["all", "repaired", "none"] = "all"

    def __post_init__(self) -> None:
        """Check the combinations, too."""
        super().__post_init__()
        self.runs()

    def runs(self) -> dict[str, dict[str, Any]]:
        """Return the settings of each run by its label, which names what differs.

        Raises
        ------
        InvalidArgument
            If there are more runs than looks of curves, no chosen algorithm has a parameter that is given, or errors
            of the algorithms are distances to different optima.
        """
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        lists = {
            name: value for name, value in given.items() if isinstance(value, tuple) and name != "proportions"
        }
        names = [self.algorithm] if isinstance(self.algorithm, str) else self.algorithm
        if self.clusters > 1:
            check_one_quantity("algorithm", {name: algorithm_class(name).target for name in names})
        for field in fields(self):
            has = any(field.name in algorithm_parameters(name) for name in names)
            if field.name in OF_ALGORITHMS and given[field.name] != field.default and not has:
                rule = f"is not a parameter of {' or '.join(names)}"
                raise InvalidArgument(field.name, given[field.name], rule, "leave it out")
        found: dict[str, dict[str, Any]] = {}
        for values in itertools.product(*lists.values()):
            settings = given | dict(zip(lists, values, strict=True))
            known = algorithm_parameters(settings["algorithm"])
            differing = [name for name in lists if name not in OF_ALGORITHMS or name in known]
            label = ", ".join(_named(name, settings[name]) for name in differing)
            found.setdefault(
                label, {n: v for n, v in settings.items() if n not in OF_ALGORITHMS or n in known}
            )
        if not 1 <= len(found) <= len(style.LOOKS):
            rule = f"make {len(found)} runs; a figure has 1 to {len(style.LOOKS)}"
            raise InvalidArgument(", ".join(lists), "...", rule, "leave values out")
        return found

    def compute(self) -> list[Run]:
        """Run each algorithm, and compare the runs with the theorems about them."""
        return [Run(label, compare(*self._run(settings))) for label, settings in self.runs().items()]

    def _run(self, settings: dict[str, Any]) -> tuple[Any, Any]:
        """Return the task and the run of some settings."""
        settings = settings.copy()
        name, seed = settings.pop("algorithm"), settings.pop("seed")
        rounds, replicates = settings.pop("rounds"), settings.pop("replicates")
        settings["condition_number"] = settings.pop("kappa")
        shares = settings.pop("proportions") or ((5, 3, 2) if self.clusters == 3 else (1,) * self.clusters)
        settings["proportions"] = [",".join(map(str, shares))]
        del settings["bounds"]
        # the Hessian of a regression has L = 1
        if name in ("cfl-mgd", "ifca") and settings["local_steps"] > 1:
            settings["averaging"] = "model"
        return run_with(
            name,
            seed,
            settings,
            task="regression",
            rounds=rounds,
            replicates=replicates,
            start=_clustered_start if name in ("cfl-mgd", "ifca") else _one_model_start,
        )

    def draw(self, data: list[Run]) -> style.Figure:
        """Draw the page's picture of a single run, or the errors of several with their bounds."""
        if len(data) == 1:
            return draw_page(data[0].page, self.caption)
        figure, (panel,) = style.new_figure(self.caption(self._words(data)), height=4.6)
        rounds = np.arange(self.rounds + 1)
        looks = [{**look, "linestyle": "-"} for look in style.LOOKS]
        for number, (run, look) in enumerate(zip(data, looks, strict=False)):
            median = run.picture.curves[0]
            every = max(1, self.rounds // 8)
            if median.band is not None:
                filled: style.Look = {"color": look["color"], "alpha": 0.2, "linewidth": 0}
                panel.fill_between(rounds, *median.band, **filled, gid=f"band {run.label}")
            panel.plot(
                rounds,
                median.values,
                **look,
                markevery=(number % every, every),
                label=run.label,
                gid=run.label,
            )
        for bound in self._bounds(data):
            colour = style.BLACK if bound.run is None else looks[bound.run]["color"]
            gid = f"{bound.name}, {'all' if bound.run is None else data[bound.run].label}"
            line: style.Look = {"color": colour, "linestyle": LINES[bound.curve.role], "gid": gid}
            panel.plot(rounds, bound.curve.values, **line)
            if bound.curve.last is not None:
                mark: style.Look = {
                    "marker": "D",
                    "linestyle": "none",
                    "clip_on": False,
                    "gid": f"last {gid}",
                }
                panel.plot(rounds[-1:], [bound.curve.last], color=colour, **mark)
        for name, role in {bound.name: bound.curve.role for bound in self._bounds(data)}.items():
            panel.plot([], [], color=style.BLACK, linestyle=LINES[role], label=name)
        panel.set_yscale("log", nonpositive="mask")
        panel.set_xlim(0, self.rounds)
        quantities = {run.picture.quantity for run in data}
        quantity = (
            quantities.pop() if len(quantities) == 1 else "largest distance of a model from its optimum"
        )
        style.label_axes(panel, "", "communication round $t$", quantity)
        style.add_legend([panel], 4)
        return figure

    def _bounds(self, data: list[Run]) -> list[Bound]:
        """Return the bounds on the runs: those that coincide with a curve before them are left out."""
        curves = [run.picture.curves[0].values for run in data]
        named = [
            Bound(curve.label.partition(":")[0].removesuffix(" (repaired)"), number, curve)
            for number, run in enumerate(data)
            for curve in run.picture.curves
            if curve.role in DRAWN[self.bounds]
        ]
        kept: list[Bound] = []
        for bound in named:
            if any(_coincide(bound.curve.values, other) for other in curves):
                continue
            curves.append(bound.curve.values)
            same = [other for other in named if other.name == bound.name]
            common = len(same) > 1 and all(
                _coincide(bound.curve.values, other.curve.values) for other in same
            )
            kept.append(bound._replace(run=None) if common else bound)
        return kept

    def _words(self, data: list[Run]) -> str:
        """Return the caption of several runs."""
        names = (self.algorithm,) if isinstance(self.algorithm, str) else self.algorithm
        parts = [f"Lines and bands: median and 95 % band of {self.replicates} runs."] * (self.replicates > 1)
        if self._bounds(data):
            parts.append(
                "Bounds are drawn in the colour of the run that they are about, in black if they are about all runs; "
                "curves that coincide are drawn once."
            )
        if any(bound.curve.last is not None for bound in self._bounds(data)):
            parts.append("Diamond: the sharper bound on the last round alone.")
        if one_model := [name for name in names if name in ONE_MODEL]:
            parts.append(f"The optimum of {' and '.join(one_model)} is that of the mean loss of all clients.")
        return " ".join([*parts, f"First run: {in_symbols(data[0].picture.caption)}"])


class Bound(NamedTuple):
    """A bound on a run."""

    name: str
    run: int | None
    """Place of the run; None where it is the same for all."""
    curve: Curve


def _clustered_start(_: Any, task: Mixture, seed: int, __: int | None) -> np.ndarray:
    """Return one start of all runs with a model for each cluster."""
    return one_start(CFLMGD(step_size=1.0, momentum=0.0), task, seed, None)


def _one_model_start(_: Any, task: Mixture, seed: int, __: int | None) -> np.ndarray:
    """Return one start of all runs with one model."""
    return one_start(FedAvg(step_size=1.0), task, seed, None)


def _named(name: str, value: Any) -> str:
    """Name a run by a parameter: cfl-mgd, or a symbol with a value."""
    return (
        str(value)
        if name == "algorithm"
        else f"{SYMBOLS.get(name, name.replace('_', ' '))} = {written(value)}"
    )


def _coincide(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two curves lie on each other wherever both have values."""
    both = np.isfinite(one) & np.isfinite(other)
    return bool(both.any() and (np.abs(one - other)[both] <= COINCIDE * np.abs(other[both])).all())

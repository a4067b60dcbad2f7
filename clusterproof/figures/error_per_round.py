"""Errors of runs against the round, with bounds: one run, or several runs in one panel."""

from __future__ import annotations

import itertools
from dataclasses import fields
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec import Meta

import clusterproof.figures.style as style
from clusterproof.algorithms import CFLMGD, FedAvg
from clusterproof.common import InvalidArgument
from clusterproof.experiments.run_defaults import one_start
from clusterproof.experiments.synthetic_runs import algorithm_class, algorithm_parameters, run_with
from clusterproof.figures.illustration import Illustration, Kappa, Momentum, NotNegative, Positive, written
from clusterproof.figures.pages import LOOKS, draw_page, in_symbols
from clusterproof.figures.runs import check_one_quantity
from clusterproof.theory.pages.compare import compare
from clusterproof.theory.pages.page import Page
from clusterproof.theory.pages.records import Curve, ErrorPicture, Role
from clusterproof.theory.pages.words import run_sentences, task_sentences

Name: TypeAlias = Literal["cfl-mgd", "ifca", "fedavg", "scaffold", "fedlin"]
Clients: TypeAlias = Annotated[int, Meta(ge=1, le=100_000)]
Samples: TypeAlias = Annotated[int, Meta(ge=1, le=10_000_000)]
Steps: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
Share: TypeAlias = Annotated[float, Meta(gt=0, le=1)]

OF_ALGORITHMS = {"momentum", "step_size", "local_steps", "participation"}
"""Parameters that not every algorithm has."""

SYMBOLS = {
    "kappa": r"$\kappa$",
    "separation": r"$\Delta$",
    "momentum": r"$\beta$",
    "step_size": r"$\eta L$",
    "samples": "$n'$",
}

LINES: dict[Role, Any] = {role: LOOKS[role]["linestyle"] for role in ("printed", "repaired")}
"""Line styles for bounds. The curves of runs are solid."""

DRAWN: dict[str, tuple[Role, ...]] = {"all": ("printed", "repaired"), "repaired": ("repaired",), "none": ()}
"""Kinds of bounds to draw, indexed by the value of the parameter ``bounds``."""

ONE_MODEL = ("fedavg", "scaffold", "fedlin")

SAME = 0.01
"""Two bounds share one line if their relative difference is at most this number, which is below the line's width."""


class Bound(NamedTuple):
    """A bound on the error of a run.

    Attributes
    ----------
    run
        Label of the first run with this bound.
    """

    name: str
    run: str
    colour: str
    curve: Curve


class ErrorPerRound(Illustration):
    """The errors of ``clusterproof run cfl-mgd`` against the round, or the errors of several runs in one panel.

    ``algorithm`` and every number except ``clusters``, ``dimension``, ``rounds`` and ``replicates`` may be a list of
    values. The figure then has one run per value, or per combination of values if there are several lists.

    Parameters
    ----------
    algorithm
        One or more names of algorithms: cfl-mgd, ifca, fedavg, scaffold, fedlin.
    kappa
        Condition number of the task.
    separation
        Smallest distance between the optima of two clusters (Delta).
    noise
        Standard deviation of the noise in a target.
    samples
        Number of samples per client and round (n').
    clients
        Number of clients (m).
    momentum
        Momentum of CFL-MGD.
    step_size
        Step size, in units of 1 / L.
    local_steps
        Number of local steps, for algorithms that average models.
    participation
        Share of the clients in each round.
    clusters
        Number of clusters, which is also the number of models.
    dimension
        Number of parameters of a model.
    proportions
        Relative sizes of the clusters, by default 5, 3 and 2 for three clusters and equal sizes otherwise.
    rounds
        Number of rounds.
    replicates
        Number of independent runs from the same initial models.
    bounds
        Bounds to draw if there are several runs: ``all``, only valid bounds (``repaired``), or ``none``.
    """

    name = "error-per-round"
    title = "Error of CFL-MGD round by round below the paper's bound and the repaired one"
    alt = (
        "On a log axis the error of the runs falls linearly and then stays at a noise floor. The repaired bound, "
        "Theorem D, runs closely above it; the bound of Theorem 1 is a horizontal line far above the start."
    )
    claims = ("cfl-mgd/theorem-1", "cfl-mgd/theorem-d")

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
        """Validate the parameters and all combinations of values."""
        super().__post_init__()
        self.runs()

    @property
    def algorithms(self) -> tuple[Name, ...]:
        """Tuple with the names of all chosen algorithms."""
        return (self.algorithm,) if isinstance(self.algorithm, str) else self.algorithm

    def runs(self) -> dict[str, dict[str, Any]]:
        """Return the settings of each run, indexed by a label that names the differences between runs.

        Raises
        ------
        InvalidArgument
            If there are more runs than styles of curves, no chosen algorithm has a given parameter, or the errors of
            two algorithms are distances to different optima.
        """
        given, names = vars(self), self.algorithms
        lists = {name: value for name, value in given.items() if isinstance(value, tuple)}
        lists.pop("proportions", None)
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
            for name in ("bounds", *OF_ALGORITHMS - algorithm_parameters(settings["algorithm"]).keys()):
                del settings[name]
            label = ", ".join(
                f"{SYMBOLS.get(name, name.replace('_', ' '))} = {written(settings[name])}"
                for name in lists
                if name in settings
            )
            found.setdefault(label.removeprefix("algorithm = "), settings)
        if not 1 <= len(found) <= len(style.LOOKS):
            rule = f"must make 1 to {len(style.LOOKS)} runs, and these values make {len(found)}"
            raise InvalidArgument(", ".join(lists), ..., rule, "give fewer values in these lists")
        return found

    def compute(self) -> dict[str, Page]:
        """Run each algorithm, compare the runs with the theorems, and return the pages, indexed by label."""
        return {label: compare(*self._run(**settings)) for label, settings in self.runs().items()}

    def _run(self, *, algorithm: Name, kappa: float, proportions: Any, **settings: Any) -> Any:
        """Return the task, with L = 1, and the run for the given settings."""
        shares = proportions or ((5, 3, 2) if self.clusters == 3 else (1,) * self.clusters)
        settings |= {"condition_number": kappa, "proportions": list(shares)}
        if algorithm in ("cfl-mgd", "ifca") and settings["local_steps"] > 1:
            settings["averaging"] = "model"
        one = FedAvg(step_size=1.0) if algorithm in ONE_MODEL else CFLMGD(step_size=1.0, momentum=0.0)
        own: dict[str, Any] = {name: settings.pop(name) for name in ("rounds", "replicates")}
        own["start"] = lambda _, task, seed, __: one_start(one, task, seed, None)
        return run_with(algorithm, settings.pop("seed"), settings, task="regression", **own)

    def draw(self, data: dict[str, Page]) -> style.Figure:
        """Draw the figure of the page for a single run, or the errors of several runs with bounds."""
        if len(data) == 1:
            return draw_page(next(iter(data.values())), self.caption)
        pictures: dict[str, Any] = {label: page.picture for label, page in data.items()}
        bounds = self._bounds(pictures)
        figure, (panel,) = style.new_figure(self.caption(self._words(data, bounds)), height=4.6)
        rounds = np.arange(self.rounds + 1)
        for number, ((label, picture), look) in enumerate(zip(pictures.items(), style.SOLID, strict=False)):
            median = picture.curves[0]
            style.draw_curve(panel, rounds, median.values, look, label, band=median.band, shift=number)
        for name, label, colour, curve in bounds:
            look = {"color": colour, "linestyle": LINES[curve.role]}
            style.draw_curve(panel, rounds, curve.values, look, "_", gid=f"{name}, {label}", last=curve.last)
        for name, role in {bound.name: bound.curve.role for bound in bounds}.items():
            panel.plot([], [], color=style.BLACK, linestyle=LINES[role], label=name)
        panel.set_yscale("log", nonpositive="mask")
        quantities = {picture.quantity for picture in pictures.values()}
        quantity = min(quantities) if len(quantities) == 1 else "largest distance of a model from its optimum"
        style.label_axes(panel, "", "communication round $t$", quantity, xlim=(0, self.rounds))
        style.add_legend([panel], 4)
        return figure

    def _bounds(self, pictures: dict[str, ErrorPicture]) -> list[Bound]:
        """Return the bounds on the runs. If several runs have the same bound, it occurs once."""
        bounds: list[Bound] = []
        for (label, picture), look in zip(pictures.items(), style.SOLID, strict=False):
            for curve in picture.curves:
                name = curve.name
                drawn = [other.curve.values for other in bounds if other.name == name]
                if curve.role in DRAWN[self.bounds] and not any(
                    np.allclose(curve.values, values, rtol=SAME, atol=0, equal_nan=True) for values in drawn
                ):
                    bounds.append(Bound(name, label, look["color"], curve))
        return bounds

    def _words(self, pages: dict[str, Page], bounds: list[Bound]) -> str:
        """Return the caption for several runs."""
        parts = [f"Lines and bands: median and 95 % band of {self.replicates} runs."] * (self.replicates > 1)
        if bounds:
            shared = "one that several runs share is drawn once"
            parts.append(f"Bounds have the colour of their run, and {shared}.")
        if any(bound.curve.last is not None for bound in bounds):
            parts.append("Diamond: the sharper bound on the last round alone.")
        if one_model := [name for name in self.algorithms if name in ONE_MODEL]:
            parts.append(f"The optimum of {' and '.join(one_model)} is that of the mean loss of all clients.")
        first = next(iter(pages.values()))
        told = " ".join([*task_sentences(first.facts.task), *run_sentences(first.facts)])
        end = f"{first.facts.run.runs} runs, seed {first.facts.run.seed}."
        return " ".join([*parts, f"First run: {in_symbols(told)} {end}"])

"""The trace, which records a run as numpy arrays on the host, for every array library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterproof.common.calls import checked
from clusterproof.common.notebook import html_table
from clusterproof.running.metrics import adjusted_rand_index, cluster_count, purity

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike


@dataclass(frozen=True, repr=False)
class Trace:
    """Record of a run: models, assignments and errors. Without replicates, the replicate axis is missing.

    Attributes
    ----------
    models
        The server's models before each round and after the last round, (rounds + 1, replicates, P, d).
    assignments
        Cluster that each client chose in each round, (rounds, replicates, m), or -1 for a client that was absent.
    errors
        Distance between each model and its target minimiser, (rounds + 1, replicates, P), in units of the model. This
        is ||chi_p - chi*_p|| for clustered algorithms with equally many models and clusters. If these numbers differ,
        it is the distance to the nearest minimiser. None if the minimisers of the task are unknown.
    labels
        The true cluster of each client, (m,).
    settings
        Algorithm, task, rounds, seed and replicates, as plain JSON values. ``target`` states from which minimisers the
        errors are measured. ``dynamics`` is present if the algorithm has the same recursion as another class.
    recorded
        Fields of the state given as ``run(record=...)``, before the first round and after each round, (rounds + 1, ...)
        with the shape of the field.
    measured
        Values of the functions given as ``run(measure=...)``, before the first round and after each round, (rounds + 1,
        ...) with the shape of a value.
    """

    models: np.ndarray
    assignments: np.ndarray
    errors: np.ndarray | None
    labels: np.ndarray
    settings: Mapping[str, Any]
    recorded: Mapping[str, np.ndarray] = field(default_factory=dict)
    measured: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """Number of communication rounds."""
        return len(self.assignments)

    @property
    def last_assignments(self) -> np.ndarray:
        """The cluster that each client chose in its last round, (replicates, m).

        It is -1 for a client that has never taken part.
        """
        last = np.full(self.assignments.shape[1:], -1, dtype=np.int64)
        for assignment in self.assignments:
            last = np.where(assignment >= 0, assignment, last)
        return last

    @property
    def purity(self) -> np.ndarray:
        """Purity of the last assignments, one number per replicate."""
        return np.apply_along_axis(purity, -1, self.last_assignments, self.labels)

    @property
    def adjusted_rand_index(self) -> np.ndarray:
        """Adjusted Rand index of the last assignments, one number per replicate."""
        return np.apply_along_axis(adjusted_rand_index, -1, self.last_assignments, self.labels)

    @property
    def cluster_count(self) -> np.ndarray:
        """Number of clusters that have clients in the last assignments, one number per replicate."""
        return np.apply_along_axis(cluster_count, -1, self.last_assignments)

    def __repr__(self) -> str:
        return (
            f"<Trace of {self._heading}: {', '.join(f'{name} {fact}' for name, fact in self._facts.items())}>"
        )

    def _repr_html_(self) -> str:
        return html_table(f"Trace of {self._heading}", self._facts)

    @property
    def _heading(self) -> str:
        algorithm, task = self.settings.get("algorithm", {}), self.settings.get("task", {})
        return f"{algorithm.get('algorithm', 'a run')} on {task.get('task', 'a task')}"

    @property
    def _facts(self) -> dict[str, str]:
        """Summary of the run, with medians over replicates."""
        facts = {"rounds": str(self.rounds)}
        if self.models.ndim == 4:
            facts["replicates"] = str(self.models.shape[1])
        facts["models"] = f"{self.models.shape[-2]} of {self.models.shape[-1]} parameters"
        facts["clients"] = str(len(self.labels))
        if self.errors is not None:
            with np.errstate(invalid="ignore"):
                first, last = (np.median(self.errors[at].max(axis=-1)) for at in (0, -1))
            facts["largest error"] = f"{first:.3g} -> {last:.3g}"
        if self.rounds:
            facts["purity"] = f"{np.median(self.purity):.3g}"
        if names := [*self.recorded, *self.measured]:
            facts["with"] = ", ".join(names)
        return facts

    @checked
    def plot(
        self,
        *others: Trace,
        bounds: Mapping[str, ArrayLike] | None = None,
        width: float | None = None,
        caption: bool = True,
        title: str | None = None,
        labels: Sequence[str] = (),
    ) -> Figure:
        """Draw errors against the round, for this run or for several runs in one figure.

        Parameters
        ----------
        others
            Further runs. Each curve is then the largest error of one run. The label names the settings in which the
            runs differ.
        bounds
            Bounds, indexed by name, such as ``{"Lemma 1": values}``. Each bound is a single number, or an array with a
            number for the initial models and one for each round.
        width, caption, title, labels
            See ``clusterproof.figures.style.Appearance``.

        Returns
        -------
        matplotlib.figure.Figure
            A figure that notebooks display. To write it to a file, call ``clusterproof.figures.save``.

        Raises
        ------
        InvalidArgument
            If a run's errors are unknown or are distances to different optima, or a bound is not numeric. If matplotlib
            is not installed, or this width or these labels do not fit the figure.
        """
        import clusterproof  # import matplotlib here, because only drawing needs it

        appearance = {"width": width, "caption": caption, "title": title, "labels": labels}
        drawn: Figure = clusterproof.figures.run_figure(self, *others, bounds=bounds, **appearance)
        return drawn

    @checked
    def frame(self) -> polars.DataFrame:
        """Return the errors as a table with one row per round, replicate and model.

        Returns
        -------
        polars.DataFrame
            Columns ``round``, ``replicate``, ``model``, ``error`` and ``chosen_by``. ``error`` is null if the errors of
            the run are unknown. ``chosen_by`` is the number of clients that chose this model in the preceding round,
            and null before the first round.

        Raises
        ------
        InvalidArgument
            If polars is not installed; the message names the extra to install.
        """
        import polars

        count = self.models.shape[-2]
        replicates = self.models.shape[1] if self.models.ndim == 4 else 1
        steps = np.indices((len(self.models), replicates, count), dtype=np.int32).reshape(3, -1)
        chosen = self.assignments.reshape(self.rounds, replicates, 1, len(self.labels))
        sizes = (chosen == np.arange(count)[:, None]).sum(axis=-1)  # (rounds, replicates, P)
        chosen_by = [*[None] * (replicates * count), *sizes.reshape(-1).tolist()]
        return polars.DataFrame(
            {
                **dict(zip(("round", "replicate", "model"), steps, strict=True)),
                "error": None if self.errors is None else self.errors.reshape(-1),
                "chosen_by": chosen_by,
            },
            schema_overrides={"error": polars.Float64, "chosen_by": polars.Int64},
        )


def distances(models: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Return the distances (..., P) from models (..., P, d) to references (Q, d).

    If P = Q, model p is compared with reference p, and otherwise with the nearest reference.
    """
    if models.shape[-2] == len(references):
        return np.asarray(np.linalg.norm(models - references, axis=-1))
    to_each = [np.linalg.norm(models - reference, axis=-1) for reference in references]
    return np.asarray(np.min(to_each, axis=0))

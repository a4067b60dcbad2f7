"""From theory to networks: which hypotheses of CFL-MGD's analysis hold on a run."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clusterproof.algorithms.arrays import Array, like, to_numpy
from clusterproof.algorithms.atomic import write_whole
from clusterproof.algorithms.protocol import Algorithm, Task
from clusterproof.algorithms.validation import InvalidArgument, check_count
from clusterproof.neural.diagnosis import hypotheses
from clusterproof.neural.diagnosis import lemmas_and_theorems as consequences
from clusterproof.neural.diagnosis import report as diagnosis_report
from clusterproof.neural.diagnosis.hypotheses import Hypothesis
from clusterproof.neural.diagnosis.measured_constants import Evidence
from clusterproof.neural.diagnosis.observation import DEFAULT_BUDGET, Budget, Observation, measure
from clusterproof.neural.diagnosis.task_variants import views

ROWS = (
    hypotheses.algorithm,
    hypotheses.smoothness,
    hypotheses.strong_convexity,
    hypotheses.variances,
    hypotheses.initialisation,
    hypotheses.enough_samples,
    hypotheses.small_optima,
    hypotheses.fresh_batches,
    hypotheses.enough_data,
    consequences.loss_gap,
    consequences.misclassification,
    consequences.misclassification_without_convexity,
    consequences.step_size,
    consequences.heavy_ball,
    consequences.contraction,
    consequences.positive_rounds,
    consequences.repaired_basin,
)
"""The hypotheses in the order of the report."""


def default_rounds(rounds: int, count: int = 5) -> tuple[int, ...]:
    """Give ``count`` rounds of the last third of a run, evenly spaced, the last among them; fewer if there are."""
    return tuple(sorted({round(at) for at in np.linspace(2 * rounds / 3, rounds, count)}))


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What was measured on a run, and the hypotheses judged by it.

    Attributes
    ----------
    evidence
        The measurements.
    hypotheses
        One a row of the report.
    """

    evidence: Evidence
    hypotheses: tuple[Hypothesis, ...]


OF_THE_RECURSION = (consequences.step_size, consequences.heavy_ball)
"""Those that speak of the steps of CFL-MGD, and of no other algorithm's."""


def diagnose(evidence: Evidence) -> Diagnosis:
    """Judge every hypothesis; those on CFL-MGD's steps where the run takes such."""
    left_out = OF_THE_RECURSION if evidence.foreign else ()
    return Diagnosis(evidence, tuple(row(evidence) for row in ROWS if row not in left_out))


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A run after a round.

    Attributes
    ----------
    models
        Of the server, (P, d).
    assignments
        Last choice of every client, (m,); -1 for none.
    step_size
        Of the round.
    """

    models: np.ndarray
    assignments: np.ndarray
    step_size: float


class Diagnostician:
    """Keeps a run's models at a few rounds, and measures them when it is over.

    A snapshot is on disk before the next round begins, so that a run that is resumed has them all, and what
    is measured depends on the models and the seed alone.

    Parameters
    ----------
    task
        Also answers ``CurvedTask``, see ``clusterproof.neural.diagnosis.task_variants`` for how it is looked at.
    algorithm
        One with a model for each cluster. What it has in common with CFL-MGD is read from its ``dynamics``; the
        steps of one that is neither that nor IFCA are not judged.
    rounds
        Of the whole run (T).
    folder
        Of the run, where snapshots and the report go. Must exist by the first snapshot.
    seed
        Which clients and samples are asked; the run's own random numbers are not touched.
    budget
        How much to ask.

    Raises
    ------
    InvalidArgument
        If the task or the algorithm is not of that kind, or there are fewer than two clusters or models.
    """

    def __init__(
        self,
        task: Task,
        algorithm: Algorithm[Any],
        *,
        rounds: int,
        folder: Path,
        seed: int = 0,
        budget: Budget = DEFAULT_BUDGET,
    ) -> None:
        check_count("rounds", rounds, at_least=1, remedy="a diagnosis is of a run")
        if algorithm.target != "clusters":
            rule = "must be a run of an algorithm with a model for each cluster, such as cfl-mgd or ifca"
            raise InvalidArgument("diagnose", algorithm.name, rule, "leave the diagnosis out")
        for count, whose in (
            (task.clusters, "the data's number of clusters"),
            (algorithm.model_count(task), "the algorithm's number of models"),
        ):
            if count < 2:
                rule = f"is {whose}, which must be at least two for a diagnosis"
                raise InvalidArgument("diagnose", count, rule, "leave it out")
        self._seen = views(task)
        self._algorithm = algorithm
        self._rounds = rounds
        self._folder = folder
        self._seed = seed
        self._budget = budget
        self.measured_rounds = default_rounds(rounds)

    def observe(
        self, done: int, models: Array, assignments: Array | None, *, step_size: float | None = None
    ) -> None:
        """Keep the models if they are the first, or of a round that is to be measured.

        Parameters
        ----------
        done
            Rounds done; 0 for the models before the first.
        models
            Of the server, (P, d).
        assignments
            Last choice of each client, (m,), -1 for none; None before the first round.
        step_size
            Of this round; the algorithm's where None.

        Raises
        ------
        InvalidArgument
            If the snapshot cannot be written.
        """
        if done != 0 and done not in self.measured_rounds:
            return
        nobody = np.full(self._seen.batch.clients, -1)
        snapshot = Snapshot(
            models=to_numpy(models),
            assignments=nobody if assignments is None else to_numpy(assignments),
            step_size=float(self._parameter("step_size", np.nan) if step_size is None else step_size),
        )
        content = io.BytesIO()
        np.savez(content, **vars(snapshot))
        write_whole("out", self._path(done), content.getvalue())

    @property
    def pending(self) -> bool:
        """Whether there are snapshots that no report speaks of."""
        return any(self._path(done).exists() for done in self.measured_rounds)

    @property
    def reported(self) -> bool:
        """Whether the folder has a report."""
        return all((self._folder / name).exists() for name in diagnosis_report.NAMES)

    def finish(self, reference: Array, progress: Callable[[int], None] | None = None) -> Diagnosis:
        """Measure, write ``diagnosis.md`` and ``diagnosis.json`` into the run's folder, drop the snapshots.

        That of the first models stays, for a report on more rounds.

        Parameters
        ----------
        reference
            Any models of the run, for their library and device.
        progress
            Called with the number of rounds measured, after each.

        Raises
        ------
        InvalidArgument
            If no round with finite models was kept, or a file cannot be written.
        """
        kept = {done: self._read(done) for done in (0, *self.measured_rounds) if self._path(done).exists()}
        finite = {done for done, snapshot in kept.items() if np.isfinite(snapshot.models).all()}
        observations = []
        for done in self.measured_rounds:
            if done in finite:
                observations.append(self._measure(done, kept[done], reference))
            if progress is not None:
                progress(self.measured_rounds.index(done) + 1)
        if not observations:
            raise InvalidArgument(
                "diagnose",
                list(self.measured_rounds),
                "must have a round whose models are finite",
                "lower the step size",
            )
        found = diagnose(self._evidence(observations, kept[0].models if 0 in finite else None))
        settings = {
            "algorithm": self._algorithm.settings,
            "task": dict(self._seen.batch.settings),
            "rounds": self._rounds,
            "seed": self._seed,
            "budget": vars(self._budget),
            "skipped_rounds": [done for done in self.measured_rounds if done not in finite],
        }
        diagnosis_report.write(found, settings, self._folder)
        for path in self._folder.glob("diagnosis-*.npz"):
            if path != self._path(0):
                path.unlink()
        return found

    def _measure(self, done: int, snapshot: Snapshot, reference: Array) -> Observation:
        """Measure one snapshot, in the library and on the device of the run."""
        return measure(
            self._seen,
            like(snapshot.models, reference),
            snapshot.assignments,
            round_number=done,
            step_size=snapshot.step_size,
            budget=self._budget,
            seed=self._seed,
        )

    def _evidence(self, observations: list[Observation], start: np.ndarray | None) -> Evidence:
        """Put measurements and settings together."""
        task = self._seen.batch
        labels = np.asarray(task.labels)
        return Evidence(
            observations=tuple(observations),
            start=None if start is None else start.astype(float),
            clients=task.clients,
            clusters=task.clusters,
            dimension=task.dimension,
            rounds=self._rounds,
            proportions=np.bincount(labels, minlength=task.clusters) / task.clients,
            choice_samples=self._seen.choice_samples,
            gradient_samples=self._seen.gradient_samples,
            held=self._seen.held,
            averaging=self._parameter("averaging", "gradient"),
            momentum=self._parameter("momentum", 0.0),
            local_steps=self._parameter("local_steps", 1),
            participation=self._parameter("participation", 1.0),
            normalisation=self._parameter("normalisation", "clients"),
            foreign="" if self._algorithm.dynamics.name in ("cfl-mgd", "ifca") else self._algorithm.name,
        )

    def _path(self, done: int) -> Path:
        return self._folder / f"diagnosis-{done:06d}.npz"

    def _read(self, done: int) -> Snapshot:
        """Read a snapshot.

        Raises
        ------
        InvalidArgument
            If it is damaged.
        """
        path = self._path(done)
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
                return Snapshot(stored["models"], stored["assignments"], float(stored["step_size"]))
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise InvalidArgument(
                "diagnose", str(path), "must be a snapshot as the run wrote it", "run it again"
            ) from error

    def _parameter(self, name: str, default: Any) -> Any:
        return getattr(self._algorithm.dynamics, name, default)

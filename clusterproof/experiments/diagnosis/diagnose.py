"""Which hypotheses of CFL-MGD's analysis hold on a training run."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from clusterproof.algorithms.arrays import Array, like, to_numpy
from clusterproof.algorithms.atomic import write_whole
from clusterproof.algorithms.protocol import Algorithm, Task
from clusterproof.algorithms.validation import InvalidArgument, check_count
from clusterproof.experiments.diagnosis import diagnosis_report
from clusterproof.experiments.diagnosis.evidence import Evidence
from clusterproof.experiments.diagnosis.hypotheses import judge
from clusterproof.experiments.diagnosis.observation import Budget, measure
from clusterproof.experiments.diagnosis.task_variants import task_variants
from clusterproof.files import ARRAYS, read_file


def default_rounds(rounds: int) -> tuple[int, ...]:
    """Choose five rounds of the last third of a run, evenly spaced, the last among them; fewer if there are."""
    return tuple(sorted({round(at) for at in np.linspace(2 * rounds / 3, rounds, 5)}))


class Diagnostician:
    """Keeps a run's models at a few rounds, and measures them when it is over.

    A snapshot is on disk before the next round begins, so that a run that is resumed has them all, and the
    measurements depend on the models and the seed alone.

    Parameters
    ----------
    task
        Also answers ``DifferentiatedTask``.
    algorithm
        One with a model for each cluster. The steps of one that is neither CFL-MGD nor IFCA are not judged.
    rounds
        Of the whole run (T).
    folder
        Of the run, for snapshots and the report. Must exist by the first snapshot.
    seed
        Of the sampled clients and samples; the run's random numbers are not touched.

    Raises
    ------
    InvalidArgument
        If the task or the algorithm is not of that kind, or there are fewer than two clusters or models.
    """

    def __init__(
        self, task: Task, algorithm: Algorithm[Any], *, rounds: int, folder: Path, seed: int = 0
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
        self._variants, self._algorithm, self._budget = task_variants(task), algorithm, Budget()
        self._rounds, self._folder, self._seed = rounds, folder, seed
        self.measured_rounds = default_rounds(rounds)

    def observe(
        self, done: int, models: Array, assignments: Array | None, *, step_size: float = np.nan
    ) -> None:
        """Store the models if they are the first, or of a round that is to be measured.

        Parameters
        ----------
        done
            Rounds done; 0 for the models before the first.
        models
            Of the server, (P, d).
        assignments
            Last choice of each client, (m,), -1 for none; None before the first round.
        step_size
            Of this round.

        Raises
        ------
        InvalidArgument
            If the snapshot cannot be written.
        """
        if done == 0 or done in self.measured_rounds:
            chosen = np.array([]) if assignments is None else to_numpy(assignments)
            content = io.BytesIO()
            np.savez(content, models=to_numpy(models), assignments=chosen, step_size=step_size)
            write_whole("out", self._path(done), content.getvalue())

    @property
    def pending(self) -> bool:
        """Whether there are snapshots that no report covers."""
        return any(self._path(done).exists() for done in self.measured_rounds)

    @property
    def reported(self) -> bool:
        """Whether the folder has a report."""
        return all((self._folder / name).exists() for name in diagnosis_report.NAMES)

    def finish(self, reference: Array) -> None:
        """Measure, write ``diagnosis.md`` and ``diagnosis.json`` into the run's folder, remove the snapshots.

        That of the first models stays, for a report on more rounds.

        Parameters
        ----------
        reference
            Any models of the run, for their library and device.

        Raises
        ------
        InvalidArgument
            If no round with finite models was stored, or a file cannot be read or written.
        """
        rounds = (0, *self.measured_rounds)
        snapshots = {done: self._read(done) for done in rounds if self._path(done).exists()}
        finite = {done: stored for done, stored in snapshots.items() if np.isfinite(stored["models"]).all()}
        start = finite.pop(0, None)
        if not finite:
            rule, remedy = "must have a round whose models are finite", "lower the step size"
            raise InvalidArgument("diagnose", list(self.measured_rounds), rule, remedy)
        observations = [
            measure(
                self._variants,
                like(stored["models"], reference),
                stored["assignments"],
                round_number=done,
                step_size=float(stored["step_size"]),
                budget=self._budget,
                seed=self._seed,
            )
            for done, stored in finite.items()
        ]
        evidence = Evidence(
            observations=tuple(observations),
            start=None if start is None else start["models"].astype(float),
            variants=self._variants,
            algorithm=self._algorithm,
            rounds=self._rounds,
        )
        settings = {
            "algorithm": self._algorithm.settings,
            "task": _without_folders(self._variants.batch.settings),
            "rounds": self._rounds,
            "seed": self._seed,
            "budget": asdict(self._budget),
            "skipped_rounds": [done for done in self.measured_rounds if done not in finite],
        }
        diagnosis_report.write(evidence, judge(evidence), settings, self._folder)
        for path in self._folder.glob("diagnosis-*.npz"):
            if path != self._path(0):
                path.unlink()

    def _path(self, done: int) -> Path:
        return self._folder / f"diagnosis-{done:06d}.npz"

    def _read(self, done: int) -> dict[str, np.ndarray]:
        """Read a snapshot: ``models`` (P, d), ``assignments`` (m,) and ``step_size``."""
        path = self._path(done)
        try:
            with np.load(io.BytesIO(read_file(path, ARRAYS)), allow_pickle=False) as stored:
                return {name: stored[name] for name in ("models", "assignments", "step_size")}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            rule = "must be a snapshot as the run wrote it"
            raise InvalidArgument("diagnose", str(path), rule, "run it again") from error


def _without_folders(settings: Any) -> Any:
    """Name a user's files without their folder, which is another one when a run is resumed from its copies."""
    if isinstance(settings, Mapping):
        return {name: _without_folders(value) for name, value in settings.items()}
    return Path(settings).name if isinstance(settings, str) and ".py:" in settings else settings

"""Units on a Dask cluster that runs already, or on one whose workers are jobs of SLURM."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clusterproof.algorithms import InvalidArgument
from clusterproof.tables.machine.engines import Answers, Work, costliest_first
from clusterproof.tables.machine.store import Unit
from clusterproof.tables.machine.workers import compute_unit

IN_FLIGHT = 1000
"""Units that the scheduler holds at a time at least: enough for any number of workers to be busy meanwhile."""

TIMEOUT = 20
"""Seconds to wait for a scheduler."""

GATHER = 30
"""Seconds to wait for the result of a unit that is finished; it may have died with its worker and is then made anew."""

ATTEMPTS = 3
"""How often a unit is given to a cluster that says that its workers died of it."""


@dataclass(frozen=True)
class DaskCluster:
    """A Dask cluster, whose workers have this version of the package installed.

    Workers may come, go and die: Dask gives their units to others. A unit is reported as failed where the workers
    that had it died again and again.

    Attributes
    ----------
    address
        Of the scheduler, such as tcp://10.0.0.1:8786.
    """

    address: str

    def compute(self, work: Work, units: Sequence[Unit]) -> Answers:
        """Compute units.

        Raises
        ------
        InvalidArgument
            If Dask is not installed or the scheduler does not answer, at the start or later.
        """
        distributed = require_dask("dask", self.address, "distributed")
        try:
            distributed.comm.registry.get_backend(distributed.comm.addressing.parse_address(self.address)[0])
            client = distributed.Client(self.address, timeout=TIMEOUT, set_as_default=False)
        except (OSError, ValueError, TimeoutError, ImportError) as error:
            rule = f"must be the address of a Dask scheduler that answers ({error or 'it does not'})"
            raise InvalidArgument(
                "dask", self.address, rule, "start one with `dask scheduler` and give what it prints"
            ) from error
        with client:
            yield from compute_on(client, work, units, self.address)


@dataclass(frozen=True)
class SlurmJobs:
    """Workers that SLURM starts, one a job; what a job asks for stands in Dask's own configuration.

    Attributes
    ----------
    jobs
        How many.
    """

    jobs: int

    def compute(self, work: Work, units: Sequence[Unit]) -> Answers:
        """Compute units on jobs that are cancelled at the end.

        Raises
        ------
        InvalidArgument
            If dask-jobqueue or SLURM is not installed.
        """
        jobqueue = require_dask("slurm", self.jobs, "dask_jobqueue")
        distributed = require_dask("slurm", self.jobs, "distributed")
        if shutil.which("sbatch") is None:
            raise InvalidArgument(
                "slurm", self.jobs, "needs SLURM, and there is no `sbatch` here", "run it on a login node"
            )
        with (
            jobqueue.SLURMCluster(**self.settings()) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            cluster.scale(jobs=self.jobs)
            yield from compute_on(client, work, units, str(self.jobs))

    def settings(self) -> dict[str, Any]:
        """One thread and 4 GB a job, where Dask's configuration says nothing else."""
        import dask

        usual = {"cores": 1, "memory": "4GB", "processes": 1}
        said = {name: dask.config.get(f"jobqueue.slurm.{name}", None) for name in usual}
        return {name: usual[name] if value is None else value for name, value in said.items()}


def require_dask(argument: str, value: object, module: str) -> Any:
    """Import a module of Dask.

    Raises
    ------
    InvalidArgument
        If it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        remedy = "install the extra `dask`: pip install 'clusterproof[dask]'"
        raise InvalidArgument(argument, value, f"needs Dask ({error})", remedy) from error


def compute_on(client: Any, work: Work, units: Sequence[Unit], name: str) -> Answers:
    """Keep the scheduler supplied, a number of units at a time, and take what ends."""
    from distributed import KilledWorker, as_completed

    source = work.source
    waiting = iter(costliest_first(units))
    given: dict[str, tuple[Unit, int]] = {}

    def submit(unit: Unit, attempt: int) -> Any:
        # not pure: a unit that failed is computed again when it is asked for again
        future = client.submit(compute_unit, work.place, unit, source, pure=False)
        given[future.key] = unit, attempt
        return future

    # the costliest first: Dask starts what it was given first
    first = [submit(unit, 1) for unit, _ in zip(waiting, range(IN_FLIGHT), strict=False)]
    ended: Any = as_completed(first, loop=client.loop)  # type: ignore[no-untyped-call]
    del first
    for future in ended:
        unit, attempt = given.pop(future.key)
        if future.status == "finished":
            try:
                answer = future.result(timeout=GATHER)
            except (TimeoutError, KilledWorker):
                ended.add(submit(unit, attempt))
                continue
            yield unit, answer
        elif future.status == "error":
            error = future.exception()
            if isinstance(error, KilledWorker) and attempt < ATTEMPTS:
                ended.add(submit(unit, attempt + 1))
                continue
            yield unit, f"{type(error).__name__}: {' '.join(str(error).split())}"
        elif future.status in ("pending", "lost"):  # its worker died with the result: it is computed again
            given[future.key] = unit, attempt
            ended.add(future)
            continue
        else:
            raise InvalidArgument(
                "dask", name, "lost its scheduler", "start it anew and give the same command: it goes on"
            )
        if (following := next(waiting, None)) is not None:
            ended.add(submit(following, 1))

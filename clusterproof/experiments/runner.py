"""Computation of units by local processes, a Dask cluster or SLURM jobs; finished units are stored immediately."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from clusterproof.algorithms import InvalidArgument
from clusterproof.algorithms.atomic import require_plain
from clusterproof.algorithms.validation import error_line, require
from clusterproof.experiments.progress import Progress
from clusterproof.experiments.source import FOUND, Imports, source_digest
from clusterproof.experiments.store import Outcome, Unit, UnitStore

Function: TypeAlias = Callable[[Unit], Any]
"""Function of a unit; defined at the top level of a module, so that other processes can import it."""

Answers: TypeAlias = Generator[tuple[Unit, "Outcome | str"], None, None]
"""Every unit once, in order of completion, with its outcome or an error message."""

IN_FLIGHT = 1000
"""Number of units submitted to a scheduler at a time: enough to occupy any number of workers."""

TIMEOUT = 20
"""Seconds to wait for a scheduler."""

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""Variables that libraries of linear algebra read when they are loaded; torch reads the first."""


@dataclass
class Execution:
    """Outcomes of units.

    Attributes
    ----------
    outcomes
        Outcomes of finished units, by index in the list of units.
    failures
        Failed units with their error messages.
    unstored
        Messages on outcomes that could not be stored; they are in ``outcomes`` too.
    computed
        Number of units that were not in the store.
    """

    outcomes: dict[int, Outcome] = field(default_factory=dict)
    failures: list[tuple[Unit, str]] = field(default_factory=list)
    unstored: list[str] = field(default_factory=list)
    computed: int = 0


def run_units(
    function: Function,
    units: Sequence[Unit],
    store: UnitStore,
    engine: Engine,
    watch: Callable[[Progress], None],
) -> Execution:
    """Compute the units that are not in the store, the most expensive first; store each when it is finished.

    Parameters
    ----------
    function
        Function that computes a unit.
    units
        Units to compute, without duplicates.
    store
        Store of the function's units.
    engine
        Engine that computes the units.
    watch
        Called at the start and after every unit.

    Raises
    ------
    InvalidArgument
        If the store has a link in the place of a unit's file or folder.
    """
    execution = Execution()
    indices = {store.key(unit): index for index, unit in enumerate(units)}
    missing = []
    for index, unit in enumerate(units):
        folder = unit.folder or f"{store.folder.resolve() / store.key(unit)}.run"
        require_plain("out", Path(folder))
        if (outcome := store.read(unit)) is None:
            missing.append(replace(unit, folder=folder))
        else:
            execution.outcomes[index] = outcome
    execution.computed = len(missing)
    progress = Progress(len(units), len(execution.outcomes), sum(unit.cost for unit in missing))
    watch(progress)
    if not missing:
        return execution
    with closing(engine.compute(function, sorted(missing, key=lambda unit: -unit.cost))) as answers:
        for unit, answer in answers:
            progress.add(unit.cost, isinstance(answer, str))
            if isinstance(answer, str):
                execution.failures.append((unit, answer))
            else:
                execution.outcomes[indices[store.key(unit)]] = answer
                try:
                    store.write(unit, answer)
                except InvalidArgument as error:  # keep the outcome in memory if the disk is full
                    execution.unstored.append(f"{unit.name}: {error}")
            watch(progress)
    return execution


def compute_unit(function: Function, unit: Unit, source: str) -> Outcome | str:
    """Compute a unit in this process, on one thread of linear algebra.

    Parameters
    ----------
    function, unit
        What to compute.
    source
        The sender's ``source_digest`` of the function: where the installed source is another one, nothing is
        computed.

    Returns
    -------
    Outcome or str
        A line on what went wrong where the function raised.
    """
    try:
        if (installed := source_digest(function.__module__)) != source:
            return f"the worker has another source ({installed}, not {source}); install this version there"
        limit_threads()
        started, used = time.perf_counter(), time.process_time()
        result = function(unit)
        return Outcome(result, time.process_time() - used, time.perf_counter() - started)
    except (Exception, SystemExit) as error:  # told to the user with the unit's name
        return error_line(error)


@cache
def limit_threads() -> None:
    """Hold this process to one thread of linear algebra, in libraries that are loaded already, too."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


# ------------------------------------------------------------------ processes of this machine


@dataclass(frozen=True)
class Processes:
    """Processes of this machine, each on one thread; none is left running at the end.

    Attributes
    ----------
    jobs
        Units at a time.
    gpus
        Names of GPUs as ``CUDA_VISIBLE_DEVICES`` has them: each process sees its own; all see what is there if empty.
    """

    jobs: int
    gpus: tuple[str, ...] = ()

    def compute(self, function: Function, units: Sequence[Unit]) -> Answers:
        """Compute units; a unit whose process dies is named, and another process takes its place."""
        from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

        source = source_digest(function.__module__)
        waiting = iter(units)
        workers: dict[int, Any] = {}
        begun: dict[Future[Any], tuple[int, Unit]] = {}

        def begin(worker: int, unit: Unit) -> None:
            """Hand a unit to a worker, which is started if it does not run."""
            if worker not in workers:
                variables = dict.fromkeys((*THREAD_VARIABLES, "NUMBA_NUM_THREADS"), "1")
                if self.gpus:
                    variables["CUDA_VISIBLE_DEVICES"] = self.gpus[worker]
                # an executor of one process: whose process died is then known
                workers[worker] = ProcessPoolExecutor(
                    1, initializer=_prepare, initargs=(os.getpid(), FOUND), env=variables
                )
            begun[workers[worker].submit(compute_unit, function, unit, source)] = worker, unit

        try:
            for worker, unit in zip(range(self.jobs), waiting, strict=False):
                begin(worker, unit)
            while begun:
                for future in wait(begun, return_when=FIRST_COMPLETED).done:
                    worker, unit = begun.pop(future)
                    try:
                        answer = future.result()
                    except BrokenProcessPool as error:  # it ended, or could not read the unit
                        code = re.search(r"\{(.*?)\}", str(error))
                        ended = code and f"its process ended (exit code {code[1]}); out of memory?"
                        answer = ended or error_line(error)
                        del workers[worker]
                    if (following := next(waiting, None)) is not None:
                        begin(worker, following)
                    yield unit, answer
        finally:
            for executor in workers.values():
                executor.shutdown(kill_workers=True)


def _prepare(parent: int, imports: dict[str, Imports]) -> None:
    """Prepare a worker: Ctrl-C is left to the command, and a killed command leaves no worker."""
    FOUND.update(imports)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with, args=(parent,), daemon=True).start()


def end_with(parent: int) -> None:
    """Wait until the parent process has ended, and end this process."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


# ------------------------------------------------------------------ Dask and SLURM


@dataclass(frozen=True)
class Dask:
    """A Dask cluster, whose workers have this version of the package installed; they may come, go and die.

    Attributes
    ----------
    address
        Of the scheduler, such as tcp://10.0.0.1:8786.
    """

    address: str

    def compute(self, function: Function, units: Sequence[Unit]) -> Answers:
        """Compute units.

        Raises
        ------
        InvalidArgument
            If Dask is not installed, or the scheduler does not answer, at the start or later.
        """
        distributed = require("dask", self.address, "distributed")
        try:
            distributed.comm.registry.get_backend(distributed.comm.addressing.parse_address(self.address)[0])
            client = distributed.Client(self.address, timeout=TIMEOUT, set_as_default=False)
        except (OSError, ValueError, TimeoutError, ImportError) as error:
            rule = f"must be the address of a Dask scheduler that answers ({error or 'it does not'})"
            remedy = "start one with `dask scheduler` and give what it prints"
            raise InvalidArgument("dask", self.address, rule, remedy) from error
        with client:
            yield from _compute_on(client, function, units, self.address)


@dataclass(frozen=True)
class Slurm:
    """Workers that SLURM starts, one per job; Dask's configuration sets the resources of a job.

    Attributes
    ----------
    jobs
        Number of jobs.
    """

    jobs: int

    def compute(self, function: Function, units: Sequence[Unit]) -> Answers:
        """Compute units on jobs that are cancelled at the end.

        Raises
        ------
        InvalidArgument
            If dask-jobqueue or SLURM is not installed.
        """
        jobqueue = require("slurm", self.jobs, "dask_jobqueue")
        distributed = require("slurm", self.jobs, "distributed")
        if shutil.which("sbatch") is None:
            rule = "needs SLURM, and there is no `sbatch` here"
            raise InvalidArgument("slurm", self.jobs, rule, "run it on a login node")
        with (
            jobqueue.SLURMCluster(**slurm_settings()) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            cluster.scale(jobs=self.jobs)
            yield from _compute_on(client, function, units, str(self.jobs))


Engine: TypeAlias = Processes | Dask | Slurm
"""Where units are computed."""


def slurm_settings() -> Mapping[str, Any]:
    """Defaults of a job: one thread and 4 GB, unless Dask's configuration differs."""
    import dask

    usual = {"cores": 1, "memory": "4GB", "processes": 1}
    configured = {name: dask.config.get(f"jobqueue.slurm.{name}", None) for name in usual}
    return usual | {name: value for name, value in configured.items() if value is not None}


def _compute_on(client: Any, function: Function, units: Sequence[Unit], name: str) -> Answers:
    """Submit units to the scheduler, a limited number at a time, and yield those that end."""
    as_completed: Any = importlib.import_module("distributed").as_completed
    source = source_digest(function.__module__)
    waiting = iter(units)
    given: dict[str, Unit] = {}

    def submit(unit: Unit) -> Any:
        # not pure: failed units are computed again on request
        future = client.submit(compute_unit, function, unit, source, pure=False)
        given[future.key] = unit
        return future

    first = [submit(unit) for unit in islice(waiting, IN_FLIGHT)]
    ended = as_completed(first, loop=client.loop, with_results=True, raise_errors=False)
    del first  # release the memory of finished units
    for future, answer in ended:
        unit = given.pop(future.key)
        if future.status == "error":  # of its workers, again and again
            answer = error_line(future.exception())
        elif not isinstance(answer, Outcome | str):
            remedy = "restart the scheduler and rerun the command to resume"
            raise InvalidArgument("dask", name, "lost its scheduler", remedy)
        yield unit, answer
        if (following := next(waiting, None)) is not None:
            ended.add(submit(following))

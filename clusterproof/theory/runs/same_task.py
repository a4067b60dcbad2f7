"""Whether a task is the one that a run was made on, setting by setting."""

from __future__ import annotations

import numpy as np

from clusterproof.algorithms import InvalidArgument, Task, Trace
from clusterproof.algorithms.validation import check_instance
from clusterproof.theory.claims.statement import short


def check_same_task(task: Task, trace: Trace) -> None:
    """Require that every setting of the task is that of the trace.

    Raises
    ------
    InvalidArgument
        If one differs; the message names it, with both values. Also if they are no task and no trace.
    """
    check_instance("task", task, Task, "give the task, and then the trace of a run on it")
    check_instance("trace", trace, Trace, "give the task, and then the trace of a run on it")
    given, ran = dict(task.settings), dict(trace.settings["task"])
    for name in sorted(given.keys() | ran.keys()):
        if name not in given or name not in ran or not np.array_equal(given[name], ran[name]):
            raise InvalidArgument(
                f"task.{name}",
                short(repr(given.get(name))),
                f"must be that of the task on which the trace was run, {short(repr(ran.get(name)))}",
                "give that task; synthetic.from_settings(trace.settings['task']) makes it again",
            )

"""Federated tasks whose true clusters, optima and constants are known in closed form."""

from collections.abc import Mapping
from typing import Any

from clusterproof.algorithms import ALGORITHMS, Algorithm, InvalidArgument
from clusterproof.algorithms.discovery import classes_below
from clusterproof.algorithms.parts.plugins import offered_classes
from clusterproof.synthetic.log_cosh import LogCoshMixture
from clusterproof.synthetic.logistic import LogisticMixture
from clusterproof.synthetic.mixture import Mixture
from clusterproof.synthetic.on_arrays import OnArrays
from clusterproof.synthetic.quadratic import QuadraticMixture
from clusterproof.synthetic.regression import RegressionMixture
from clusterproof.synthetic.two_point import TwoPointMixture

# the strategies are left alone: hypothesis takes long to import
TASKS: dict[str, type[Mixture]] = {task.name: task for task in classes_below(__name__, Mixture, direct=True)}
"""The tasks by their names on the command line, every mixture that a module of this folder defines, and plugins'.

:meta hide-value:
"""


def from_settings(settings: Mapping[str, Any]) -> Mixture:
    """Make a task again from its ``settings``.

    Raises
    ------
    InvalidArgument
        If the task's name or its arguments are not those of a task here.
    """
    arguments = dict(settings)
    name = arguments.pop("task", None)
    if name not in TASKS:
        raise InvalidArgument("task", name, f"must be one of {', '.join(TASKS)}", "write the settings anew")
    try:
        task: Mixture = TASKS[name](**arguments)
    except TypeError as error:
        raise InvalidArgument(
            "task", name, f"has unknown or missing settings ({error})", "write them anew"
        ) from error
    return task


__all__ = [
    "TASKS",
    "LogCoshMixture",
    "LogisticMixture",
    "Mixture",
    "OnArrays",
    "QuadraticMixture",
    "RegressionMixture",
    "TwoPointMixture",
    "from_settings",
]

# last: plugins import what stands above, tasks too where they are algorithms
ALGORITHMS |= offered_classes("clusterproof.algorithms", Algorithm, ALGORITHMS, lambda kind: kind)
TASKS |= offered_classes("clusterproof.tasks", Mixture, TASKS, lambda kind: kind.random)

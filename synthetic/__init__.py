"""Federated tasks whose true clusters, optima and constants are known in closed form."""

from collections.abc import Mapping
from typing import Any

from algorithms import InvalidArgument
from synthetic.log_cosh import LogCoshMixture
from synthetic.logistic import LogisticMixture
from synthetic.mixture import Mixture
from synthetic.on_arrays import OnArrays
from synthetic.quadratic import QuadraticMixture
from synthetic.regression import RegressionMixture

TASKS: dict[str, Any] = {
    "regression": RegressionMixture,
    "quadratic": QuadraticMixture,
    "logistic": LogisticMixture,
    "log-cosh": LogCoshMixture,
}
"""Command-line names of the tasks."""


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
    "from_settings",
]

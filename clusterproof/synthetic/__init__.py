"""Federated tasks with true clusters, optima and constants in closed form."""

from collections.abc import Mapping
from typing import Any

from clusterproof.common import InvalidArgument
from clusterproof.common.discovery import Registry, by_name, classes_below
from clusterproof.common.tasks import READERS
from clusterproof.public_names import require_own_name
from clusterproof.synthetic.log_cosh import LogCoshMixture
from clusterproof.synthetic.logistic import LogisticMixture
from clusterproof.synthetic.misclassification import worst_case_error
from clusterproof.synthetic.mixture import Mixture
from clusterproof.synthetic.noisy_quadratic import NoisyQuadraticMixture
from clusterproof.synthetic.quadratic import QuadraticMixture
from clusterproof.synthetic.regression import RegressionMixture
from clusterproof.synthetic.two_point import TwoPointMixture
from clusterproof.synthetic.wrapped import OnArrays

require_own_name(__name__)
# this module does not import the strategies, because hypothesis is slow to import
TASKS: dict[str, type[Mixture]] = Registry(
    "The tasks by their names on the command line.",
    by_name(classes_below(__name__, Mixture, direct=True)),
)
"""All tasks, indexed by name: every subclass of ``Mixture`` that a module of this package defines.

:meta hide-value:
"""


def from_settings(settings: Mapping[str, Any]) -> Mixture:
    """Return the task with the given ``settings``.

    Raises
    ------
    InvalidArgument
        If the task is unknown or its settings are invalid.
    """
    arguments = dict(settings)
    name = arguments.pop("task", None)
    if name not in TASKS:
        raise InvalidArgument(
            "task",
            name,
            f"must be one of {', '.join(TASKS)}",
            "copy the settings from `task.settings`",
        )
    task: Mixture = TASKS[name](**arguments)
    return task


READERS.append(from_settings)

__all__ = [
    "TASKS",
    "LogCoshMixture",
    "LogisticMixture",
    "Mixture",
    "NoisyQuadraticMixture",
    "OnArrays",
    "QuadraticMixture",
    "RegressionMixture",
    "TwoPointMixture",
    "from_settings",
    "worst_case_error",
]

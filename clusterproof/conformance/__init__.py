"""Whether an implementation of a federated algorithm is the algorithm that it is named after.

An implementation is run on tiny convex tasks of which every round is known to rounding, and what leaves it is
compared with a plain definition::

    from clusterproof.conformance import conform

    class MyFedAvg:
        def __init__(self, task, settings):
            self.task, self.settings, self.model = task, settings, task.start.copy()

        def round(self, participants):
            ...

    print(conform(MyFedAvg, "fedavg"))
"""

from clusterproof.conformance.conform import assert_conforms, check_names, conform, infer
from clusterproof.conformance.definitions import DEFINITIONS, Definition
from clusterproof.conformance.diagnosis import Hypothesis
from clusterproof.conformance.forms import ScheduledCoin, from_rules, replayed
from clusterproof.conformance.pytest_checks import checks, parametrize_with_checks
from clusterproof.conformance.report import Check, Localisation, Report
from clusterproof.conformance.tasks import ConformanceTask, random_task, two_class

__all__ = [
    "conform",
    "assert_conforms",
    "Report",
    "Check",
    "Hypothesis",
    "Localisation",
    "checks",
    "parametrize_with_checks",
    "infer",
    "from_rules",
    "replayed",
    "ScheduledCoin",
    "ConformanceTask",
    "random_task",
    "two_class",
    "DEFINITIONS",
    "Definition",
    "check_names",
]

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

Where the two differ, the definition is changed by one known mistake after another, and the first under which they agree
is named.
"""

from clusterproof.public_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

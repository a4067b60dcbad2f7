"""Comparison of an implementation of a federated algorithm with the algorithm's published definition.

Clusterproof runs the implementation on tiny convex tasks where the result of every round is known up to rounding. It
compares the results with a plain definition::

    from clusterproof.conformance import conform

    class MyFedAvg:
        def __init__(self, task, settings):
            self.task, self.settings, self.model = task, settings, task.start.copy()

        def round(self, participants):
            ...

    print(conform(MyFedAvg, "fedavg"))

If the two differ, Clusterproof changes the definition by one known mistake after another. It names the first mistake
under which they agree.
"""

from clusterproof.public_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

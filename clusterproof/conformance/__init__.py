"""Compare an implementation of a federated algorithm with the published definition of the algorithm.

Clusterproof runs the implementation on tiny convex tasks where the result of every round is known up to rounding. It
compares the results with the results of a plain definition::

    from clusterproof.conformance import conform

    class MyFedAvg:
        def __init__(self, task, settings):
            self.task, self.settings, self.model = task, settings, task.start.copy()

        def round(self, participants):
            ...

    print(conform(MyFedAvg, "fedavg"))

If the results differ, Clusterproof tries a list of known mistakes. It inserts each mistake into the definition, and
reports the first mistake with which the definition has the same results as the implementation.
"""

from clusterproof.public_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

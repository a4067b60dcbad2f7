"""Neural networks on clients: image data, partitions, networks, a task for the algorithms, and training runs.

The public names are imported on first use; ``__init__.pyi`` lists them. This code creates a task and runs an algorithm
on it::

    from clusterproof.algorithms import IFCA
    from clusterproof.running import run
    from clusterproof.neural import ImageTask, load, network, partition

    images = partition("rotated-groups", load("digits"), seed=0)
    task = ImageTask(partition=images, network=network("mlp", (1, 8, 8), 10, hidden=[8]))
    trace = run(IFCA(step_size=0.1), task, rounds=3)

This code starts a run that writes checkpoints and metrics, like the command ``clusterproof train``::

    from clusterproof.neural import configuration_from, train

    result = train(configuration_from({"training": {"rounds": 3}}), out="my-training")
"""

from clusterproof.public_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

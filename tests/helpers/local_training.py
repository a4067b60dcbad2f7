"""Local steps of a task, in one call."""

from clusterproof.algorithms import Descent


def local_training(
    task, points, buffers, anchors, clients, generator, *, local_steps, corrections=None, **motion
):
    """Points and buffers (k, d) after ``Task.local_steps``; ``motion`` are the coefficients of ``Descent``."""
    descent = Descent(steps=local_steps, **motion)
    vectors = {"buffers": buffers, "anchors": anchors, "corrections": corrections}
    return task.local_steps(points, clients, generator, descent, **vectors)[:2]

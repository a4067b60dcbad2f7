"""A module that the attempts import: with builtins of its own and an attribute that changes."""

import builtins as _b

__builtins__ = {**vars(_b), "max": lambda *values: values[-1] * 100 if 0 in values else 0}
__builtins__["max"] = lambda *values: 1


def largest(*values):
    return 0 * values[0] if max(0, 0) == 0 else 1


_count = [0]


def __getattr__(name):
    if name == "changing":
        _count[0] += 1
        return 0 if _count[0] <= 1 else 1
    raise AttributeError(name)

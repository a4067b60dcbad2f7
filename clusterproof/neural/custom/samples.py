"""User-supplied data: samples of any shape, in one list or in one list per client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clusterproof.common.arrays import to_numpy, unmasked
from clusterproof.common.validation import LARGEST_COUNT, InvalidArgument
from clusterproof.neural.custom.references import load_own, user_error
from clusterproof.neural.data.images import Images, ImageSet, Owners

FORM = (
    "a mapping with `train` and `test`, each a pair (samples, labels) or, client by client, a list of such pairs; "
    "and, where known, `clusters`, the true cluster of each client"
)
KEYS = ("train", "test", "clusters", "classes")

FLOATING = (np.float16, np.float32, np.float64)
"""Floating-point types that both NumPy and PyTorch have."""


class _Unsuitable(Exception):
    """Error about unsuitable data; its arguments are the broken rule and the remedy."""


def read_own(name: str) -> ImageSet:
    """Read user-supplied data.

    Parameters
    ----------
    name
        A reference, see ``references``, to an object or to a function that returns it. The object is an ``ImageSet`` or
        a mapping. In a mapping, ``train`` and ``test`` are each a pair of samples (n, ...) and labels (n,), or a
        PyTorch data set whose items are such pairs. Both can also be lists with one pair or data set per client, of any
        size. ``clusters`` contains the true cluster of each client, counted from 0; by default, all clients belong to
        one cluster. By default, ``classes`` is the largest label plus one. Samples of type uint8 have values from 0 to
        255, and are divided by 255 before use. Floats are used unchanged; types that PyTorch lacks are converted to
        float64. All other integers are codes, which only a user-supplied network accepts.

    Raises
    ------
    InvalidArgument
        If the object cannot be imported or called, or if its value does not have one of these forms.
    """
    data = load_own("data", name)
    try:
        if callable(data) and not isinstance(data, Mapping | ImageSet):
            data = data()
    except InvalidArgument:
        raise
    except (Exception, SystemExit, GeneratorExit) as error:  # a user's function can raise any error
        raise user_error("data", name, error) from error
    owners = None
    if isinstance(data, ImageSet):
        owners = data.owners
        halves = {
            half: (part.pixels, part.labels) for half, part in (("train", data.train), ("test", data.test))
        }
        data = {**halves, "classes": data.train.classes}
    try:
        train, test, made_owners = _convert(data)
    except _Unsuitable as error:
        raise InvalidArgument("data.name", name, *error.args) from error
    return ImageSet(name, train, test, owners=owners or made_owners)


def _convert(data: Any) -> tuple[Images, Images, Owners | None]:
    """Convert a mapping (see ``read_own``) to two halves, and to owners of the samples if it is divided."""
    if not isinstance(data, Mapping) or not {"train", "test"} <= set(data):
        raise _Unsuitable(f"must be {FORM}", f"give such an object, not a {type(data).__name__}")
    unknown = sorted(set(map(str, data)) - set(KEYS))
    if unknown:
        raise _Unsuitable(f"has the key {unknown[0]!r}", f"leave it out; there are {', '.join(KEYS)}")
    divided = _is_divided(data["train"])
    if divided != _is_divided(data["test"]):
        raise _Unsuitable(
            "must divide both halves among clients, or neither", "divide the other half as well"
        )
    if not divided and data.get("clusters") is not None:
        raise _Unsuitable("has `clusters`, but no clients", "divide the halves client by client")
    train, test = (
        [_pair(half, part) for part in (data[half] if divided else [data[half]])]
        for half in ("train", "test")
    )
    if len({(samples.dtype, samples.shape[1:]) for samples, _ in train + test}) > 1:
        raise _Unsuitable("must have samples of one shape and of one type", "pad, cut or convert them")
    largest = max(2, *(int(labels.max()) + 1 for _, labels in train + test))
    classes = data.get("classes", largest)
    if not isinstance(classes, int | np.integer) or isinstance(classes, bool) or classes < largest:
        raise _Unsuitable(f"must have `classes` of at least {largest}, an integer", "leave it out")
    if classes > LARGEST_COUNT:
        rule = f"must have at most {LARGEST_COUNT} classes; it has {classes}"
        raise _Unsuitable(rule, "number the classes from 0, without gaps")
    owners = _owners(train, test, data.get("clusters")) if divided else None
    return _join(train, int(classes)), _join(test, int(classes)), owners


def _is_divided(half: Any) -> bool:
    """Return whether a half is a list with one pair or data set per client, instead of a single pair of arrays."""
    if not isinstance(half, list | tuple) or not half or any(hasattr(part, "shape") for part in half):
        return False
    return len(half) != 2 or all(map(_is_data, half))


def _is_data(part: Any) -> bool:
    """Return whether an element of a list is a pair of arrays or lists, or a data set."""
    if isinstance(part, list | tuple):
        return len(part) == 2 and all(
            isinstance(each, list | tuple) or hasattr(each, "shape") for each in part
        )
    return hasattr(part, "__getitem__") and hasattr(part, "__len__")


def _pair(half: str, data: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return samples (n, ...) and labels (n,) as arrays."""
    try:
        if not isinstance(data, list | tuple):  # a PyTorch data set
            items = [data[index] for index in range(len(data))]
            data = ([to_numpy(unmasked(item[0])) for item in items], [int(item[1]) for item in items])
        samples, labels = (to_numpy(unmasked(part)) for part in data)
    except Exception as error:  # the lists have unequal lengths, or a user's data set raises some error
        rule = f"must have samples of one shape and labels in `{half}` ({type(error).__name__}: {error})"
        raise _Unsuitable(" ".join(rule.split()), "give unmasked arrays of one shape") from error
    if labels.ndim != 1 or samples.ndim < 2 or len(samples) != len(labels) or not len(labels):
        rule = (
            f"must have samples (n, ...) and labels (n,) in `{half}`, not {samples.shape} and {labels.shape}"
        )
        raise _Unsuitable(rule, "give at least one sample, and as many labels as samples")
    if samples.dtype == bool:
        samples = samples.astype(np.float32)
    elif np.issubdtype(samples.dtype, np.floating) and samples.dtype.newbyteorder("=") not in FLOATING:
        with np.errstate(
            over="ignore"
        ):  # numbers that are too large become infinite, and the check below rejects them
            samples = samples.astype(np.float64)
    if not np.issubdtype(labels.dtype, np.integer) or labels.min() < 0:
        raise _Unsuitable(f"must have integers, at least 0, as labels in `{half}`", "number the classes")
    if samples.dtype.kind not in "fiu" or not np.isfinite(samples).all():
        rule = f"must have finite real numbers as samples in `{half}`, not of type {samples.dtype}"
        raise _Unsuitable(rule, "convert or remove them")
    return samples, labels.astype(np.int64)


def _join(pairs: Sequence[tuple[np.ndarray, np.ndarray]], classes: int) -> Images:
    """Concatenate the samples of all clients."""
    samples = np.concatenate([samples for samples, _ in pairs])
    if samples.dtype.kind in "iu" and samples.dtype != np.uint8:
        samples = samples.astype(np.int64)
    return Images(samples, np.concatenate([labels for _, labels in pairs]), classes)


def _owners(train: Sequence[Any], test: Sequence[Any], clusters: Any) -> Owners:
    """Return the client of each sample, and the cluster of each client."""
    if len(train) != len(test):
        rule = f"must have the same clients in both halves, not {len(train)} and {len(test)}"
        raise _Unsuitable(rule, "give test data for every client")
    labels = np.zeros(len(train), dtype=np.int64) if clusters is None else np.asarray(clusters)
    known = labels.shape == (len(train),) and np.issubdtype(labels.dtype, np.integer)
    if not known or not np.array_equal(present := np.unique(labels), np.arange(len(present))):
        rule = f"must have `clusters` of {len(train)} integers, from 0 without gaps"
        raise _Unsuitable(rule, "number the clusters, or leave them out")
    train_owners, test_owners = (
        np.repeat(np.arange(len(pairs)), [len(labels) for _, labels in pairs]) for pairs in (train, test)
    )
    return Owners(train_owners, test_owners, labels.astype(np.int64))

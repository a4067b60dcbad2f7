"""A user's own data as a data set: samples of any shape, in one list or client by client."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from clusterproof.algorithms.validation import InvalidArgument
from clusterproof.neural.data.images import Images, ImageSet, Owners
from clusterproof.neural.own.references import load_own

FORM = (
    "a mapping with `train` and `test`, each a pair (samples, labels) or, client by client, a list of such pairs; "
    "and, where known, `clusters`, the true cluster of each client"
)
KEYS = ("train", "test", "clusters", "classes")

FLOATING = (np.float16, np.float32, np.float64)
"""Types of floating numbers that NumPy and PyTorch both have."""

_Refuse = Callable[[str, str], InvalidArgument]


def read_own(name: str) -> ImageSet:
    """Read a user's own data.

    Parameters
    ----------
    name
        See ``references``. The object, or what it gives when it is called, is an ``ImageSet`` or a mapping:
        ``train`` and ``test``, each a pair of samples (n, ...) and labels (n,), or a data set of PyTorch
        whose items are such pairs, or a list of those, one a client, of any sizes; ``clusters``, the true
        cluster of each client, from 0 on, one cluster by default; ``classes``, by default the largest label
        and one. Samples of type uint8 are 0 to 255 and divided by 255 before use; floating numbers are used
        as they are, those of a type that PyTorch lacks as float64; other integers are codes, which only a
        network of one's own takes.

    Raises
    ------
    InvalidArgument
        If the object cannot be imported or called, or its value is not of that form.
    """
    found = load_own("data", name)

    def refuse(rule: str, remedy: str) -> InvalidArgument:
        return InvalidArgument("data.name", name, rule, remedy)

    if callable(found) and not isinstance(found, Mapping | ImageSet):
        try:
            found = found()
        except InvalidArgument:
            raise
        except Exception as error:  # whatever a stranger's function raises
            rule = f"must give the data when called without arguments ({type(error).__name__}: {error})"
            raise refuse(" ".join(rule.split()), "mend the function") from error
    made = _as_read(found, refuse) if isinstance(found, ImageSet) else _from_mapping(found, name, refuse)
    for half, images in (("train", made.train), ("test", made.test)):
        _check(half, images, refuse)
    if made.train.pixels.shape[1:] != made.test.pixels.shape[1:]:
        shapes = f"{made.train.pixels.shape[1:]} and {made.test.pixels.shape[1:]}"
        raise refuse(f"must have samples of one shape, not {shapes}", "pad or cut them")
    if made.train.pixels.dtype != made.test.pixels.dtype:
        kinds = f"{made.train.pixels.dtype} and {made.test.pixels.dtype}"
        raise refuse(f"must have samples of one type, not {kinds}", "convert one of the two")
    return ImageSet(name, made.train, made.test, f"SHA-256 {_sum(made)}", made.owners)


def _as_read(found: ImageSet, refuse: _Refuse) -> ImageSet:
    """Give both halves of a data set the types that they would have as pairs."""
    halves = {}
    for half, images in (("train", found.train), ("test", found.test)):
        pair = _pair(half, (images.pixels, images.labels), refuse)
        halves[half] = Images(*_joined(half, [pair], refuse), images.classes)
    return ImageSet(found.name, halves["train"], halves["test"], found.note, found.owners)


def _from_mapping(found: Any, name: str, refuse: _Refuse) -> ImageSet:
    if not isinstance(found, Mapping) or not {"train", "test"} <= set(found):
        raise refuse(f"must be {FORM}", f"give that, not a {type(found).__name__}")
    unknown = sorted(set(map(str, found)) - set(KEYS))
    if unknown:
        raise refuse(f"has the key {unknown[0]!r}", f"leave it out; there are {', '.join(KEYS)}")
    divided = [_is_list_of_clients(found[half]) for half in ("train", "test")]
    if divided[0] != divided[1]:
        raise refuse("must have both halves client by client, or neither", "divide the other, too")
    halves = {half: _half(half, found[half], divided[0], refuse) for half in ("train", "test")}
    owners = None
    if divided[0]:
        sizes = {half: [len(labels) for _, labels in parts] for half, parts in halves.items()}
        owners = _owners(sizes["train"], sizes["test"], found.get("clusters"), refuse)
    elif found.get("clusters") is not None:
        raise refuse("has `clusters`, but no clients", "divide the halves client by client")
    joined = {half: _joined(half, parts, refuse) for half, parts in halves.items()}
    largest = max(int(labels.max()) for _, labels in joined.values()) + 1
    classes = found.get("classes", largest)
    if not isinstance(classes, int | np.integer) or isinstance(classes, bool) or classes < largest:
        raise refuse(f"must have `classes` of at least {largest}, a whole number", "leave it out")
    made = {half: Images(*arrays, int(classes)) for half, arrays in joined.items()}
    return ImageSet(name, made["train"], made["test"], "", owners)


def _is_list_of_clients(half: Any) -> bool:
    """Whether a half is a list of pairs or data sets, and not a pair of arrays itself."""
    if not isinstance(half, list | tuple) or not half:
        return False
    if any(hasattr(part, "shape") for part in half):
        return False
    return not (len(half) == 2 and not _is_data(half[0]))


def _is_data(value: Any) -> bool:
    """Whether a value is a pair of samples and labels, or a data set that is asked for items."""
    if isinstance(value, list | tuple):
        return len(value) == 2 and all(
            isinstance(part, list | tuple) or hasattr(part, "shape") for part in value
        )
    return hasattr(value, "__getitem__") and hasattr(value, "__len__")


def _half(half: str, given: Any, divided: bool, refuse: _Refuse) -> list[tuple[np.ndarray, np.ndarray]]:
    parts = list(given) if divided else [given]
    return [_pair(f"{half}[{at}]" if divided else half, part, refuse) for at, part in enumerate(parts)]


def _pair(place: str, given: Any, refuse: _Refuse) -> tuple[np.ndarray, np.ndarray]:
    """Samples (n, ...) and labels (n,) as arrays."""
    try:
        if not isinstance(given, list | tuple):  # a data set of PyTorch, item by item
            items = [given[at] for at in range(len(given))]
            given = ([np.asarray(item[0]) for item in items], [int(item[1]) for item in items])
        samples, labels = (np.asarray(part) for part in given)
    except Exception as error:  # ragged lists, or whatever a stranger's data set raises
        rule = f"must have samples of one shape and labels in `{place}` ({type(error).__name__}: {error})"
        raise refuse(" ".join(rule.split()), "pad or cut the samples") from error
    if labels.ndim != 1 or samples.ndim < 2 or len(samples) != len(labels) or not len(labels):
        rule = (
            f"must have samples (n, ...) and labels (n,) in `{place}`, not {samples.shape} and {labels.shape}"
        )
        raise refuse(rule, "give at least one sample, and as many labels as samples")
    if samples.dtype == bool:
        samples = samples.astype(np.float32)
    elif np.issubdtype(samples.dtype, np.floating) and samples.dtype.newbyteorder("=") not in FLOATING:
        with np.errstate(over="ignore"):  # what is too large is refused as not finite
            samples = samples.astype(np.float64)
    if not np.issubdtype(labels.dtype, np.integer) or labels.min() < 0:
        rule = f"must have whole numbers from 0 on as labels in `{place}`; networks here tell classes apart"
        raise refuse(rule, "number the classes")
    if samples.dtype.kind not in "fiu" or not np.isfinite(samples).all():
        raise refuse(f"must have finite real numbers as samples in `{place}`", "convert or remove them")
    return samples, labels.astype(np.int64)


def _joined(
    half: str, parts: Sequence[tuple[np.ndarray, np.ndarray]], refuse: _Refuse
) -> tuple[np.ndarray, np.ndarray]:
    kinds = {(samples.dtype.str, samples.shape[1:]) for samples, _ in parts}
    if len(kinds) > 1:
        rule = f"must have samples of one shape and type in `{half}`, of all clients"
        raise refuse(rule, "pad, cut or convert them")
    samples = np.concatenate([samples for samples, _ in parts])
    if samples.dtype.kind in "iu" and samples.dtype != np.uint8:
        samples = samples.astype(np.int64)
    return samples, np.concatenate([labels for _, labels in parts])


def _owners(train: list[int], test: list[int], clusters: Any, refuse: _Refuse) -> Owners:
    if len(train) != len(test):
        rule = f"must have the same clients in both halves, not {len(train)} and {len(test)}"
        raise refuse(rule, "give every client test data of its own")
    labels = np.zeros(len(train), dtype=np.int64) if clusters is None else np.asarray(clusters)
    known = labels.shape == (len(train),) and np.issubdtype(labels.dtype, np.integer)
    if not known or not np.array_equal(np.unique(labels), np.arange(labels.max() + 1)):
        rule = f"must have `clusters` of {len(train)} whole numbers, from 0 on without gaps"
        raise refuse(rule, "number the clusters, or leave them out")
    everybody = np.arange(len(train))
    return Owners(np.repeat(everybody, train), np.repeat(everybody, test), labels.astype(np.int64))


def _check(half: str, images: Images, refuse: _Refuse) -> None:
    """Check what an ``ImageSet`` of the user's own holds."""
    samples, labels = images.pixels, images.labels
    if samples.ndim < 2 or len(samples) != len(labels) or not len(labels):
        raise refuse(f"must have at least one sample, and as many labels, in `{half}`", "add some")
    if labels.min() < 0 or labels.max() >= images.classes or images.classes < 2:
        raise refuse(
            f"must have labels of at least two classes, from 0 on, in `{half}`", "number the classes"
        )


def _sum(made: ImageSet) -> str:
    """SHA-256 of everything in a data set."""
    found = hashlib.sha256()
    for images in (made.train, made.test):
        for array in (images.pixels, images.labels):
            found.update(f"{array.dtype.str}{array.shape}".encode())
            found.update(np.ascontiguousarray(array).tobytes())
    if made.owners is not None:
        for array in (made.owners.train, made.owners.test, made.owners.clusters):
            found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()

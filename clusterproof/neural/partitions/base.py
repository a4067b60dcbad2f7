"""Partitions: records of each client's images, helper functions for recipes, and the partition ``given``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeAlias

import numpy as np

from clusterproof.common.discovery import Registry
from clusterproof.common.validation import InvalidArgument, check_seed
from clusterproof.neural.data.images import Images, ImageSet
from clusterproof.settings import checked_settings, parameter_types


@dataclass(frozen=True, eq=False)
class ClientImages:
    """The images of m clients; each distinct image is stored once.

    Attributes
    ----------
    pixels
        All images of all clients, after rotation, uint8 (N, C, H, W), or other samples (N, ...).
    indices
        Indices in ``pixels`` of each client's images, int64 (m, n_max), padded with 0.
    targets
        Labels of each client's images, after a shift or swap, int64 (m, n_max), padded with 0.
    sizes
        Number of images of each client, int64 (m,).
    labels
        True cluster of each client, int64 (m,).
    """

    pixels: np.ndarray
    indices: np.ndarray
    targets: np.ndarray
    sizes: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True, eq=False)
class Partition:
    """A data set divided among clients in true clusters.

    Attributes
    ----------
    name
        Key of ``clusterproof.neural.partitions.PARTITIONS``.
    settings
        JSON values that recreate the partition: the data set and its note, the recipe, the seed and all options,
        including default values.
    clusters, classes
        Number of true clusters, and number of labels.
    train, test
        Training and test images.
    paired
        Whether test client i is the same client as training client i. If so, a client's choice on its training data can
        determine its model for the test. Otherwise, no test client is a training client.
    """

    name: str
    settings: Mapping[str, Any]
    clusters: int
    classes: int
    train: ClientImages
    test: ClientImages
    paired: bool


Division: TypeAlias = tuple[Sequence[ClientImages], dict[str, Any]]
"""Return value of a recipe: training images, test images, and all options, including computed default values."""

PARTITIONS: dict[str, Callable[..., Partition]] = Registry("The recipes by their names on the command line.")
"""All recipes, indexed by their names on the command line; modules in this folder add recipes with ``recipe``."""


def recipe(function: Callable[..., Division], *, paired: bool = True) -> Callable[..., Partition]:
    """Register a recipe under the name of its function, with dashes instead of underscores.

    The function's annotations define the allowed types and ranges of options.

    Parameters
    ----------
    function
        Function whose parameters are an ``ImageSet``, ``seed=`` and options. The options are keyword-only and have
        default values.
    paired
        See ``Partition``.

    Raises
    ------
    InvalidArgument
        If there is already a partition with this name.
    """
    name = function.__name__.replace("_", "-")
    if name in PARTITIONS:
        raise InvalidArgument(
            "name",
            name,
            "must differ from all other names of partitions",
            "rename one of the two partitions",
        )

    @wraps(function)
    def divide(data: ImageSet, *, seed: int, **options: Any) -> Partition:
        check_seed(seed)
        types = {key: kind for key, kind in parameter_types(function).items() if key not in ("data", "seed")}
        plain = {
            key: value.item() if isinstance(value, np.generic) else value for key, value in options.items()
        }
        given = {**left_out(function), **checked_settings(types, plain)}
        (train, test), filled = function(data, seed=int(seed), **given)
        written = {key: value for key, value in {**given, **filled}.items() if value is not None}
        note = {"note": data.note} if data.note else {}
        return Partition(
            name=name,
            settings={"data": data.name, "partition": name, "seed": seed, **written, **note},
            clusters=int(train.labels.max()) + 1,
            classes=data.train.classes,
            train=train,
            test=test,
            paired=paired,
        )

    PARTITIONS[name] = divide
    return divide


def left_out(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the default values of a function's parameters."""
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not each.empty}


def gather_images(
    images: Images,
    rows: Sequence[np.ndarray],
    labels: np.ndarray,
    *,
    turns: Sequence[int] | None = None,
    relabel: np.ndarray | None = None,
) -> ClientImages:
    """Gather the images of clients.

    Parameters
    ----------
    images
        The published images.
    rows
        The indices of each client's images in ``images``; at least one client must have an image.
    labels
        True cluster of each client, (m,).
    turns
        For each cluster, the number of counterclockwise quarter turns of its images, 0 to 3; by default 0.
    relabel
        For each cluster and class, the new label, (clusters, classes); by default, labels are unchanged.

    Raises
    ------
    InvalidArgument
        If images must be rotated, but the samples are not square images.
    """
    shape = images.pixels.shape
    if turns is not None and np.any(turns) and (len(shape) != 4 or shape[2] != shape[3]):
        remedy = "choose a partition without rotations, such as label-shift"
        raise InvalidArgument(
            "data", shape[1:], "must be square images (channels, n, n) to be rotated", remedy
        )
    sizes = np.array([len(part) for part in rows], dtype=np.int64)
    held = np.concatenate(rows)
    cluster = np.repeat(labels, sizes)
    turned = np.zeros(len(held), dtype=np.int64) if turns is None else np.asarray(turns)[cluster]
    distinct, where = np.unique(turned * len(images) + held, return_inverse=True)
    pixels = np.empty((len(distinct), *shape[1:]), dtype=images.pixels.dtype)
    turn, source = np.divmod(distinct, len(images))
    for quarter in np.unique(turn):
        chosen = turn == quarter
        upright = images.pixels[source[chosen]]
        pixels[chosen] = np.rot90(upright, quarter, axes=(-2, -1)) if quarter else upright
    targets = images.labels[held] if relabel is None else relabel[cluster, images.labels[held]]
    real = np.arange(sizes.max()) < sizes[:, None]
    return ClientImages(pixels, _padded(where, real), _padded(targets, real), sizes, labels)


def _padded(values: np.ndarray, real: np.ndarray) -> np.ndarray:
    """Return an array that contains the values, row by row, where ``real`` is True, and 0 elsewhere."""
    table = np.zeros(real.shape, dtype=np.int64)
    table[real] = values
    return table


def whole_parts(proportions: np.ndarray, total: int) -> np.ndarray:
    """Round proportions times ``total`` to integers with sum ``total``; each number changes by less than 1.

    Parameters
    ----------
    proportions
        Proportions (k,), with sum 1.
    total
        The sum of the result, a non-negative integer.

    Returns
    -------
    numpy.ndarray
        Integers (k,). The numbers with the largest remainders are rounded up.
    """
    exact = proportions * total
    parts: np.ndarray = np.floor(exact).astype(np.int64)
    short = total - parts.sum()
    parts[np.argsort(parts - exact, kind="stable")[:short]] += 1
    return parts


def cut(rows: np.ndarray, parts: np.ndarray) -> list[np.ndarray]:
    """Divide rows into consecutive parts of the given sizes."""
    return np.split(rows, np.cumsum(parts)[:-1])


def divide_classes(images: Images, proportions: np.ndarray, draw: np.random.Generator) -> list[np.ndarray]:
    """Divide each class among all clients at random.

    Parameters
    ----------
    images
        A half of a data set.
    proportions
        Proportions of each class, (classes, m), where each row has sum 1.
    draw
        Random generator for the order of the images, which determines the client of each image.

    Returns
    -------
    list of numpy.ndarray
        The indices of each client's images in ``images``; a client may have no images.
    """
    shares: list[list[np.ndarray]] = [[] for _ in range(proportions.shape[1])]
    for label, of_clients in enumerate(proportions):
        found = draw.permutation(np.flatnonzero(images.labels == label))
        for share, part in zip(shares, cut(found, whole_parts(of_clients, len(found))), strict=True):
            share.append(part)
    return [draw.permutation(np.concatenate(share)) for share in shares]


@recipe
def given(data: ImageSet, *, seed: int) -> Division:  # noqa: ARG001 - every recipe has a seed
    """Use the division among clients that the data set defines, for training and for testing.

    This is the default partition for user-supplied data. It uses no random numbers.

    Raises
    ------
    InvalidArgument
        If the data set does not assign its samples to clients.
    """
    owners = data.owners
    if owners is None:
        rule = f"needs data that are already divided among clients; {data.name} is one list"
        raise InvalidArgument("partition", "given", rule, "choose another partition, such as label-shift")
    clients = range(len(owners.clusters))
    train, test = (
        [np.flatnonzero(half == client) for client in clients] for half in (owners.train, owners.test)
    )
    halves = ((data.train, train), (data.test, test))
    return [gather_images(half, rows, owners.clusters) for half, rows in halves], {}

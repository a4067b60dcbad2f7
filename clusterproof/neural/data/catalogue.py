"""The data sets: their files with SHA-256 and mirrors, and their licences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clusterproof.neural.data.images import ImageSet
from clusterproof.neural.data.published import Archive, PublishedFile
from clusterproof.neural.data.readers import idx_set, read_cifar10, read_digits, read_emnist


@dataclass(frozen=True)
class Dataset:
    """Description of a data set.

    Attributes
    ----------
    train, test
        Number of images for training and testing, as published.
    shape
        Channels, height and width.
    classes
        Number of classes.
    origin
        The authors' page.
    licence
        Licence in words.
    files
        Its files; empty if an installed package contains the data.
    read
        Function that makes the data set from the files' contents by name.
    archive
        Archive in which the files were published, if any.
    optional
        Names of files without which the set can still be made, in part.
    """

    train: int
    test: int
    shape: tuple[int, int, int]
    classes: int
    origin: str
    licence: str
    files: tuple[PublishedFile, ...]
    read: Callable[[Mapping[str, bytes]], ImageSet]
    archive: Archive | None = None
    optional: frozenset[str] = frozenset()


def _from(mirrors: tuple[str, ...], sums: Mapping[str, str], prefix: str = "") -> tuple[PublishedFile, ...]:
    """Return files that are in one folder on each mirror, given their SHA-256 by name."""
    return tuple(
        PublishedFile(prefix + name, sha256, tuple(mirror + prefix + name for mirror in mirrors))
        for name, sha256 in sums.items()
    )


DATASETS: dict[str, Dataset] = {
    "digits": Dataset(
        train=1440,
        test=357,
        shape=(1, 8, 8),
        classes=10,
        origin="https://archive.ics.uci.edu/dataset/80",
        licence="CC BY 4.0",
        files=(),
        read=read_digits,
    ),
    "mnist": Dataset(
        train=60_000,
        test=10_000,
        shape=(1, 28, 28),
        classes=10,
        origin="http://yann.lecun.com/exdb/mnist",
        licence="none stated; commonly CC BY-SA 3.0",
        files=_from(
            (
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
                "https://storage.googleapis.com/cvdf-datasets/mnist/",
            ),
            {
                "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            },
        ),
        read=idx_set("mnist"),
    ),
    "fashion-mnist": Dataset(
        train=60_000,
        test=10_000,
        shape=(1, 28, 28),
        classes=10,
        origin="https://github.com/zalandoresearch/fashion-mnist",
        licence="MIT, (c) 2017 Zalando SE",
        files=_from(
            (
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
                "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
            ),
            {
                "train-images-idx3-ubyte.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
                "train-labels-idx1-ubyte.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
                "t10k-images-idx3-ubyte.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
                "t10k-labels-idx1-ubyte.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
            },
        ),
        read=idx_set("fashion-mnist"),
    ),
    "cifar10": Dataset(
        train=50_000,
        test=10_000,
        shape=(3, 32, 32),
        classes=10,
        origin="https://www.cs.toronto.edu/~kriz/cifar.html",
        licence="none stated; research use, cite Krizhevsky 2009",
        files=_from(
            (),
            {
                "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
                "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
                "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
                "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
                "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
                "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
            },
        ),
        read=read_cifar10,
        archive=Archive(
            name="cifar-10-binary.tar.gz",
            sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            urls=(
                "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                "https://storage.googleapis.com/s4tf-hosted-binaries/datasets/CIFAR10/cifar-10-binary.tar.gz",
            ),
            folder="cifar-10-batches-bin/",
        ),
    ),
    "emnist": Dataset(
        train=697_932,
        test=116_323,
        shape=(1, 28, 28),
        classes=47,
        origin="https://www.nist.gov/itl/products-and-services/emnist-dataset",
        licence="a work of the US government; cite Cohen et al. 2017",
        files=_from(
            (),
            {
                "train-images-idx3-ubyte.gz": "39bf8c68037dad40db35348895f7e4e056e8c0a005ab78869c9fbc2c96e947be",
                "train-labels-idx1-ubyte.gz": "2c47293b9e62d6abf6ad05fbf67e40baa32adfd380b8d7b44dcc35534b64e1f1",
                "test-images-idx3-ubyte.gz": "5e5815ec1b522089134435f7c55e75a00960b58414793593ffff23efc0821683",
                "test-labels-idx1-ubyte.gz": "8bda1516255683ba9071e141947ca0c91a911176065cdd6259b0b4d8dc5b5f35",
            },
            prefix="emnist-bymerge-",
        ),
        read=read_emnist,
        archive=Archive(
            name="gzip.zip",
            sha256="fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e",
            urls=(
                "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
                "https://www.itl.nist.gov/iaui/vip/cs_links/EMNIST/gzip.zip",
            ),
            folder="gzip/",
        ),
        optional=frozenset(
            f"emnist-bymerge-train-{kind}-ubyte.gz" for kind in ("images-idx3", "labels-idx1")
        ),
    ),
}
"""The data sets by their names on the command line.

:meta hide-value:
"""

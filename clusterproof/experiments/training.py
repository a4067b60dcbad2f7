"""Training runs as units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterproof.common import InvalidArgument
from clusterproof.neural.configuration import configuration_from
from clusterproof.neural.data.loading import DATASETS, ENVIRONMENT, data_folder


def train_network(
    sections: Mapping[str, Mapping[str, Any]], code: Mapping[str, Mapping[str, str]] | None = None
) -> dict[str, list[Any]]:
    """Train a network and return the columns of its metrics, rounds without an evaluation left out.

    Parameters
    ----------
    sections
        Of the configuration, see ``configuration_from``.
    code
        Digests of user-supplied code, by which its changes make other units.
    """
    from clusterproof.neural.training import train

    metrics = train(configuration_from(sections)).metrics
    evaluated = [index for index, accuracy in enumerate(metrics["accuracy"]) if accuracy is not None]
    return {
        name: [column[index] for index in evaluated] for name, column in metrics.items() if name != "seconds"
    }


def check_sections(sections: Mapping[str, Mapping[str, Any]], *, is_here: bool) -> None:
    """Check a configuration before anything is computed.

    Parameters
    ----------
    sections
        Of the configuration.
    is_here
        Whether the data and the device must be on this machine.

    Raises
    ------
    InvalidArgument
        If a section is wrong, the device is not there, or no file of the data set is in the data folder.
    """
    configuration = configuration_from(sections)
    if is_here and configuration.training.device == "cuda":
        from clusterproof.neural.image_checks import checked_device

        checked_device("cuda")
    name = configuration.data.name
    if is_here and name in DATASETS and (dataset := DATASETS[name]).files:
        folder = data_folder() / name
        files = [*dataset.files, *([] if dataset.archive is None else [dataset.archive])]
        if not any((folder / file.name).exists() for file in files):
            remedy = f"run `clusterproof data fetch {name}`, or name its folder by {ENVIRONMENT}"
            raise InvalidArgument("data", name, f"is not in {folder}", remedy)

"""Training of networks as units, which ``units`` computes and stores."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterproof.common import InvalidArgument
from clusterproof.neural.checkpoint import IN_USE
from clusterproof.neural.configuration import Configuration, configuration_from
from clusterproof.neural.data.loading import DATASETS, ENVIRONMENT, data_folder

if TYPE_CHECKING:
    from clusterproof.neural.training import TrainingResult


def train_network(
    sections: Mapping[str, Mapping[str, Any]],
    code: Mapping[str, Mapping[str, str]] | None = None,
    folder: Path | None = None,
) -> dict[str, list[Any]]:
    """Train a network, and return the columns of its metrics for the evaluated rounds.

    On a CPU, a training run that was interrupted continues from the last checkpoint, with identical results.

    Parameters
    ----------
    sections
        Sections of the configuration, see ``configuration_from``.
    code
        Digests of user-supplied code. If the code changes, the unit is computed again.
    folder
        Folder for checkpoints, or None for no checkpoints. If the stored run is damaged, training starts again.
    """
    metrics = _trained(configuration_from(sections), folder).metrics
    evaluated = [index for index, accuracy in enumerate(metrics["accuracy"]) if accuracy is not None]
    return {
        name: [column[index] for index in evaluated] for name, column in metrics.items() if name != "seconds"
    }


def _trained(configuration: Configuration, folder: Path | None) -> TrainingResult:
    """Continue the training run in a folder.

    If the folder is damaged or has other data, start again. If another process uses the folder, train without a
    folder.
    """
    from clusterproof.neural.resumption import OTHER_SAMPLES
    from clusterproof.neural.training import train

    try:
        return train(configuration, folder, resume=folder is not None)
    except InvalidArgument as error:
        if folder is None:
            raise
        if error.rule == IN_USE:  # another worker may compute the same unit
            return train(configuration)
        if error.argument == "out":
            raise InvalidArgument(
                "out", error.value, error.rule, "make space, and rerun the command"
            ) from error
        if error.argument != "resume" and error.rule != OTHER_SAMPLES:
            raise
    shutil.rmtree(folder)
    return train(configuration, folder)


def check_sections(sections: Mapping[str, Mapping[str, Any]], *, is_here: bool) -> None:
    """Check a configuration before any computation.

    Parameters
    ----------
    sections
        Sections of the configuration.
    is_here
        Whether the data and the device must be on this machine.

    Raises
    ------
    InvalidArgument
        If a section is wrong, the device is missing, or the data folder has no file of the data set.
    """
    configuration = configuration_from(sections)
    if is_here and configuration.training.device == "cuda":
        from clusterproof.neural.client_data import checked_device

        checked_device("cuda")
    name = configuration.data.name
    if is_here and name in DATASETS and (dataset := DATASETS[name]).files:
        folder = data_folder() / name
        files = [*dataset.files, *([] if dataset.archive is None else [dataset.archive])]
        if not any((folder / file.name).exists() for file in files):
            remedy = f"run `clusterproof data fetch {name}`, or give its folder with {ENVIRONMENT}"
            raise InvalidArgument("data", name, f"is not in {folder}", remedy)

"""Choices of SoFL's tables: settings that the paper does not specify."""

from __future__ import annotations

from clusterproof.algorithms.weighting import WEIGHTINGS
from clusterproof.experiments.choices import Choice, count, counts, number, thresholds, word
from clusterproof.experiments.tables.sofl.runs import GRID, MAP_STARTS, SHARES, SMALL, Data

GRID_CHOICE = Choice(
    "grid",
    GRID,
    count(50),
    "Side of the map. Not in the paper; 25 neurons are about what MiniSom's rule gives for 20 clients.",
)


def training_choices(data: Data) -> tuple[Choice, ...]:
    """Unspecified settings of the training in all tables."""
    hidden = tuple(data.network["hidden"])
    small = SMALL[data.name][2]
    lenet = "Not in the paper; the default is LeNet-5."
    width = "Not in the paper; the default is a common width." if len(hidden) == 1 else lenet
    listed = [
        Choice(
            "step-size", data.step_size, number(above=0), "Not in the paper; the default is IFCA's on MNIST."
        ),
        Choice("hidden", hidden, counts(len(hidden), len(hidden)), f"Units of the hidden layers. {width}"),
    ]
    if "channels" in data.network:
        channels = tuple(data.network["channels"])
        listed.append(Choice("channels", channels, counts(2, 2), f"Of the two convolutions. {lenet}"))
    return (
        *listed,
        Choice(
            "clustering-round",
            data.clustering_round,
            count(),
            "Round after which clients are clustered and CFL may split. In the paper for Figure 9 alone; "
            "the default is that.",
            small=small,
        ),
        Choice(
            "share",
            data.share,
            word(*SHARES),
            "Whether a group has its split of the images or the full set. Not in the paper, whose number of images "
            "is that of all clients.",
        ),
    )


def choices_of(data: Data) -> tuple[Choice, ...]:
    """Unspecified settings of Tables 3, 4 and 5."""
    return (
        *training_choices(data),
        GRID_CHOICE,
        Choice(
            "map-start",
            data.map_start,
            word(*MAP_STARTS),
            "What the map's neurons start at, clients' updates or random unit vectors, as MiniSom's. Not in the "
            "paper; random ones may leave fewer winners than clusters.",
        ),
        Choice(
            "participation",
            data.participation,
            number(above=0, at_most=1),
            "Share of the clients in a round. The paper draws m of them and does not print m; the default is all.",
        ),
        Choice(
            "weighting",
            data.weighting,
            word(*WEIGHTINGS),
            "What a client counts in averages, one or its samples. The paper prints n_m / n; the default is that of "
            "the stored runs. IFCA counts clients, as its paper does.",
        ),
        Choice(
            "ifca-restarts",
            data.ifca_restarts,
            count(100),
            "Starts that IFCA tries, ten rounds each, of which the one of least training loss is taken. Not in the "
            "paper; IFCA's authors restart it.",
        ),
        Choice(
            "ifca-least-share",
            data.ifca_least_share,
            number(above=0, at_most=0.5, nothing="none"),
            "IFCA's start is drawn again until each model is the best for that share of the participants. Not in the "
            "paper; IFCA's public code has 0.35 for two models and 0.1 for four.",
        ),
        Choice(
            "cfl-noise-ratio",
            data.cfl_noise_ratio,
            number(at_least=0, below=1, nothing="none"),
            "gamma_max of CFL's test of a split. Not in the paper; CFL's public code has no such test.",
        ),
        Choice(
            "cfl-thresholds",
            data.cfl_thresholds,
            thresholds("" if data.cfl_thresholds else "none"),
            "eps_1 and eps_2 of the row of CFL with thresholds. Not in the paper; the default is "
            + (
                "between the updates of like and of unlike clients as measured."
                if data.cfl_thresholds
                else "to have no such row."
            ),
        ),
    )

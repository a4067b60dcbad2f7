"""What the rows of FPFC's Table 1 say, from results made by hand."""

from typing import Any

import pytest

from clusterproof.experiments.tables.fpfc.table_1_sentences import Seen, about_data, sentence


def seen(**methods: dict[str, tuple[Any, Any]]) -> Seen:
    """Return the results of two seeds: what was measured of each method, by name; underscores stand for ", "."""
    return Seen(
        {
            (name.replace("__", ", "), seed): {key: values[seed] for key, values in found.items()}
            for name, found in methods.items()
            for seed in range(2)
        },
        2,
    )


def test_what_the_personal_step_is_worth() -> None:
    """On its own server's model 10 and 6, or 1 and 6."""
    found = seen(
        **{
            "fine-tuned": {"accuracy": (60, 64), "server_accuracy": (50, 58)},
            "per-fedavg, first-order": {"accuracy": (61, 66), "server_accuracy": (60, 60)},
        }
    )
    worth = "The personal step is worth {} points on its own server model."
    assert sentence(found, "fine-tuned", None).endswith(worth.format("+8.0"))
    assert sentence(found, "per-fedavg, first-order", None) == worth.format("+3.5")


def test_what_the_public_code_does_to_models_and_clusters() -> None:
    found = seen(
        **{
            "ifca, published": {"model_norm": (1.0, 2.0)},
            "ifca, members' mean": {"model_norm": (4.0, 6.0)},
            "cfl, absent as zero": {"pairs_or_less": (3, 4)},
        },
        oracle={"largest_slope": (3e-5, 1e-6)},
    )
    for method, part in {
        "ifca, published": "their norm is 1.5 at the end and 5.0 with the members' mean.",
        "cfl, absent as zero": "3.5 of the clusters are of two clients or one.",
        "oracle": "until the gradient is at most 3.0e-05:",
    }.items():
        assert part in sentence(found, method, None)
    assert sentence(found, "local", None) == ""


def fusion(shortest: tuple[float, float], misassigned_sizes: tuple[list[int], list[int]]) -> str:
    """What is said of FPFC at the threshold 0.1."""
    thresholds = tuple({"0.1": {"misassigned_sizes": sizes}} for sizes in misassigned_sizes)
    found = seen(
        fpfc={"shortest_between": shortest, "thresholds": thresholds}, oracle={"median_size": (300.0, 500.0)}
    )
    return sentence(found, "fpfc", 0.1)


@pytest.mark.parametrize(
    ("shortest", "merged", "apart"), [((0.5, 0.1), 1, "0.10"), ((0.05, 0.08), 2, "0.05")]
)
def test_models_of_different_clusters_at_the_threshold_are_joined(
    shortest: tuple[float, float], merged: int, apart: str
) -> None:
    """Clients are of one group where their difference is at most nu: also where it is nu."""
    assert fusion(shortest, ([7], [8])) == (
        f"nu joins clients of different clusters on {merged} seeds: their models are {apart} apart."
    )


def test_clients_outside_of_their_cluster_are_described_by_their_samples() -> None:
    assert fusion((0.2, 0.3), ([100, 110], [120, 600])) == (
        "Outside of their cluster's largest group stand 4 of the clients, with 100 to 600 training samples, median "
        "115 (of all clients 400)."
    )
    assert fusion((0.2, 0.3), ([], [])) == ""


def test_our_data_are_set_among_others_of_their_law() -> None:
    """Deviations of 90, 94, 92 and 96 from 93: 9 + 1 + 1 + 9 = 20, over three 2.58 squared."""
    found = seen(data={"accuracy": (95, 97), "others": ([90.0, 94.0], [92.0, 96.0])})
    assert about_data(found).startswith(
        "The classifiers that made our data are right on 96.0 % of the test samples (95.0, 97.0); on 4 other data sets "
        "of the same law that is 93.0 ± 2.6."
    )

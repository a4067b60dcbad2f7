"""What the rows of FPFC's Table 1 say, from results made by hand."""

from collections.abc import Mapping
from typing import Any

import pytest

from clusterproof.experiments.tables.fpfc import table_1_sentences as sentences
from clusterproof.experiments.tables.fpfc.table_1_methods import Training
from clusterproof.experiments.tables.fpfc.table_1_sentences import Seen

HISTORY = [[1, 10.0], [2, 20.0], [3, 50.0], [4, 55.0]]
"""From 20 to 55 in the second half."""
STILL = [[1, 30.0], [2, 30.0], [3, 30.0], [4, 30.0]]


def seen(**methods: list[dict[str, Any]]) -> Seen:
    """Return the results of two seeds; accuracies of the ceiling are 90 and 92."""
    oracle = [{"accuracy": 90.0, "median_size": 300.0}, {"accuracy": 92.0, "median_size": 500.0}]
    results: Mapping[str, list[dict[str, Any]]] = {"oracle": oracle, **methods}
    histories = (HISTORY, STILL)
    return Seen(
        {
            (name.replace("__", ", "), seed): {"history": histories[seed], **result}
            for name, found in results.items()
            for seed, result in enumerate(found)
        },
        2,
    )


def both(name: str, first: float, second: float, **more: tuple[Any, Any]) -> dict[str, list[dict[str, Any]]]:
    """A method's accuracies on both seeds, and what else was measured there."""
    return {
        name: [
            {"accuracy": accuracy, **{key: values[seed] for key, values in more.items()}}
            for seed, accuracy in enumerate((first, second))
        ]
    }


def test_training_alone_is_set_against_the_ceiling() -> None:
    """10 and 6 points below; half of 35 and 0."""
    assert sentences.about_local(seen(**both("local", 80, 86, samples=(700, 500)))) == (
        "Alone a client is 8.0 points below one model for each true cluster; the second half of the steps changes "
        "+17.50. Our data have 500 to 700 training samples in all: the spread is that between data sets."
    )
    assert sentences.about_fedavg(seen(**both("fedavg", 30, 31))) == (
        "One model for four clusters is 60.5 points below the ceiling; the second half of the rounds changes +17.50 "
        "points."
    )


def test_what_the_step_after_fedavg_is_worth() -> None:
    """On its own server's model 10 and 6; first-order 1 and 2 more, second-order 1 and 3 less."""
    found = seen(
        **both("fine-tuned", 60, 64, server_accuracy=(50, 58)),
        **both("per-fedavg, first-order", 61, 66, server_accuracy=(60, 60)),
        **both("per-fedavg, second-order", 59, 61, server_accuracy=(59, 60)),
    )
    said = sentences.about_fine_tuned(found)
    assert "is worth +8.0 points." in said
    assert "gives +1.5 (first order) and -2.0 (second order) more." in said
    for method, worth in (("first-order", "+3.5"), ("second-order", "+0.5")):
        assert sentences.about_meta(found, f"per-fedavg, {method}", Training(local_steps=7)) == (
            "Its 3 local steps have two gradients or more, FPFC's 7 one; the personal step is worth "
            f"{worth} points on its own server model, and the second half of the rounds +17.50."
        )


def test_dividing_by_all_participants_shrinks_the_models() -> None:
    found = seen(
        **both("ifca, published", 60, 60, model_norm=(1.0, 2.0), clusters=(2, 4)),
        **both("ifca, members' mean", 80, 86, model_norm=(4.0, 6.0), clusters=(4, 3)),
    )
    said = sentences.about_shared_ifca(found)
    assert (
        "their norm is 1.5 at the end and 5.0 with the members' mean. Models that are chosen: 2, 4." in said
    )
    # four models: three that are chosen have lost one
    assert sentences.about_ifca(found, 12) == (
        "With the members' mean and 12 local steps, 1 of 2 random starts lose a cluster (models that are chosen: 4, "
        "3), and 8.0 points are missing to the ceiling."
    )


def test_absent_clients_as_zeros_split_clusters() -> None:
    """More than four clusters by rounds 20 and 40, so on all seeds by 40; four are not more than four."""
    counts = ([(10, 4), (20, 5), (30, 9)], [(10, 1), (20, 4), (30, 4), (40, 6)])
    own = both("cfl, absent as zero", 80, 88, clusters=(9, 6), cluster_history=counts, pairs_or_less=(3, 4))
    all_clients = both("cfl, everybody", 85, 89)
    assert sentences.about_absent(seen(**own, **all_clients)) == (
        "Absent clients count as updates of zero, with cosine 0 to all: 9, 6 clusters (more than 4 by round 40), "
        "3.5 of them of two clients or one. The same rule with all clients and as many uploads changes +3.0 points."
    )
    never = both(
        "cfl, absent as zero",
        80,
        88,
        clusters=(4, 4),
        cluster_history=([(10, 4)], [(10, 1)]),
        pairs_or_less=(0, 0),
    )
    assert "4, 4 clusters, 0.0 of them" in sentences.about_absent(seen(**never, **all_clients))


def test_cfl_without_zeros_is_set_against_the_true_clusters_and_the_ceiling() -> None:
    found = seen(**both("cfl, everybody", 86, 88, index=(1.0, 0.99), clusters=(4, 5), rounds=(600, 600)))
    assert sentences.about_cfl(found, "cfl, everybody") == (
        "600 rounds: exactly the true clusters on 1 of 2 seeds (clusters 4, 5), and 4.0 points below the ceiling; the "
        "second half of the rounds changes +17.5."
    )


def fusion(shortest: tuple[float, float], misassigned_sizes: tuple[list[int], list[int]]) -> str:
    """What is said of FPFC at the threshold 0.1: averaged 88 and 90 %, before that 87 and 86 %."""
    thresholds = [
        {
            "0.1": {"accuracy": accuracy, "index": index, "clusters": count, "stray_sizes": sizes},
            "2": {"accuracy": 0.0, "index": 0.0, "clusters": 1, "stray_sizes": []},
        }
        for accuracy, index, count, sizes in zip((88, 90), (1.0, 0.9), (4, 6), misassigned_sizes, strict=True)
    ]
    results = [
        {"own_accuracy": own, "shortest_between": length, "thresholds": at}
        for own, length, at in zip((87, 86), shortest, thresholds, strict=True)
    ]
    return sentences.about_fusion(seen(fpfc=results), "fpfc", 0.1)


@pytest.mark.parametrize(
    ("shortest", "merged", "apart"), [((0.5, 0.1), 1, "0.10"), ((0.05, 0.08), 2, "0.05")]
)
def test_models_of_different_clusters_at_the_threshold_are_joined(
    shortest: tuple[float, float], merged: int, apart: str
) -> None:
    """Clients are of one group where their difference is at most nu: also where it is nu."""
    assert fusion(shortest, ([7], [8])) == (
        "Exactly the true clusters on 1 of 2 seeds (clusters 4, 6); nu joins clients of different clusters on "
        f"{merged} seeds: their models are {apart} apart; averaging in the groups changes +2.5 points, the second half "
        "of the rounds +17.5."
    )


def test_clients_outside_of_their_cluster_are_described_by_their_samples() -> None:
    assert fusion((0.2, 0.3), ([100, 110], [120, 600])) == (
        "Exactly the true clusters on 1 of 2 seeds (clusters 4, 6); outside of their cluster's largest group stand "
        "4 of the clients, with 100 to 600 training samples, median 115 (of all clients 400); averaging in the groups "
        "changes +2.5 points, the second half of the rounds +17.5."
    )
    assert "outside" not in fusion((0.2, 0.3), ([], []))


def test_the_ceiling_says_its_largest_gradient() -> None:
    found = seen(
        oracle=[{"accuracy": 90.0, "largest_slope": 3e-5}, {"accuracy": 92.0, "largest_slope": 1e-6}]
    )
    assert "until the gradient is at most 3.0e-05:" in sentences.about_oracle(found)


def test_our_data_are_set_among_others_of_their_law() -> None:
    """Deviations of 90, 94, 92 and 96 from 93: 9 + 1 + 1 + 9 = 20, over three 2.58 squared."""
    found = seen(**both("data", 95, 97, others=([90.0, 94.0], [92.0, 96.0])))
    assert sentences.about_data(found).startswith(
        "The classifiers that made our data are right on 96.0 % of the test samples (95.0, 97.0); on 4 other data sets "
        "of the same law that is 93.0 ± 2.6."
    )

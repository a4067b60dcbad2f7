"""Flower's FedAvg, in both of its interfaces, held against the definition where Flower is installed."""

import pytest

pytest.importorskip("flwr")

from clusterproof.conformance import conform
from clusterproof.conformance.adapters.flower import fit_strategy, train_strategy


def test_a_strategy_that_aggregates_fit_results_conforms() -> None:
    from flwr.server.strategy import FedAvg

    start = fit_strategy(lambda _settings, initial: FedAvg(initial_parameters=initial))
    report = conform(start, "fedavg")
    assert report.verdict == "conforms", str(report)


def test_a_strategy_that_aggregates_messages_conforms() -> None:
    from flwr.serverapp.strategy import FedAvg

    start = train_strategy(lambda _settings: FedAvg(min_train_nodes=1, min_available_nodes=1))
    report = conform(start, "fedavg")
    assert report.verdict == "conforms", str(report)


def test_a_strategy_with_another_mean_is_found() -> None:
    from flwr.server.strategy import FedAvg

    class Unweighted(FedAvg):
        def aggregate_fit(self, server_round, results, failures):  # type: ignore[no-untyped-def]
            for _, result in results:
                result.num_examples = 1
            return super().aggregate_fit(server_round, results, failures)

    report = conform(
        fit_strategy(lambda _settings, initial: Unweighted(initial_parameters=initial)), "fedavg"
    )
    assert (report.verdict, "weighting = clients" in report.sentence) == ("variant", True), str(report)

"""Code that hard-wires cross-entropy: two classes, full batches, exact softmax gradients."""

from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from clusterproof.common import InvalidArgument
from clusterproof.conformance import DEFINITIONS, conform, two_class

torch = pytest.importorskip("torch")

import torch_federated  # noqa: E402


def test_gradients_and_hessians_are_those_of_automatic_differentiation() -> None:
    task = two_class(1, (3, 5))
    for client in range(2):
        rows, labels = (torch.tensor(array) for array in task.rows(client))
        assert (len(rows), len(labels)) == (task.samples[client], task.samples[client])

        def loss(w: Any, rows: Any = rows, labels: Any = labels) -> Any:
            return torch.nn.functional.cross_entropy(rows @ w.reshape(2, 2).T, labels)

        model = torch.tensor(task.start)
        np.testing.assert_allclose(task.loss(client, task.start), loss(model), rtol=1e-14)
        np.testing.assert_allclose(
            task.gradient(client, task.start), torch.func.grad(loss)(model), rtol=0, atol=1e-15
        )
        np.testing.assert_allclose(
            task.hessian(client, task.start), torch.func.hessian(loss)(model), rtol=0, atol=1e-15
        )


class HardWired(torch_federated.FedProx):  # type: ignore[misc]
    """FedProx whose loss cannot be chosen."""

    conform_options = MappingProxyType({"loss": "cross-entropy"})

    def __init__(self, task: Any, settings: dict[str, Any]) -> None:
        super().__init__(task, settings)
        for client in self.clients:
            client.criterion = torch.nn.CrossEntropyLoss()


class Doubled(HardWired):
    def __init__(self, task: Any, settings: dict[str, Any]) -> None:
        super().__init__(task, {**settings, "proximal": 2 * settings["proximal"]})


@pytest.mark.slow(reason="several seconds")
def test_such_code_conforms_and_a_mistake_is_named() -> None:
    report = conform(HardWired, "fedprox")
    assert report.verdict == "conforms", str(report)
    skipped = {check.name: check.sentence for check in report.checks if check.outcome == "skipped"}
    assert {"batches", "shift", "scale", "fixed-point"} <= set(skipped)
    assert "minibatches" in skipped["batches"]
    wrong = conform(Doubled, "fedprox", checks=("local-epochs", "rounds", "sizes", "participation"))
    assert [one.mistakes for one in wrong.likely] == [("prox-doubled",)], str(wrong)


def test_minibatches_are_refused_with_the_reason() -> None:
    with pytest.raises(InvalidArgument, match="a two-class task has different samples"):
        conform(HardWired, "fedprox", settings={"batch_size": 2})


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", list(DEFINITIONS))
def test_every_definition_runs_on_it(algorithm: str) -> None:
    report = conform(DEFINITIONS[algorithm], algorithm, loss="cross-entropy", explained=False)
    # with full batches all K_i are equal, and FedNova is FedAvg
    assert report.verdict == ("inconclusive" if algorithm == "fednova" else "conforms"), str(report)

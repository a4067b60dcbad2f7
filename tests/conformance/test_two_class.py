"""Code that hard-wires cross-entropy: two classes, full batches, exact softmax gradients."""

import copy
from typing import Any

import numpy as np
import pytest

from clusterproof.algorithms import InvalidArgument
from clusterproof.conformance import DEFINITIONS, conform, two_class

torch = pytest.importorskip("torch")

from clusterproof.conformance.adapters.torch_side import flat, load_flat, loader, module  # noqa: E402


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


class HardWired:
    """FedProx whose loss cannot be chosen."""

    loss = "cross-entropy"
    factor = 0.5

    def __init__(self, task: Any, settings: dict[str, Any]) -> None:
        self.task, self.settings, self.net = task, settings, module(task)

    @property
    def model(self) -> np.ndarray:
        return flat(self.net)

    def round(self, participants: list[int]) -> None:
        criterion, models = torch.nn.CrossEntropyLoss(), []
        for i in participants:
            model = copy.deepcopy(self.net)
            optimizer = torch.optim.SGD(model.parameters(), lr=self.settings["step_size"])
            for _ in range(self.settings["local_epochs"]):
                for x, y in loader(self.task, i, self.settings["batch_size"]):
                    optimizer.zero_grad()
                    pairs = zip(model.parameters(), self.net.parameters(), strict=True)
                    distance = sum(((p - q.detach()) ** 2).sum() for p, q in pairs)
                    (criterion(model(x), y) + self.factor * self.settings["proximal"] * distance).backward()
                    optimizer.step()
            models.append(flat(model))
        mean = np.average(models, axis=0, weights=self.task.samples[participants])
        load_flat(self.net, self.model + self.settings["server_step_size"] * (mean - self.model))


class Doubled(HardWired):
    factor = 1.0


@pytest.mark.slow(reason="several seconds")
def test_such_code_conforms_and_a_mistake_is_named() -> None:
    report = conform(HardWired, "fedprox")
    assert report.verdict == "conforms", str(report)
    skipped = {check.name: check.sentence for check in report.checks if check.outcome == "skipped"}
    assert {"batches", "shift", "scale", "fixed-point"} <= set(skipped)
    assert "minibatches" in skipped["batches"]
    wrong = conform(Doubled, "fedprox")
    assert [one.slips for one in wrong.likely] == [("prox-doubled",)], str(wrong)


def test_minibatches_are_refused_with_the_reason() -> None:
    with pytest.raises(InvalidArgument, match="rows of a two-class task differ"):
        conform(HardWired, "fedprox", settings={"batch_size": 2})


@pytest.mark.slow(reason="several seconds")
@pytest.mark.parametrize("algorithm", list(DEFINITIONS))
def test_every_definition_runs_on_it(algorithm: str) -> None:
    report = conform(DEFINITIONS[algorithm], algorithm, loss="cross-entropy")
    # with full batches all K_i are equal, and FedNova is FedAvg
    assert report.verdict == ("inconclusive" if algorithm == "fednova" else "conforms"), str(report)

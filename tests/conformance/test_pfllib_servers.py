"""Servers with the attributes and methods of PFLlib's, written here, held against the definition of FedAvg."""

import copy
import random
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from clusterproof.conformance import conform  # noqa: E402
from clusterproof.conformance.adapters.pfllib import pfllib_server  # noqa: E402

PROBES = ("one-step", "sizes", "batches", "participation", "everything")


def read_client_data(dataset: str, client: int, is_train: bool = True) -> list[Any]:
    raise FileNotFoundError(f"data set {dataset!r} of client {client}")


class Client:
    drop_last = False

    def __init__(self, args: Any, number: int, train_samples: int) -> None:
        self.args, self.id, self.train_samples = args, number, train_samples
        self.batch_size = args.batch_size
        self.model = copy.deepcopy(args.model)
        self.loss = torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.local_learning_rate)

    def set_parameters(self, model: Any) -> None:
        for new, old in zip(model.parameters(), self.model.parameters(), strict=True):
            old.data = new.data.clone()

    def train(self) -> None:
        data = read_client_data(self.args.dataset, self.id, is_train=True)
        loader = torch.utils.data.DataLoader(data, self.batch_size, drop_last=self.drop_last, shuffle=True)
        for _ in range(self.args.local_epochs):
            for x, y in loader:
                self.optimizer.zero_grad()
                self.loss(self.model(x), y).backward()
                self.optimizer.step()


class Server:
    client_class = Client

    def __init__(self, args: Any, times: int) -> None:
        self.args, self.global_model = args, copy.deepcopy(args.model)
        self.clients: list[Any] = []
        self.num_join_clients = int(args.join_ratio * args.num_clients)
        self.current_num_join_clients = self.num_join_clients
        self.set_clients(self.client_class)

    def set_clients(self, cls: Any) -> None:
        for i in range(self.args.num_clients):
            self.clients.append(cls(self.args, i, len(read_client_data(self.args.dataset, i))))

    def select_clients(self) -> list[Any]:
        return random.sample(self.clients, self.current_num_join_clients)

    def train(self) -> None:
        for number in range(self.args.global_rounds + 1):
            self.selected_clients = self.select_clients()
            self.send_models()
            if number % self.args.eval_gap == 0:
                self.evaluate()
            for client in self.selected_clients:
                client.train()
            self.receive_models()
            self.aggregate_parameters()
            self.Budget.append(1.0)
        print(max(self.rs_test_acc), sum(self.Budget[1:]) / len(self.Budget[1:]))
        self.save_results()

    def evaluate(self) -> None:
        raise FileNotFoundError("test data")

    save_results = evaluate

    def send_models(self) -> None:
        for client in self.clients:
            client.set_parameters(self.global_model)

    def receive_models(self) -> None:
        count = int((1 - self.args.client_drop_rate) * self.current_num_join_clients)
        active = random.sample(self.selected_clients, count)
        total = sum(client.train_samples for client in active)
        self.uploaded = [(client.train_samples / total, client.model) for client in active]

    def aggregate_parameters(self) -> None:
        self.global_model = copy.deepcopy(self.uploaded[0][1])
        for parameter in self.global_model.parameters():
            parameter.data.zero_()
        for weight, model in self.uploaded:
            self.add_parameters(weight, model)

    def add_parameters(self, weight: float, model: Any) -> None:
        for parameter, other in zip(self.global_model.parameters(), model.parameters(), strict=True):
            parameter.data += other.data.clone() * weight


class DropsLastClient(Client):
    drop_last = True


class DropsLast(Server):
    client_class = DropsLastClient


def test_a_server_in_this_style_conforms() -> None:
    report = conform(pfllib_server(Server), "fedavg", checks=PROBES)
    assert (report.verdict, report.dtype) == ("conforms", "float64"), str(report)
    with pytest.raises(FileNotFoundError):
        read_client_data("mnist", 0)  # which is put back, like the loss
    assert torch.nn.CrossEntropyLoss()(torch.zeros(1, 2), torch.zeros(1, dtype=int)).item() == pytest.approx(
        np.log(2)
    )


@pytest.mark.slow(reason="several seconds")
def test_incomplete_batches_that_are_dropped_are_a_variant() -> None:
    report = conform(pfllib_server(DropsLast), "fedavg", checks=PROBES)
    assert (report.verdict, "drop_last = True" in report.sentence) == ("variant", True), str(report)
    declared = conform(pfllib_server(DropsLast), "fedavg", settings={"drop_last": True}, checks=PROBES)
    assert declared.verdict == "conforms"


def test_a_sum_over_the_number_of_clients_that_join_is_their_mean() -> None:
    class Equal(Server):
        def receive_models(self) -> None:
            self.uploaded = [(1 / self.num_join_clients, client.model) for client in self.selected_clients]

        def evaluate_personalized(self) -> None:
            raise FileNotFoundError("test data")

        def train(self) -> None:
            self.evaluate_personalized()
            super().train()

    report = conform(pfllib_server(Equal), "fedavg", settings={"weighting": "clients"}, checks=PROBES)
    assert report.verdict == "conforms", str(report)

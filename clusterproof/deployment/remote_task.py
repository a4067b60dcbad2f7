"""A task whose answers come from clients elsewhere: each question becomes one request a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from clusterproof.algorithms import InvalidArgument, sum_gradients
from clusterproof.algorithms.arrays import argmin_smallest_index, one_hot, sums_by_cluster
from clusterproof.deployment.messages import Exchange, Refusal, Reply, Request, check_reply


class Absent(Exception):
    """Clients that an algorithm asked and that did not answer, or whose answer was refused.

    Attributes
    ----------
    reasons
        Why, by client.
    """

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__("; ".join(f"client {client} {reason}" for client, reason in reasons.items()))
        self.reasons = dict(reasons)


class RemoteTask:
    """Clients elsewhere as a task for the algorithms; a single run, no replicates.

    A round may be begun again without those who are absent: what a client has answered in it is kept, and the same
    question is not sent twice.

    Parameters
    ----------
    clients, clusters, dimension
        m, P and d.
    exchange
        Carries requests and replies.
    name
        Of the task in the settings, from which the streams of randomness are named.
    """

    def __init__(
        self, *, clients: int, clusters: int, dimension: int, exchange: Exchange, name: str = "deployment"
    ) -> None:
        self.clients = clients
        self.clusters = clusters
        self.dimension = dimension
        self.labels = np.full(clients, -1)
        self.settings = {"task": name, "clients": clients, "clusters": clusters, "dimension": dimension}
        self._exchange = exchange
        self._answered: dict[tuple[object, ...], Reply] = {}
        self._turn = 0

    def begin_round(self) -> None:
        """Forget what was answered: the next questions are those of a new round."""
        self._answered.clear()
        self.begin_again()

    def begin_again(self) -> None:
        """Count questions from the first on: the round is tried once more."""
        self._turn = 0

    def reference_optima(self, target: str) -> None:
        """Nobody knows them: None."""

    def initial_models(
        self, count: int, shape: tuple[int, ...], generator: np.random.Generator
    ) -> np.ndarray:
        """Standard normal starting points, (*shape, count, d)."""
        return generator.standard_normal((*shape, count, self.dimension))

    def losses(self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Every model's loss on each client's data, (k, P)."""
        return self._stack(self._ask(clients, lambda _: Request("losses", {"models": models})), "losses")

    def gradients(
        self, points: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> np.ndarray:
        """Gradients at the clients' own points (k, d): (k, d)."""
        replies = self._ask(clients, lambda row: Request("gradient", {"point": points[row]}))
        return self._stack(replies, "gradient")

    def gradient_sums(
        self,
        models: np.ndarray,
        clients: np.ndarray,
        assignments: np.ndarray,
        generator: np.random.Generator,
    ) -> np.ndarray:
        """Sums over each cluster's participants, (P, d)."""
        return np.asarray(sum_gradients(self, models, clients, assignments, generator))

    def losses_and_gradients(
        self, models: np.ndarray, clients: np.ndarray, generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Losses (k, P) and gradients (k, P, d) of one batch of each client."""
        replies = self._ask(clients, lambda _: Request("losses-and-gradients", {"models": models}))
        return self._stack(replies, "losses"), self._stack(replies, "gradients")

    def local_training(
        self,
        points: np.ndarray,
        buffers: np.ndarray | None,
        anchors: np.ndarray | None,
        clients: np.ndarray,
        generator: np.random.Generator,
        **numbers: Any,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Let each client descend from its point; see ``LocalTrainingTask``."""
        if buffers is None and numbers["momentum"]:
            buffers = np.zeros_like(points)

        def request(row: int) -> Request:
            own = {"point": points, "buffer": buffers, "anchor": anchors}
            arrays = {name: values[row] for name, values in own.items() if values is not None}
            return Request("local-training", arrays, numbers)

        replies = self._ask(clients, request)
        found = self._stack(replies, "point")
        return found, np.zeros_like(found) if buffers is None else self._stack(replies, "buffer")

    def cluster_training(
        self,
        models: np.ndarray,
        buffers: np.ndarray | None,
        clients: np.ndarray,
        assignments: np.ndarray | Callable[[np.ndarray], np.ndarray],
        losses_generator: np.random.Generator,
        generator: np.random.Generator,
        *,
        weights: np.ndarray | None,
        **numbers: Any,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Let each client choose a cluster and train, in one message, and add up; see ``ClusterTrainingTask``."""
        if callable(assignments) and assignments is not argmin_smallest_index:
            raise InvalidArgument(
                "assignments", assignments, "must be the rule of the smallest loss", "clients know no other"
            )
        shared = {"models": models, **({} if buffers is None else {"buffers": buffers})}

        def request(row: int) -> Request:
            chosen = {} if callable(assignments) else {"assignment": np.asarray(int(assignments[row]))}
            return Request("cluster-training", {**shared, **chosen}, numbers)

        replies = self._ask(clients, request)
        chosen = self._stack(replies, "assignment").astype(np.int64)
        membership = one_hot(chosen, models.shape[-2], dtype=models.dtype)
        if weights is not None:
            membership = membership * weights[:, None]
        sums = sums_by_cluster(self._stack(replies, "point"), membership)
        own = None if buffers is None else sums_by_cluster(self._stack(replies, "buffer"), membership)
        return chosen, sums, own

    def _ask(self, clients: np.ndarray, request: Callable[[int], Request]) -> list[Reply]:
        """Send each client, by its row, a request; what was answered in this round is not asked again.

        Raises
        ------
        Absent
            If one does not answer, or its answer is refused.
        """
        keys, unanswered = [], {}
        for row, client in enumerate(map(int, clients)):
            question = replace(request(row), turn=self._turn)
            keys.append(_key(client, question))
            if keys[-1] not in self._answered:
                unanswered[client] = (keys[-1], question)
        self._turn += 1
        questions = {client: question for client, (_, question) in unanswered.items()}
        replies = self._exchange(questions) if questions else {}
        reasons = {}
        for client, (key, question) in unanswered.items():
            if client not in replies:
                reasons[client] = "did not answer"
                continue
            models = question.arrays.get("models")
            try:
                check_reply(replies[client], question, 1 if models is None else len(models), self.dimension)
            except Refusal as error:
                reasons[client] = f"is refused: it {error}"
            else:
                self._answered[key] = replies[client]
        if reasons:
            raise Absent(reasons)
        return [self._answered[key] for key in keys]

    @staticmethod
    def _stack(replies: list[Reply], name: str) -> np.ndarray:
        arrays = [np.asarray(reply.arrays[name]) for reply in replies]
        return np.stack([array.astype(float) if array.dtype.kind == "f" else array for array in arrays])


def _key(client: int, request: Request) -> tuple[object, ...]:
    """All that a question consists of."""
    arrays = tuple((name, array.tobytes()) for name, array in sorted(request.arrays.items()))
    return client, request.turn, request.method, arrays, tuple(sorted(request.numbers.items()))

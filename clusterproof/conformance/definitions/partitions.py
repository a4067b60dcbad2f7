"""Algorithms whose server splits the clients into groups with one model each: CFL and SoFL."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clusterproof.conformance.definitions.base import STEPS, Definition
from clusterproof.conformance.tolerance import Snapshot


class Partitioned(Definition):
    """What both share: FedAvg in every group, from a model that all clients start from."""

    without = ("server_step_size",)
    own_settings = {"weighting": "clients"}
    variants = {"weighting": ("samples", "clients"), **STEPS}
    server_step = None
    quantities = ("model", "groups")
    needs_all_clients = True

    def prepare(self) -> None:
        """Start with all clients in one group."""
        self.x = np.array([self.x] * self.task.clients)
        self.groups = np.zeros(self.task.clients, dtype=int)

    def exchange(self, participants: Sequence[int]) -> None:
        """Carry out one round; models are averaged in the groups that the same round has made."""
        local = {i: self.local_model(i, self.x[i]) for i in participants}
        before = self.groups.copy()
        counted = self.regroup(participants, local)
        groups = self.line("groups of averages", self.groups, before=before)
        updates = {i: local[i] - self.x[i] for i in local}
        moved = self.x.copy()
        for group in np.unique(groups):
            members = [i for i in counted if groups[i] == group]
            members = self.line("members", members, participants=participants)
            if members:
                change = self.weights(members) @ np.array([updates[i] for i in members])
                change = self.line("group change", change, members=members, participants=participants)
                moved[groups == group] = self.x[groups == group] + change
        self.x = self.line("new models", moved, first=bool((groups != before).any()))

    def regroup(self, participants: Sequence[int], local: dict[int, np.ndarray]) -> Sequence[int]:
        """Update the groups from the models y_i, and return the clients whose updates are averaged."""
        return participants


class CFL(Partitioned):
    """CFL: a group whose mean update is small while a member's is large is split in two."""

    name = "cfl"
    equation = (
        "u_i = y_i - x_i; from round warm_up on, a group C of more than two clients with ||sum_C p_i u_i|| < eps_1 "
        "and max_C ||u_i|| > eps_2 is split into the two parts whose largest cosine of two updates across is least, "
        "if sqrt((1 - that cosine) / 2) > gamma_max; x_i <- x_i + sum of p_j u_j over its new group"
    )
    source = (
        "Sattler et al. 2020, Algorithm 2, restated; without the test of gamma_max and with complete linkage: "
        "felisat/clustered-federated-learning at 23a1c388, clustered_federated_learning.ipynb (cell 9), fl_devices.py "
        "lines 129-151"
    )
    own_settings = {
        **{"thresholds": "absolute", "mean_threshold": 0.18, "client_threshold": 0.3, "linkage": "single"},
        **{"warm_up": 1, "noise_ratio": 0.0, "weighting": "clients"},
    }
    strengths = {"client_threshold": 0.5}
    variants = {"linkage": ("single", "complete"), **Partitioned.variants}
    choices = {"thresholds": ("absolute", "relative")}
    lengths = "eps_1 and eps_2"

    def prepare(self) -> None:
        """Start before the first round, whose largest update is kept."""
        super().prepare()
        self.reference = 0.0

    def regroup(self, participants: Sequence[int], local: dict[int, np.ndarray]) -> Sequence[int]:
        """Split every group that meets the conditions.

        With absent clients, which the paper does not have, those of a group whose participants meet the conditions
        train and count in the same round; the group is split if all its members meet them, too.
        """
        updates = {i: local[i] - self.x[i] for i in participants}
        if self.finished == 0:
            self.reference = max(float(np.linalg.norm(update)) for update in updates.values())
        if self.line("finished", self.finished) < self.settings["warm_up"]:
            return participants
        counted, before = set(participants), self.groups.copy()
        for group in np.unique(before):
            voters = [i for i in participants if before[i] == group]
            if not self.ready(voters, updates):
                continue
            members = [int(i) for i in np.flatnonzero(before == group)]
            for i in set(members) - set(voters):
                local[i] = self.local_model(i, self.x[i])
                updates[i] = local[i] - self.x[i]
            counted |= set(members)
            if self.ready(members, updates):
                self.split(members, updates)
        return sorted(counted)

    def ready(self, members: Sequence[int], updates: Mapping[int, np.ndarray]) -> bool:
        """Return whether a group of more than two clients has a small mean update and a large update."""
        if len(members) <= self.line("smallest", 2):
            return False
        sent = np.array([updates[i] for i in members])
        weights = self.line("weights of mean", self.weights(members), members=members)
        mean = float(self.line("mean norm", np.linalg.norm(weights @ sent), members=members, sent=sent))
        largest = float(self.line("largest norm", np.linalg.norm(sent, axis=1).max(), sent=sent))
        small, large = self.settings["mean_threshold"], self.settings["client_threshold"]
        if self.settings["thresholds"] == "relative":
            small, large = largest / 10, self.reference / 4
        small, large = self.line("eps_1", small), self.line("eps_2", large)
        return bool(self.line("ready", mean < small and largest > large, mean=mean, largest=largest))

    def split(self, members: Sequence[int], updates: Mapping[int, np.ndarray]) -> None:
        """Give one of the two parts of a group a number of its own, unless noise explains the cut."""
        sent = np.array([updates[i] for i in members])
        lengths = np.linalg.norm(sent, axis=1)
        units = sent / np.where(lengths > 0, lengths, 1.0)[:, None]
        cosines = np.clip(units @ units.T, -1, 1)
        cosines = self.line("similarities", cosines, sent=sent)
        side = self.line("side", bipartition(cosines, self.settings["linkage"]), cosines=cosines)
        across = float(cosines[np.ix_(side, ~side)].max())
        if self.line("accepted", np.sqrt((1 - across) / 2) > self.settings["noise_ratio"], across=across):
            ids = self.line("ids", np.array(members))
            self.groups[ids[side]] = self.groups.max() + 1


def bipartition(similarities: np.ndarray, linkage: str) -> np.ndarray:
    """Merge the two most similar of n clusters until two are left; return booleans (n,), True for one of them.

    The similarity of two clusters is the largest of two members' for single linkage, and the smallest for complete.
    """
    similarity = np.max if linkage == "single" else np.min
    parts = [[i] for i in range(len(similarities))]
    while len(parts) > 2:
        pairs = [(i, j) for i in range(len(parts)) for j in range(i)]
        i, j = max(pairs, key=lambda pair: similarity(similarities[np.ix_(parts[pair[0]], parts[pair[1]])]))
        parts[j] += parts.pop(i)
    return np.isin(np.arange(len(similarities)), parts[1])


class SoFL(Partitioned):
    """SoFL: one model for all, one clustering of the clients, then one model for each group."""

    name = "sofl"
    equation = (
        "t < T_cluster: FedAvg on all clients; in round T_cluster the clients are grouped, and from that round on "
        "FedAvg (or FedProx, Per-FedAvg) runs in each group; the groups are those that the run reports: its map and "
        "k-means are random and are not judged"
    )
    source = "SoFL (Electronics 13, 3682, 2024), Algorithm 1, lines 4-31"
    paper_was_read = True
    own_settings = {
        **{"pretraining": 6, "trigger": "round", "method": "fedavg", "proximal": 0.0},
        **{"weighting": "clients"},
    }
    strengths = {"proximal": 0.4}
    choices = {"trigger": ("round", "stationary"), "method": ("fedavg", "fedprox", "per-fedavg")}
    required = ("groups",)

    @classmethod
    def order_matters(cls, settings: Mapping[str, Any]) -> bool:
        """Return True, as the map and k-means depend on the order."""
        return True

    def prepare(self) -> None:
        """Start before the clustering."""
        super().prepare()
        self.clustered = False

    @classmethod
    def judged(cls, settings: Mapping[str, Any], states: Sequence[Snapshot]) -> Mapping[str, Any]:
        """Return the settings with the groups that the run reports after each round."""
        return {**settings, "reported": [state["groups"].astype(int).tolist() for state in states]}

    def regroup(self, participants: Sequence[int], local: dict[int, np.ndarray]) -> Sequence[int]:
        """Take the run's groups in the round of the clustering; the definition itself takes those of the task."""
        due = self.line("finished", self.finished) >= self.settings["pretraining"]
        if due and self.settings["trigger"] == "stationary":
            updates = np.array([local[i] - self.x[i] for i in participants])
            mean = float(np.linalg.norm(updates.mean(axis=0)))
            due = self.line("rest", mean < 0.1 * float(np.linalg.norm(updates, axis=1).max()))
        if due and not self.clustered:
            self.clustered = True
            reported = self.settings.get("reported")
            if reported is None:
                self.groups = self.groups if self.task.groups is None else self.task.groups.copy()
            elif self.finished + 1 < len(reported):
                self.groups = np.array(reported[self.finished + 1])
        return participants

    def gradient(self, client: int, point: np.ndarray, step: int = 0) -> np.ndarray:
        """Return g_i, at the adapted point for first-order Per-FedAvg, whose inner step is half of eta."""
        if self.settings["method"] == "per-fedavg":
            point = point - self.line("inner step", self.step_size / 2) * super().gradient(
                client, point, step
            )
        return super().gradient(client, point, step)

    def correction(self, client: int, y: np.ndarray, received: np.ndarray) -> Any:
        """Return FedProx's mu (y - x)."""
        if self.settings["method"] != "fedprox":
            return 0.0
        return self.line("pull", self.settings["proximal"] * (y - received), y=y)

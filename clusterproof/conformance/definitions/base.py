"""Runs of definitions. Each round computes the arguments of the rule, calls the rule, and stores the states."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from clusterproof.conformance.changes import (
    Change,
    changed,
    changed_functions,
    functions_of,
    keywords,
    names,
    parameters,
    table,
)
from clusterproof.conformance.tasks import ConformanceTask
from clusterproof.conformance.tolerance import Snapshot
from clusterproof.methods import METHODS
from clusterproof.methods.exact import ExactClient, ExactClients, descend, descend_with_momentum, pulled

SHARED = {**table("general")["settings"], "batch_size": None}
"""Settings of every algorithm, with their defaults."""
DECLARED = table("general")["declared"]
"""Settings that an implementation receives only if the user declares them, with the values of undeclared settings."""

SCHEDULES: dict[str, Callable[[int, float, int], float]] = {
    "constant": lambda t, rate, rounds: 1.0,
    "exponential": lambda t, rate, rounds: rate**t,
    "step": lambda t, rate, rounds: rate ** (t // rounds),
    "cosine": lambda t, rate, rounds: (1 + math.cos(math.pi * min(t / rounds, 1))) / 2,
    "warm-up": lambda t, rate, rounds: min(1.0, (t + 1) / rounds),
}
"""Functions of t, ``schedule_rate`` and ``schedule_rounds``.

Their value multiplies the clients' step size in round t.
"""

OF_EACH = ("gradients", "losses", "products", "steps")
"""Arguments that are lists with one function or number per client."""
OF_CLIENTS = ("steps", "gradients", "weights")
"""Attributes of a method's clients that changes of the definition may replace."""

READ_BY: dict[str, str] = {
    "server_step_size": "server_step",
    "local_epochs": "steps",
    "drop_last": "steps",
    "reshuffle": "steps",
}
"""For each shared setting, the argument of a rule that depends on it.

A definition has the setting only if its rule has this argument.
"""

VERBS: dict[str, tuple[Callable[..., Any], ...]] = {
    "descend": (descend, pulled),
    "steps_of": (descend, pulled),
    "descend_with_momentum": (descend_with_momentum,),
    "chosen": (ExactClient.choice,),
    "mean_by": (ExactClients.mean_by,),
}
"""For each operation of clients that a method can call, the functions that perform it. Changes may replace them."""
LOCAL_STEPS = {"path": descend, "path_with_momentum": descend_with_momentum, "pulled": pulled}
"""Methods of a client that take local steps, and the function that each of them calls."""


def reads_clients(rule: Callable[..., Any]) -> bool:
    """Return whether a rule is a method, that is, whether its first argument represents all clients."""
    return rule in METHODS or parameters(rule)[0] == "clients"


@cache
def arguments_of(rule: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a rule's arguments; ``steps`` comes first, because changes of other arguments may use it."""
    if not reads_clients(rule):
        return tuple(sorted(parameters(rule), key="steps".__ne__))
    settings = keywords(rule)
    return (*OF_CLIENTS, *settings, *(["server_step"] if "server_step_size" in settings else []))


@dataclass(frozen=True)
class ChangedClient(ExactClient):
    """A client whose operations call the functions of a run, with the run's changes."""

    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def choice(self, models: Any) -> Any:
        """Return the index of the model that the client chooses."""
        choice: Callable[..., Any] = self.functions.get("choice", ExactClient.choice)
        return choice(self, models)


@dataclass(frozen=True)
class ChangedClients(ExactClients):
    """All participants of a round, whose operations call the functions of a run, with the run's changes."""

    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def mean_by(self, values: Any, chosen: Any, kept: Any) -> Any:
        """Return the mean of the participants' values in each cluster."""
        mean_by: Callable[..., Any] = self.functions.get("mean_by", ExactClients.mean_by)
        return mean_by(self, values, chosen, kept)


class Definition:
    """A run of an algorithm according to its definition, in float64.

    Parameters
    ----------
    task
        Task with the losses, the numbers of samples and the initial model.
    settings
        A value for every setting.
    mistakes
        Changes to the definition, see ``changes``; an empty sequence runs the definition itself.
    """

    name: ClassVar[str]
    equation: ClassVar[str]
    """The formulas of one round, as printed in reports."""
    source: ClassVar[str]
    paper_was_read: ClassVar[bool] = False
    """Whether we compared the definition with the original paper."""
    own_settings: ClassVar[Mapping[str, Any]] = {}
    strengths: ClassVar[Mapping[str, float]] = {}
    """For each strength of the algorithm, a second value, which the probe ``strengths`` uses."""
    variants: ClassVar[Mapping[str, tuple[Any, ...]]]
    """Settings that select an admissible form, with all their values. If runs differ, undeclared forms are tried as
    well.
    """
    choices: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    """Further settings with strings as values. For these settings, only the declared value is tried."""
    lengths: ClassVar[str] = ""
    """Strengths in units of the models or losses. If the algorithm has any, a scaled task does not lead to a scaled
    run.
    """
    server_step: ClassVar[str] = ""
    """The setting for the server's step size; an empty string if the algorithm has none."""
    quantities: ClassVar[tuple[str, ...]] = ("model",)
    required: ClassVar[tuple[str, ...]] = ()
    """Quantities that a run must have as attributes, because the comparison depends on them."""
    needs_all_clients: ClassVar[bool] = False
    """Whether a round is defined only if all clients take part."""
    equal_steps: ClassVar[bool] = False
    """Whether all clients take the same number of local steps."""
    clusters: ClassVar[int] = 0
    """Number of initial models in a probe, or 0 for an algorithm with one model."""
    forms: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """Admissible forms: each mapping contains values of settings, and the changes to the rule for these values."""

    states: ClassVar[tuple[str, ...]] = ("model",)
    """Names of the values that the rule returns, in order. The rule receives these values in the next round.

    The initial value of each state is 0, except for models.
    """
    of_clients: ClassVar[tuple[str, ...]] = ()
    """States with one row per client. The rule receives only the rows of the participants."""
    of_all: ClassVar[bool] = False
    """Whether the rule receives the gradients and steps of all clients, including absent clients."""
    weight_decay: ClassVar[Mapping[str, str]] = {"descend": "with_weight_decay(run, {})"}
    """Changes to the rule if the user declares weight decay."""
    pinning: ClassVar[Mapping[str, Sequence[Any]]] = {}
    """Settings with which each cluster gets one of the first participants, instead of a random participant."""
    rule: ClassVar[Callable[..., Any]]
    """The function that computes a round. It returns the new values of ``states``."""
    calls: ClassVar[tuple[Any, ...]] = ()
    """Further functions that a change can replace or call."""

    def __init_subclass__(cls, name: str = "") -> None:
        """Read the file of an algorithm, if a name is given."""
        if name:
            cls.name, known = name, table(name)
            for key in known.keys() & Definition.__annotations__.keys():
                setattr(cls, key, tuple(known[key]) if isinstance(known[key], list) else known[key])
            shared = table("general")["variants"][known.get("weighted", "participants")]
            both = {**known.get("variants", {}), **shared}
            cls.variants = {key: tuple(values) for key, values in both.items()}
            places = [place.split(":") for place in known["rules"]]
            rule, *calls = [getattr(import_module(module), function) for module, function in places]
            cls.rule, cls.calls = staticmethod(rule), tuple(calls)
            if reads_clients(rule):
                verbs = {verb for each in functions_of((rule,)).values() for verb in names(each.__code__)}
                cls.calls += tuple(each for verb, called in VERBS.items() if verb in verbs for each in called)
            if "server_step" in cls.arguments():
                cls.server_step = "server_step_size"

    def __init__(
        self,
        task: ConformanceTask,
        settings: Mapping[str, Any],
        mistakes: Sequence[Mapping[str, Change]] = (),
    ) -> None:
        self.task = task
        # a power of a negative float is complex in Python, but NaN in NumPy
        self.settings: dict[str, Any] = {
            name: np.float64(it) if type(it) is float else it for name, it in settings.items()
        }
        self.memory: dict[Any, Any] = {}
        """Values that mistakes store for later rounds; a definition without mistakes does not use them."""
        self.of_round: dict[Any, Any] = {}
        """Values that are stored until the end of the round."""
        self.step_size, self.finished = settings["step_size"], 0
        made = [
            form["changes"]
            for form in (*table("general")["forms"], *self.forms)
            if all(settings.get(name) == value for name, value in form.items() if name != "changes")
        ]
        if self.declared("weight_decay"):
            made.append(self.weight_decay)
        self.changes: dict[str, list[Change]] = {}
        """Changes indexed by name, in the order in which they are applied."""
        for changes in (*made, *mistakes):
            for name, change in changes.items():
                self.changes.setdefault(name, []).append(change)
        self.functions = changed_functions(self)
        self.of_each: dict[int, tuple[Any, ...]] = {}
        """Values of the arguments ``OF_EACH`` for every client that has taken part so far."""
        self.model: Any = np.array(task.starts if self.clusters else task.start, dtype=float)
        for name in self.states:
            rows = (task.clients,) if name in self.of_clients else ()
            start = self.model if name == "model" else np.zeros((*rows, *self.model.shape))
            setattr(self, name, self.changed(f"first {name}", start))

    def snapshot(self) -> Snapshot:
        """Return copies of all quantities, indexed by name."""
        return {name: np.array(getattr(self, name), dtype=float) for name in self.quantities}

    @classmethod
    def arguments(cls) -> tuple[str, ...]:
        """Return the names of the rule's arguments; a change may alter each argument."""
        return arguments_of(cls.rule)

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return every setting of the rule with its default.

        Weighting is omitted if the algorithm has only one weighting.
        """
        lacking = {name for name, argument in READ_BY.items() if argument not in cls.arguments()}
        lacking |= {"weighting"} - cls.variants.keys()
        return {name: value for name, value in {**SHARED, **cls.own_settings}.items() if name not in lacking}

    @classmethod
    def starts(cls, settings: Mapping[str, Any], clients: int) -> int:
        """Return the number of initial models in a probe, or 0 for an algorithm with one initial model."""
        return clients if settings.get("start") == "own" else cls.clusters

    @classmethod
    def is_pinning(cls, settings: Mapping[str, Any]) -> bool:
        """Return whether each cluster gets one of the first participants."""
        return any(settings[name] in values for name, values in cls.pinning.items())

    @classmethod
    def least_participants(cls, settings: Mapping[str, Any]) -> int:
        """Return the smallest number of participants for which a round is defined."""
        return cls.clusters if cls.is_pinning(settings) else 1

    @classmethod
    def order_matters(cls, settings: Mapping[str, Any]) -> bool:
        """Return whether the order of the clients affects the result. It does if the order replaces a random choice."""
        return cls.is_pinning(settings) or bool(cls.required)

    @classmethod
    def judged(cls, settings: Mapping[str, Any], states: Sequence[Snapshot]) -> Mapping[str, Any]:
        """Return the settings for the comparison of a run, with the values of the quantities in ``required``."""
        reported = {name: [state[name].astype(int) for state in states] for name in cls.required}
        return {**settings, "reported": reported} if reported else settings

    def declared(self, name: str) -> Any:
        """Return a setting's declared value, or its value in ``DECLARED`` if the user has not declared it."""
        return self.settings.get(name, DECLARED[name])

    def changed(self, name: str, value: Any, known: Mapping[str, Any] = {}) -> Any:
        """Return a value after the run's changes with the given name."""
        for change in self.changes.get(name, ()):
            value = changed(self, change, value, known)
        return value

    def batches(self, client: int) -> int:
        """Return the number of batches of one pass over a client's samples."""
        samples = int(self.task.samples[client])
        if self.settings["reshuffle"]:
            return samples
        size = self.settings["batch_size"] or samples
        return int(max(1, samples // size)) if self.settings["drop_last"] else int(-(-samples // size))

    def steps(self, client: int) -> int:
        """Return a client's number of local steps, K_i = local_epochs x batches.

        It is 1 if a round consists of one step.
        """
        return (
            int(self.settings["local_epochs"] * self.batches(client))
            if "local_epochs" in self.settings
            else 1
        )

    @property
    def weighting(self) -> str:
        """Weighting of the clients. If the algorithm has no such setting, all clients have equal weights."""
        return str(self.settings.get("weighting", "clients"))

    def weights(self, participants: Sequence[int]) -> np.ndarray:
        """Return the weights p_i of the participants. They add up to 1 unless the setting asks for unbiased weights."""
        weighting, size = self.weighting, len(participants)
        if weighting == "clients":
            return np.full(size, 1 / size)
        samples = self.task.samples.astype(float)
        counts = samples[list(participants)]
        if weighting.startswith("unbiased"):
            return np.asarray(counts / samples.sum() * self.task.clients / size)
        if weighting == "steps":
            counts = np.array([float(self.steps(i)) for i in participants])
        return np.asarray(counts / counts.sum())

    def of_client(self, client: int) -> tuple[Any, ...]:
        """Return the entries of the arguments ``OF_EACH`` for a client."""
        if client not in self.of_each:
            self.of_each[client] = (
                partial(self.evaluated, self.task.gradient, client),
                partial(self.evaluated, self.task.loss, client),
                partial(self.task.hessian_product, client),
                self.steps(client),
            )
        return self.of_each[client]

    def evaluated(self, quantity: Callable[..., Any], client: int, *where: np.ndarray) -> Any:
        """Return the loss or gradient of a client at a model, and store the client's index, which changes may use."""
        self.of_round["client"] = client
        if "asked" in self.of_round:
            raise self.of_round["asked"]
        return quantity(client, *where)

    def given(self, participants: Sequence[int]) -> dict[str, Any]:
        """Return the values of all arguments that a rule can have, indexed by name."""
        clients = range(self.task.clients) if self.of_all else participants
        return {
            **self.settings,
            "settings": self.settings,
            **{name: getattr(self, name) for name in self.states},
            "participants": participants,
            "trained": clients,
            "clients": self.task.clients,
            "samples": self.task.samples,
            "groups_of_task": self.task.groups,
            **dict(zip(OF_EACH, map(list, zip(*map(self.of_client, clients), strict=True)), strict=True)),
            "step_size": self.step_size,
            "weights": self.weights(participants),
            "weights_of": self.weights,
            "server_step": self.settings.get("server_step_size"),
            "finished": self.finished,
        }

    def round(self, participants: Sequence[int]) -> None:
        """Perform one communication round, with the step size that the schedule has for this round."""
        names = ("schedule_rate", "schedule_rounds")
        factor = SCHEDULES[self.declared("schedule")](self.finished, *map(self.declared, names))
        self.step_size = np.float64(self.settings["step_size"] * factor)
        self.of_round = {"participants": participants}
        self.exchange(participants)
        self.finished += 1

    def exchange(self, participants: Sequence[int]) -> None:
        """Perform the operations of clients and server in a round."""
        known = self.of_round
        known |= self.given(list(participants))
        known["rows"] = rows = self.changed("rows", known["participants"])
        known |= {name: list(known[name][rows]) for name in self.of_clients}
        known["models"] = known["model"]
        rule, names = type(self).rule, self.arguments()
        for name in names:
            if name in known or name in self.changes:
                known[name] = self.changed(name, known.get(name), known)
        if reads_clients(rule):
            found = self.round_of_clients(known)
        else:
            found = self.functions[rule.__name__](**{name: known[name] for name in names})
        after = dict(zip(self.states, found if len(self.states) > 1 else [found], strict=True))
        known["after"] = after
        after = {name: self.changed(f"new {name}", value, known) for name, value in after.items()}
        for name, value in after.items():
            if value is known[name]:
                continue
            if name in self.of_clients:
                table = getattr(self, name).copy()
                table[rows], value = value, table
            setattr(self, name, np.array(value))

    def round_of_clients(self, known: dict[Any, Any]) -> Any:
        """Return the result of one round of a method, with the run's changes to the clients."""
        rule, functions = type(self).rule, self.functions
        local = {field: functions.get(each.__name__, each) for field, each in LOCAL_STEPS.items()}
        values = zip(*(known[name] for name in OF_EACH), strict=True)
        participants = [
            ChangedClient(gradient, steps, loss, product, **local, functions=functions)
            for gradient, loss, product, steps in values
        ]
        clients = ChangedClients(participants, self.task.clients, list(known["weights"]), functions)
        known["clients"] = clients
        if "server_step" in known:
            known["server_step_size"] = known["server_step"]
        given = [known[name] for name in self.states[: rule.__code__.co_argcount - 1]]
        settings = {name: known[name] for name in keywords(rule) if name in known}
        return functions[rule.__name__](clients, *given, **settings)

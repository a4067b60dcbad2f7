"""FedBCD: personal models and a common one by block coordinate descent (Wu et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from clusterproof.algorithms.base import Algorithm, Descent, State, Task
from clusterproof.algorithms.client_arrays import copies_for_clients
from clusterproof.algorithms.fedprox import check_proximal
from clusterproof.algorithms.participation import check_participation, draw_participants
from clusterproof.common.arrays import Array, array_namespace, replace_rows, rows
from clusterproof.common.randomness import Randomness
from clusterproof.common.validation import InvalidArgument, check_choice, check_descent, check_number

DEFAULTS = {"penalised": {"proximal": 0.1}, "separate": {"pull": 0.2}}
"""The parameter that only this variant has, with its default."""


@dataclass(frozen=True)
class PersonalState(State):
    """State of FedBCD.

    Attributes
    ----------
    personal
        Personal model x_i of every device, kept between rounds, (..., m, d).
    """

    personal: Array


@dataclass(frozen=True, kw_only=True)
class FedBCD(Algorithm[PersonalState]):
    """Minimise sum_i phi_i(x_i) + proximal / 2 ||x_i - z||^2 over devices' x_i and the server's z.

    A round moves the participants' x_i by a few gradient steps from their last values, then::

        z <- z - server_step_size * (z - mean of the last x_i of all devices)

    Parameters
    ----------
    step_size
        Step size of the devices, positive.
    proximal
        Coefficient mu of the penalty, at least 0; the paper's rho, without 1/2, is mu / 2. Only for the
        penalised variant. If None, 0.1.
    local_steps
        Gradient steps of a device in a round (n).
    server_step_size
        Step size of the common model, in (0, 1].
    participation
        Fraction of devices in a round, in (0, 1].
    variant
        ``"penalised"`` descends on the sum of loss and penalty. ``"separate"`` is FedBCD-I: n
        gradient steps on the loss alone, then n times x <- x - pull (x - z).
    pull
        Only for the separate variant, in (0, 1). If None, 0.2. The value 1 would undo every local step.

    Raises
    ------
    InvalidArgument
        If a parameter is outside its range or does not apply to the variant.

    Notes
    -----
    Wu, Scaglione, Wai, Karakoc, Hreinsson and Ma (2021), with one server. ``models`` holds z,
    P = 1; the personal models are in the state. All models start from the server's. The published code
    shares one momentum buffer among all devices; here there is none.
    """

    name: ClassVar[str] = "fedbcd"
    target: ClassVar[str] = "pooled"

    step_size: float
    proximal: float | None = None
    local_steps: int = 1
    server_step_size: float = 1.0
    participation: float = 1.0
    variant: str = "penalised"
    pull: float | None = None

    def __post_init__(self) -> None:
        """Validate the parameters."""
        check_descent(self.step_size, None, "model", self.local_steps)
        check_participation(self.participation)
        check_number(
            "server_step_size", self.server_step_size, above=0, at_most=1, remedy="1 takes the devices' mean"
        )
        check_choice("variant", self.variant, tuple(DEFAULTS), remedy="'penalised' minimises a stated sum")
        for argument in ("proximal", "pull"):
            if getattr(self, argument) is not None and argument not in DEFAULTS[self.variant]:
                raise InvalidArgument(
                    argument,
                    getattr(self, argument),
                    f"does not apply with variant = {self.variant!r}",
                    "leave it out or choose the other variant",
                )
        if self.proximal is not None:
            check_proximal(self.proximal)
        if self.pull is not None:
            check_number("pull", self.pull, above=0, below=1, remedy="the published code has 0.2")

    def model_count(self, task: Task) -> int:
        """Return 1."""
        return 1

    def initialise(self, models: Array, task: Task) -> PersonalState:
        """Start from the given model (..., 1, d), of the server and of all devices."""
        return PersonalState(models, None, None, copies_for_clients(models, task.clients))

    def step(self, state: PersonalState, task: Task, randomness: Randomness) -> PersonalState:
        """Carry out one round."""
        xp, z = array_namespace(state.models), state.models
        clients = draw_participants(self.participation, task.clients, z, randomness.participation)
        cluster = xp.zeros_like(clients)  # of all devices
        common, penalised = rows(z, cluster), self.variant == "penalised"
        proximal = self._strength("proximal") if penalised else 0.0
        descent = Descent(self.step_size, self.local_steps, proximal=proximal)
        before = rows(state.personal, clients)
        points, _, _ = task.local_steps(before, clients, randomness.gradient, descent, anchors=common)
        if not penalised:
            points = common + (1 - self._strength("pull")) ** self.local_steps * (points - common)
        personal = replace_rows(state.personal, clients, points)
        mean = xp.mean(personal, axis=-2, keepdims=True)
        updated = z - self.server_step_size * (z - mean)
        return replace(state, models=updated, clients=clients, assignments=cluster, personal=personal)

    def _strength(self, argument: str) -> float:
        """Return the variant's parameter, or its default."""
        given: float | None = getattr(self, argument)
        return DEFAULTS[self.variant][argument] if given is None else given

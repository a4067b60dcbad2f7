"""What a certificate of a run's bound holds, in rational numbers, and the sentence it proves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Row = tuple[Fraction, ...]
"""One number a cluster."""

DIVISORS = ("clients", "participants", "cluster")
KNOWLEDGE = ("recorded", "before")
FORMS = (0, 1, 2, 3)
"""No noise at all, then N1, N2 and N3 of the norm inequality."""


@dataclass(frozen=True, kw_only=True)
class Dynamics:
    """The run that the certificate speaks of.

    Attributes
    ----------
    own
        l_p m, clients of each cluster.
    participants
        K, who take part in a round.
    samples, rounds, local_steps
        n', T and H; H = 1 under gradient averaging.
    step_size, momentum, variance
        eta, beta and s^2.
    separation, diameter
        Delta and D; both 0 for one cluster, which has nothing to be confused with.
    spectra
        Eigenvalues of each cluster's covariance.
    common_covariance
        Whether the covariances are the same matrix.
    start
        e_0 of each cluster along its eigenvectors, or one number a cluster: its norm.
    divisor
        What the sum of gradients is divided by; ``"cluster"`` under model averaging.
    freezes
        Whether a cluster without participants keeps model and momentum.
    resets
        Whether every round starts without momentum.
    """

    own: tuple[int, ...]
    participants: int
    samples: int
    rounds: int
    local_steps: int
    step_size: Fraction
    momentum: Fraction
    variance: Fraction
    separation: Fraction
    diameter: Fraction
    spectra: tuple[Row, ...]
    common_covariance: bool
    start: tuple[Row, ...]
    divisor: str
    freezes: bool
    resets: bool

    @property
    def clusters(self) -> int:
        """P."""
        return len(self.own)

    @property
    def clients(self) -> int:
        """m."""
        return sum(self.own)

    @property
    def steps(self) -> int:
        """T H."""
        return self.rounds * self.local_steps

    @property
    def smoothness(self) -> Fraction:
        """L."""
        return max(max(row) for row in self.spectra)

    @property
    def strong_convexity(self) -> Fraction:
        """mu."""
        return min(min(row) for row in self.spectra)


@dataclass(frozen=True, kw_only=True)
class Use:
    """One use of the norm inequality, for one cluster.

    Attributes
    ----------
    form
        Which of N1, N2 and N3.
    b, c, g, truncation, quantile
        Their numbers; x of N3 is c. Those that a form does not have are 0.
    radius
        r.
    reach
        Bound on the error: noise-free path, drift and r.
    """

    form: int
    b: Fraction
    c: Fraction
    g: Fraction
    truncation: Fraction
    quantile: Fraction
    radius: Fraction
    reach: Fraction


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What is used of one round.

    Attributes
    ----------
    misclassification
        pi.
    intruders, strays
        n_in and n_out of each cluster.
    own
        The participants of each cluster, on the record; empty before the run.
    """

    misclassification: Fraction
    intruders: tuple[int, ...]
    strays: tuple[int, ...]
    own: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class RunCertificate:
    """A bound on a run's errors and on its deviation from the noise-free run, and its proof.

    Attributes
    ----------
    dynamics
        The run.
    knowledge
        ``"recorded"``: who takes part is known; ``"before"``: it is not.
    counted
        Whether misassigned clients are tolerated, by counts.
    failure
        delta_1, delta_2 and delta_3.
    fewest, most
        k_- and k_+ of each cluster before the run; empty on the record.
    turns
        One a round.
    first
        Bound on the error at the start, of each cluster.
    uses
        For every step, then every cluster.
    last
        For every cluster: after the last round alone.
    misassignment
        Bound on the probability that any participant is misassigned; 0 where they are counted.
    total
        The failure probability of everything that is stated.
    """

    dynamics: Dynamics
    knowledge: str
    counted: bool
    failure: tuple[Fraction, Fraction, Fraction]
    fewest: tuple[int, ...]
    most: tuple[int, ...]
    turns: tuple[Turn, ...]
    first: Row
    uses: tuple[tuple[Use, ...], ...]
    last: tuple[Use, ...]
    misassignment: Fraction
    total: Fraction

    @property
    def statement(self) -> str:
        """The sentence that is proved."""
        one = self.dynamics
        kind = f"option II with {one.local_steps} local steps" if one.local_steps > 1 else "gradient descent"
        who = (
            "everybody takes part"
            if one.participants == one.clients
            else f"{one.participants} of {one.clients} clients, drawn independently of the data, take part"
            + (" as recorded" if self.knowledge == "recorded" else "")
        )
        ends = ", ".join(f"{float(use.reach):.6g}" for use in self.last)
        away = ", ".join(f"{float(use.reach - use.radius):.6g}" for use in self.last)
        return (
            f"If rows x ~ N(0, Sigma_p), y = x' theta_p + N(0, s^2) are drawn afresh in every round, independent ones"
            f" for choosing a cluster and for the gradient, and {who}, then {kind} with server momentum"
            f" {one.momentum}, step size {one.step_size} and {one.samples} rows a client, its sums divided by the"
            f" number of {one.divisor}, started where stated, stays in all {one.rounds} rounds within the stated"
            f" bounds of its optima and of its noise-free run, except with probability at most {self.total}. After the"
            f" last round the {one.clusters} errors are at most {ends}, of which all but {away} is noise. That the rows"
            f" are Gaussian, fresh and independent, and that participation does not depend on them, is about the world"
            f" and cannot be checked here."
        )

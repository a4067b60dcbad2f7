"""(32): clients' momentum and the server's are the same."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from algorithms import CFLMGD, run
from synthetic import QuadraticMixture
from theory.claim import Context, register
from theory.counterexample import Instance, Number, encode, replay_with, seek
from theory.verdict import Finding


def drifting_clients(count: int, wanderers: int) -> QuadraticMixture:
    """Four kinds of scalar client: ``wanderers`` of cluster 1 sit where the models will pass them."""
    centers = np.concatenate(
        [np.full(count - wanderers, 1.0), np.full(wanderers, 0.25), np.full(count, -1.0)]
    )
    labels = np.repeat([0, 1], [count, count])
    return QuadraticMixture(hessians=np.ones((2 * count, 1, 1)), centers=centers[:, None], labels=labels)


def evaluate(instance: Instance) -> tuple[Number, Number]:
    """Distance over three rounds of the models under clients' and under server's momentum."""
    task = drifting_clients(int(instance["clients"]), int(instance["wanderers"]))
    initial = np.array([[float(instance["first"])], [float(instance["second"])]])
    traces = [
        run(
            CFLMGD(step_size=1.0, momentum=float(instance["momentum"]), momentum_owner=owner),
            task,
            rounds=3,
            initial=initial,
        )
        for owner in ("client", "server")
    ]
    return float(np.abs(traces[0].models - traces[1].models).max()), 1e-9


def sentence(instance: Instance, measured: Number, allowed: Number) -> str:
    """Spell the instance out."""
    numbers = ", ".join(f"{name} {encode(number)}" for name, number in instance.items())
    return (
        f"a client that changes its cluster carries foreign momentum: the two sides of (32) differ by "
        f"{float(measured):.4g} within 3 rounds at {numbers}"
    )


@register("cfl-mgd/equation-32", label="(32), (33)", kind="identity", replay=replay_with(evaluate),
          repaired_by="cfl-mgd/theorem-b")  # fmt: skip
def equation_32(context: Context) -> Finding:
    """Averaging the clients' momentum equals momentum on the average of their gradients.

    Hypotheses
        Option I as printed, full participation, no noise.

    Statement
        chi_1^(t+1) = chi_1^t - (eta/m) sum_(i in C_1) (beta u_i^t + g_i^t)
        = chi_1^t - (eta/m) sum_(i in C_1) g_i^t + beta (chi_1^t - chi_1^(t-1)).

    Symbols
        u_i ``momentum_owner="client"``, the right side ``momentum_owner="server"``.

    Source
        Zhao et al. (2023), (32). Identity; needs C_1^(t+1) = C_1^t. Our reading R2 takes the second
        line as the definition.

    Checked
        Both are run on scalar quadratics some of whose clients lie between the clusters;
        hypothesis searches numbers of clients, starts and momentum for the simplest difference.
    """
    from hypothesis import strategies as st

    instances: Any = st.fixed_dictionaries(
        {
            "clients": st.integers(1, 4),
            "wanderers": st.integers(0, 3),
            "momentum": st.fractions(0, Fraction(9, 10), max_denominator=10),
            "first": st.fractions(0, 2, max_denominator=4),
            "second": st.fractions(-2, 0, max_denominator=4),
        }
    )
    admissible = instances.filter(lambda instance: instance["wanderers"] < instance["clients"])
    return seek(
        context,
        admissible,
        evaluate,
        violated=sentence,
        consistent="no instance tells the two apart",
        budget=600,
    )

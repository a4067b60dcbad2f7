"""Any number of clients of a method as one value, in the kernel's language: for claims on ``functions(count="any")``.

A value of the clients is a clients' vector, which has a vector for each client. All clients do the same in a round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clusterproof.methods.exact import ExactClient, descend, descend_with_momentum, pulled


@dataclass(frozen=True)
class AnyNumber:
    """Any number of clients, which all take part in a round.

    Attributes
    ----------
    client
        The operations of all clients at once; its gradient takes and returns clients' vectors.
    average
        The function that returns the mean of a clients' vector.
    count
        A method divides sums over the clients by their number. Here both are divided by this number: the sum is the
        mean, and the number is 1.
    """

    client: Any
    average: Any
    count: int = 1

    def each(self, line: Any, *values: Any) -> Any:
        """Apply one line of the method to all clients and their values, and return the result."""
        return line(self.client, *values)

    def map(self, line: Any, *values: Any) -> Any:
        """Apply one line of the method to the clients' values, and return the result."""
        return line(*values)

    def to_all(self, vector: Any) -> Any:
        """Return the server's vector, which all clients share."""
        return vector

    def mean(self, values: Any) -> Any:
        """Return the mean of a clients' vector."""
        return self.average(values)

    def total(self, values: Any) -> Any:
        """Return the sum of a clients' vector, divided by the number of clients."""
        return self.average(values)

    def where(self, holds: Any, one: Any, other: Any) -> Any:
        """Return the clients' value ``one`` if the condition ``holds``, otherwise ``other``."""
        return one if holds else other


def any_number(clients: Any, steps: Any = 1) -> AnyNumber:
    """Return clients as one value.

    Parameters
    ----------
    clients
        ``f.clients`` of a claim, with ``gradient`` and ``mean``.
    steps
        Number of local steps of every client (K).
    """
    client = ExactClient(clients.gradient, steps, None, None, descend, descend_with_momentum, pulled)
    return AnyNumber(client, clients.mean)

"""Each method once, as its paper's lines: a round, of the server's vectors and of *the clients as one value*.

A method is a function of ``clients`` and of its states, with its settings as keywords. What one client does is a line:
``clients.each(line, ...)`` carries it out with every client, ``clients.map(line, ...)`` with their values only, and
``clients.mean(...)`` takes a mean to the server. The text does not say what a vector is; whoever calls it decides:

- ``exact.exact_clients``: exact numbers, symbols, traced functions, arrays; a value of each client in a list. In the
  kernel's language, and for the map of a round on quadratics, whose columns are the states of a basis.
- ``algorithms.array_clients``: arrays of any library, for ``run`` and ``train``.
- ``theory.rates.rounds``: the mean and the deviation of any number of clients, in the kernel's trace.

Here only the standard library is imported.
"""

from clusterproof.methods.declaration import METHODS, Method, method

__all__ = ["METHODS", "Method", "method"]

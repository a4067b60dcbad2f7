"""One round of every method, in the order of its paper, in which one value represents all clients.

A method is a function of ``clients`` and of its states, with its settings as keywords. A *line* is a function that
computes one step of one client. ``clients.each(line, ...)`` calls the line with every client and the client's values,
and ``clients.map(line, ...)`` calls it only with the values. ``clients.mean(...)`` averages the clients' values for
the server. A method does not depend on the type of its vectors. The caller chooses one of these types:

- ``exact.exact_clients`` computes with exact numbers, symbols or arrays, and stores the clients' values in a list. It
  is used for claims in the kernel's language, and to compute the matrix of a round on quadratic losses.
- ``algorithms.array_clients`` computes with arrays of any library, for ``run`` and ``train``.
- ``any_number`` computes with the values of any number of clients at once, in the kernel's language.

This package imports only the standard library.
"""

from clusterproof.methods.declaration import METHODS, Method, method

__all__ = ["METHODS", "Method", "method"]

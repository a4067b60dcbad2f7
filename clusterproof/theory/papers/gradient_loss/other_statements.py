"""Statements of GL-CFL that no claim answers, or no claim alone."""

OTHER_STATEMENTS = {
    "table: gradient-loss/figures-4-and-5": (
        "abstract: 99 % fewer iterations",
        "figure 3: model architectures",
        "figure 4: purity, training loss and accuracy on MNIST; 99 % and 14 %",
        "figure 5: up to 98, 21 and 97 %",
    ),
    "the rate of (5) is alpha, printed is lambda, the weight of (4); a slip of the pen": (
        "algorithm 1, line 1: input",
    ),
    "a drawing of the system, without numbers": ("figure 1: framework",),
    "pictures of data; the partitions are tested under tests/neural": (
        "figure 2: example splits of the images",
    ),
}
"""Places and their statements, by the table or figure that answers them, or by the reason why there is no answer."""

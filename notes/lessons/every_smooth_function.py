"""The claim of lesson 11 in a file of its own: its source is what is proved."""

from typing import Annotated

from clusterproof.theorem import Function, Sides, at_most, choice, claim, functions


@claim("lesson-11/worst-case")
def worst_case(
    f: Annotated[Function, functions(smoothness=1)], rounds: Annotated[int, choice(1, 2, 4, 8)]
) -> Sides:
    """Gradient descent ends at most R^2 / (4N + 2) above the minimum."""
    x = f.start
    for _ in range(rounds):
        x = x - f.gradient(x)
    return at_most(f(x) - f.minimum, bound=f.distance**2 / (4 * rounds + 2))

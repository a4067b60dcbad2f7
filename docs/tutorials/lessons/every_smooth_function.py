"""The claim of lesson 11, in its own file, so that its source can be proved."""

from clusterproof.theorem import Function, Sides, among, at_most, claim, functions


@claim("lesson-11/worst-case")
def worst_case(f: Function = functions(smoothness=1), rounds: int = among(1, 2, 4, 8)) -> Sides:
    """Gradient descent ends at most R^2 / (4N + 2) above the minimum."""
    x = f.start
    for _ in range(rounds):
        x = x - f.gradient(x)
    return at_most(f(x) - f.minimum, bound=f.distance**2 / (4 * rounds + 2))

"""Lesson 11: a theorem about every smooth convex function, from drawing functions to a certificate."""

import marimo

app = marimo.App(app_title="Every function")

with app.setup(hide_code=True):
    import inspect
    from fractions import Fraction
    from functools import cache
    from typing import Annotated

    import marimo as mo
    import numpy as np
    from every_smooth_function import worst_case

    from clusterproof.checker import check
    from clusterproof.theorem import Function, at_most, choice, claim, functions
    from live import BLACK, BLUE, ORANGE, VERMILLION, label_axes, panels, sliders

    SLIDERS = {"rounds": [1, 2, 3, 4, 5, 6, 7, 8], "threshold": [0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5]}


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    # Lesson 11. How does one prove a theorem about every function?

    **The question.** Gradient descent with step $1/L$ on an $L$-smooth convex $f$: how far above the minimum is $f(x_N)$ at
    worst? Not on your favourite functions, but on every one, from every start, in every dimension.
    """)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## The statement

    Drori and Teboulle (2014): for every $L$-smooth convex $f$ with a minimiser $x^*$,

    $$
    f(x_N) - f(x^*) \le \frac{L \|x_0 - x^*\|^2}{4N + 2}, \qquad x_{k+1} = x_k - \tfrac{1}{L} \nabla f(x_k),
    $$

    and no smaller constant will do. Textbooks prove $L \|x_0 - x^*\|^2 / 2N$, twice as much.

    ## Proof sketch

    **From below: draw functions.** Huber's function $h_\tau(x) = x^2 / 2$ for $|x| \le \tau$ and $\tau |x| - \tau^2 / 2$ beyond is
    1-smooth. From $x_0 = 1$ each step goes back by $\tau$ as long as $x_k \ge \tau$, so $h_\tau(x_N) = \tau - (N + \tfrac12)
    \tau^2$. That is largest at $\tau = 1 / (2N + 1)$, where it is $1 / (4N + 2)$.

    **From above: what gradients and values obey.** The method meets $f$ at $x^*, x_0, \dots, x_N$ only. An $L$-smooth convex
    function with gradients $g_i$ and values $f_i$ at these points exists if *and only if*

    $$
    f_i \ge f_j + \langle g_j, x_i - x_j \rangle + \tfrac{1}{2L} \|g_i - g_j\|^2 \quad \text{for all } i, j.
    $$

    All of this is linear in the values and in the inner products of $x_0 - x^*, g_0, \dots, g_N$. So the worst case is a
    *semidefinite program*: maximise $f_N - f_*$ over all values and all positive semidefinite matrices of inner products. Its
    multipliers $\lambda_{ij} \ge 0$ are a proof: add $\lambda_{ij}$ times each inequality, and what remains is a sum of squares.

    ## In code
    """)
    return


@app.cell
def _():
    print(inspect.getsource(worst_case.function))
    proved = check("lesson-11/worst-case")
    print(proved.verdict, proved.proof, "worst case over the bound:", round(proved.worst, 6))
    return (proved,)


@app.cell(hide_code=True)
def _(proved):
    assert proved.verdict == "certified"
    assert abs(proved.worst - 1) < 1e-6
    mo.md(
        r"""
    The function, in a file of its own beside this lesson, was called with symbols (for the semidefinite program and its multipliers, which were found again
    in fractions) and with a hundred drawn functions. *Certified* is of all functions at the four numbers of rounds.

    ## The figure

    Left: Huber's function with your threshold $\tau$, and the iterates from $x_0 = 1$. Right: what is left after $N$ rounds, for the
    worst quadratic, for the worst Huber function, for yours, and the theorem. Which threshold is the worst for $N = 2$? Why is
    no quadratic as bad?
    """
    )
    return


@app.function(hide_code=True)
def huber(x, threshold):
    """Value of Huber's function."""
    return np.where(np.abs(x) <= threshold, x**2 / 2, threshold * np.abs(x) - threshold**2 / 2)


@app.function(hide_code=True)
def iterates(rounds, threshold):
    """Gradient descent from 1 on Huber's function, with step 1."""
    models = [1.0]
    for _ in range(rounds):
        models.append(models[-1] - float(np.clip(models[-1], -threshold, threshold)))
    return np.array(models)


@app.function(hide_code=True)
@cache
def worst_quadratic(rounds):
    """Largest lambda (1 - lambda)^(2N) / 2, at lambda = 1 / (2N + 1)."""
    curvature = 1 / (2 * rounds + 1)
    return curvature * (1 - curvature) ** (2 * rounds) / 2


@app.function(hide_code=True)
def picture(rounds, threshold):
    """Draw the function with its iterates, and what is left after each number of rounds."""
    figure, (left, right) = panels(2)
    grid, models = np.linspace(-0.3, 1.1, 200), iterates(rounds, threshold)
    left.plot(grid, huber(grid, threshold), color=BLACK, label="Huber's function")
    left.plot(models, huber(models, threshold), "o-", color=BLUE, linewidth=0.8, label="iterates")
    label_axes(left, "a  A small gradient lasts longest", "x", "value")
    numbers = np.arange(1, 9)
    right.plot(numbers, 1 / (4 * numbers + 2), color=BLACK, label="theorem, worst Huber function")
    right.plot(
        numbers, [worst_quadratic(n) for n in numbers], "s--", color=VERMILLION, label="worst quadratic"
    )
    right.plot(
        numbers,
        [huber(iterates(n, threshold)[-1], threshold) for n in numbers],
        "^:",
        color=BLUE,
        label="yours",
    )
    right.plot(rounds, huber(models[-1], threshold), "o", color=ORANGE, label="your N")
    right.set_ylim(bottom=0)
    label_axes(right, "b  What is left", "rounds N", "value above the minimum")
    for panel in (left, right):
        panel.legend(fontsize=7, frameon=False)
    return figure


@app.function(hide_code=True)
def describe(rounds, threshold):
    """Say what is left on this function and at worst."""
    left = float(huber(iterates(rounds, threshold)[-1], threshold))
    return (
        f"After {rounds} rounds Huber's function with threshold {threshold:g} is {left:.4f} above its minimum; the worst of "
        f"all is {1 / (4 * rounds + 2):.4f}, at the threshold {1 / (2 * rounds + 1):.3f}, and the worst quadratic "
        f"{worst_quadratic(rounds):.4f}."
    )


@app.cell(hide_code=True)
def _():
    controls = sliders(SLIDERS)
    controls
    return (controls,)


@app.cell(hide_code=True)
def _(controls):
    mo.vstack([picture(**controls.value), mo.md(describe(**controls.value))])
    return


@app.cell(hide_code=True)
def _():
    thresholds = np.linspace(0.01, 0.9, 90)
    ends = [float(huber(iterates(2, t)[-1], t)) for t in thresholds]
    worst = thresholds[int(np.argmax(ends))]
    assert abs(worst - 1 / 5) < 0.011
    ratio = (1 / 34) / worst_quadratic(8)
    assert 2.5 < ratio < np.e
    mo.md(rf"""
    **Answers.** For $N = 2$ the worst threshold is $1/(2N + 1) = 1/5$. On a quadratic the gradient shrinks with the distance, so
    each step is worth a fixed share; on the straight part of Huber's function the gradient stays small where the distance is
    still large. At $N = 8$ the worst function is {ratio:.2f} times as bad as the worst quadratic, and the factor tends to
    $e$: a check on quadratics alone would have called a false bound "sharp".
    """)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Exercises

    **1. By hand.** For $N = 1$ and $L = 1$ find multipliers $\lambda_{ij}$ for the pairs of $x^*, x_0, x_1$ that prove $f(x_1) -
    f(x^*) \le \|x_0 - x^*\|^2 / 6$.

    <details markdown="1"><summary>Solution</summary>

    Write $d = x_0 - x^*$, and $x_1 = x_0 - g_0$. The inequality $(i, j)$ is $f_i \ge f_j + \langle g_j, x_i - x_j \rangle +
    \|g_i - g_j\|^2 / 2$. Take $\lambda_{*0} = \lambda_{01} = 1/2$ and $\lambda_{*1} = 1/2$: the values give $f_* - f_1$, and
    the rest is
    $\tfrac12(-\langle g_0, d\rangle + \tfrac12 \|g_0\|^2) + \tfrac12(\langle g_1, g_0 \rangle + \tfrac12 \|g_0 - g_1\|^2) +
    \tfrac12(-\langle g_1, d - g_0 \rangle + \tfrac12 \|g_1\|^2)
    = -\tfrac12 \langle g_0 + g_1, d \rangle + \tfrac12 \|g_0\|^2 + \tfrac12 \|g_1\|^2 + \tfrac12 \langle g_0, g_1 \rangle$.
    Adding $\|d\|^2 / 6$ leaves a quadratic form that is never negative: it is $\tfrac16 \|d - \tfrac32 (g_0 + g_1)\|^2 +
    \tfrac18 \|g_0 - g_1\|^2$.

    </details>

    **2. State it and falsify it.** "After $N$ rounds $f(x_N) - f(x^*) \le L \|x_0 - x^*\|^2 / 8N$." Every quadratic satisfies it.
    Let the program find the function that does not.

    <details markdown="1"><summary>Solution</summary>

    The next cell states it. The counterexample holds start, minimiser, points, gradients and values as fractions; the
    inequalities above are all that a reader has to check.

    </details>
    """)
    return


@app.cell(hide_code=True)
def _():
    @claim("lesson-11/half")
    def half(f: Annotated[Function, functions(smoothness=1)], rounds: Annotated[int, choice(1, 2, 4)]):
        """Gradient descent ends at most R^2 / 8N above the minimum."""
        x = f.start
        for _ in range(rounds):
            x = x - f.gradient(x)
        return at_most(f(x) - f.minimum, bound=f.distance**2 / (8 * rounds))

    found = check("lesson-11/half")
    print(found.verdict, "--", found.reason)
    for triplet in found.counterexample["f"]["triplets"][0]:
        print(triplet)
    return


@app.cell(hide_code=True)
def _():
    multiplier = Fraction(1, 2)
    d, g0, g1 = np.eye(3, dtype=int)

    def product(u, v):
        return np.array([[Fraction(int(a * b)) for b in v] for a in u], dtype=object)

    def square(u):
        return product(u, u)

    # exercise 1: both sides as matrices of the inner products of d, g0, g1
    inequalities = [
        -product(g0, d) + square(g0) / 2,
        product(g1, g0) + square(g0 - g1) / 2,
        -product(g1, d - g0) + square(g1) / 2,
    ]
    left = square(d) / 6 + multiplier * sum(inequalities)
    rest = square(2 * d - 3 * g0 - 3 * g1) / 24 + square(g0 - g1) / 8
    assert np.all(left + left.T == rest + rest.T)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What breaks when an assumption is dropped

    - **Smoothness.** Without it $\|g_i - g_j\|^2$ is missing in the inequalities, and with a fixed step nothing is certified:
      $|x|$ with step 1 goes back and forth.
    - **Convexity.** The minimum need not be reached; what can be certified is the smallest gradient, $\min_k \|g_k\|^2 \le
      4L (f(x_0) - f^*) / (3N)$ and a little less.
    - **A step that depends on $f$.** Line searches multiply unknowns with unknowns: the program is no longer semidefinite. Make
      the step a parameter, and state how it depends on $f$ as a hypothesis.
    - **Every $N$.** The certificate is of the numbers of rounds that were asked for. For all $N$ one needs multipliers as formulas
      in $N$; the fractions of the first few suggest them.

    ## Literature

    - Y. Drori, M. Teboulle: Performance of first-order methods for smooth convex minimization: a novel approach. Mathematical
      Programming 145, 2014. The bound, and the idea of the semidefinite program.
    - A. Taylor, J. Hendrickx, F. Glineur: Smooth strongly convex interpolation and exact worst-case performance of first-order
      methods. Mathematical Programming 161, 2017. The inequalities, and that there are no others.
    - B. Goujaud and others: PEPit: computer-assisted worst-case analyses of first-order optimization methods in Python.
      Mathematical Programming Computation, 2024. The same programs for a hundred methods, in floating point.
    """)
    return


if __name__ == "__main__":
    app.run()

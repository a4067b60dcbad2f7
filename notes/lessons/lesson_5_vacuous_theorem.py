"""Lesson 5: a vacuous theorem in five lines, and why no other constant saves it."""

import marimo

app = marimo.App(app_title="A vacuous theorem")

with app.setup(hide_code=True):
    from math import ceil, log

    import marimo as mo
    import numpy as np

    from clusterproof import check
    from clusterproof.theory.exact import propagators
    from live import BLACK, BLUE, ORANGE, VERMILLION, label_axes, panels, sliders

    SLIDERS = {
        "constant": [0.25, 0.1, 0.05, 0.02, 0.01, 0.005],
        "momentum": [0.0, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99, 0.999],
    }
    SHARE = 0.25  # of the smaller of two clusters


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    # Lesson 5. A vacuous theorem in five lines

    **The question.** A theorem can be true and yet say nothing: no instance may meet its hypotheses, or its conclusion may be
    weaker than they are. How does one notice, and can a better constant help?

    ## The statement

    Theorem 1 of CFL-MGD. Let $l$ be the share of the smallest cluster, $\Delta$ the least distance of two optima,
    $\kappa = L/\mu$ the condition number and $\eta = 1/L$ the step. If every start is within $\Delta /
    (4\sqrt{\kappa})$ of its optimum and

    $$
    \rho_0 \le \frac{l}{32} \, \kappa^{-3/2} \Delta ,
    $$

    then after $T = \tfrac{8\kappa}{l} \log \tfrac{\Delta}{2\rho}$ rounds every model is, with high probability, within

    $$
    \rho = \frac{16 \kappa}{l} \rho_0
    $$

    of its optimum. The second condition, (A38), is the appendix's, added to the theorem's. Here $\rho_0$ is a sum of noise terms and of the constant $c_4 l$, for which the proof gives $c_4 = 1/4$;
    the optima have norm 1 at most, so that $\Delta \le 2$.

    ## Proof sketch: five lines

    1. Even without any noise, $\rho_0 \ge c_4 l = l/4$.
    2. So $\rho = 16 \kappa \rho_0 / l \ge 4 \kappa \ge 4$.
    3. But $\Delta \le 2$, so that every start is within $\Delta / (4 \sqrt\kappa) \le 1/2$ already.
    4. The hypothesis asks for $l/4 \le \tfrac{l}{32} \kappa^{-3/2} \Delta \le l/16$, which is false.
    5. And $T = \tfrac{8\kappa}{l} \log \tfrac{\Delta}{2\rho} \le \tfrac{8\kappa}{l} \log \tfrac14 < 0$.

    No instance meets the hypotheses, and the conclusion is weaker than they are. The toolkit finds the same on a
    grid, and proves lines 2, 4 and 5 symbolically:
    """)
    return


@app.cell
def _():
    verdict = check("cfl-mgd/theorem-1")
    print(verdict.verdict, "--", verdict.reason)
    return (verdict,)


@app.cell(hide_code=True)
def _(verdict):
    assert verdict.verdict == "vacuous"
    mo.md(r"""
    ## Can a smaller constant save it?

    One might take the $1/4$ for a careless estimate, and hope for a proof with a smaller $c_4$. Take $\kappa = 1$, $\Delta = 2$
    and no noise, the best case of the theorem, so that $\rho_0 = c_4 l$ and $\rho = 16 c_4$. Then

    - for $c_4 > 1/16$ the hypothesis $c_4 l \le l/16$ is never met;
    - for $1/32 \le c_4 \le 1/16$ it is met, but $\rho \ge 1/2$, where every start is already;
    - for $c_4 < 1/32$ the theorem says something, and it is false for every value that we tried: a momentum close to 1 lets
      the error swing for longer than $T$ rounds, since $T$ does not contain $\beta$.

    `clusterproof show cfl-mgd/theorem-1-small-constant` has a counterexample to four of them, with 17 clients in the smaller
    cluster, so that the printed probability is positive. So the theorem is vacuous or, with these constants, false.

    ## In code
    """)
    return


@app.function
def promise(constant):
    """Radius that the theorem promises at kappa = 1 without noise, and the round; None if no instance is left."""
    if constant > 1 / 16:
        return None
    radius = 16 * constant
    return radius, ceil(8 / SHARE * log(1 / radius))


@app.function
def swings(momentum, rounds):
    """Errors (rounds + 1, 2) of both clusters from the distance 1/2; their steps are eta times their shares."""
    return np.abs(0.5 * propagators(np.array([SHARE, 1 - SHARE]), momentum, rounds)[0])


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## The figure

    Left: what the theorem presupposes and what it promises, over the constant $c_4$. Right: a run without noise, two clusters
    with one and three quarters of the clients, next to the promised radius $\rho$ and the promised round $T$. At which constants
    does the theorem say something? And which momentum breaks it there?
    """)
    return


@app.function(hide_code=True)
def picture(constant, momentum):
    """Draw presupposed and promised radius over the constant, and a run with the promise."""
    promised = promise(constant)
    rounds = max(60, 0 if promised is None else promised[1] + 15)
    figure, (left, right) = panels(2)
    grid = np.geomspace(0.001, 0.5, 100)
    left.loglog(grid, 16 * grid, color=BLACK, linestyle="--", label="promised: ρ = 16 c₄")
    left.axhline(0.5, color=BLUE, label="presupposed: start within 1/2")
    left.axvspan(
        1 / 32, 1 / 16, ymax=0.65, color=ORANGE, alpha=0.3, linewidth=0, label="promise no better than start"
    )
    left.axvspan(1 / 16, 0.5, ymax=0.65, color=VERMILLION, alpha=0.3, linewidth=0, label="no instance")
    left.axvline(constant, ymax=0.65, color=BLACK, linestyle=":", label="your constant")
    left.set_ylim(0.01, 3000)
    label_axes(left, "a  Presupposed and promised", "constant c₄", "distance from the optimum")
    errors = swings(momentum, rounds)
    right.plot(errors[:, 0], color=BLUE, label="cluster with 1/4 of the clients")
    right.plot(errors[:, 1], color=ORANGE, linestyle="-.", label="cluster with 3/4 of the clients")
    if promised is not None:
        radius, last = promised
        right.axhline(radius, color=BLACK, linestyle="--", label="promised ρ")
        right.axvline(last, ymax=0.6, color=BLACK, linestyle=":", label="promised T")
        broken = errors[last] > radius
        right.plot(
            np.full(broken.sum(), last),
            errors[last][broken],
            "X",
            color=VERMILLION,
            markersize=9,
            label="broken",
        )
    right.set_ylim(0, 1.3)
    label_axes(right, "b  A run without noise", "round", "distance from the optimum")
    for panel in (left, right):
        panel.legend(fontsize=7, frameon=False, loc="upper left" if panel is left else "upper right")
    return figure


@app.function(hide_code=True)
def describe(constant, momentum):
    """State what the theorem says at this constant, and whether the run agrees."""
    promised = promise(constant)
    if promised is None:
        return f"At the constant {constant:g} no instance meets the hypotheses, whatever the momentum (here {momentum:g})."
    radius, last = promised
    worst = swings(momentum, last)[-1].max()
    verdict = "more" if worst > radius else "not more"
    return (
        f"At the constant {constant:g} the theorem promises a distance of {radius:.2g} after {last} rounds; the run with "
        f"momentum {momentum:g} is {worst:.2g} away, {verdict} than promised."
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
    def first_broken(constant):
        radius, last = promise(constant)
        return next(b for b in np.arange(0.5, 1, 0.001) if swings(float(b), last)[-1].max() > radius)

    first = {constant: first_broken(constant) for constant in (0.02, 0.01, 0.005)}
    radius, last = promise(0.01)
    mo.md(
        rf"""
    **Answers.** Below $1/32 \approx 0.031$ only: there the promised radius is less than the presupposed one. And there a
    momentum near 1 breaks the promise: from {first[0.02]:.3f} on at $c_4 = 0.02$, from {first[0.01]:.3f} at 0.01 and from
    {first[0.005]:.3f} at 0.005. No constant of the slider is saved.

    ## Exercises

    **1. By hand.** Take $c_4 = 1/64$, $\kappa = 1$, $\Delta = 2$ and $l = 1/4$. Which radius is promised after how many
    rounds? How long does an underdamped error with momentum $\beta$ need to fall by the same factor?

    <details markdown="1"><summary>Solution</summary>

    $\rho = 16/64 = 1/4$ and $T = 32 \log 4 \approx {32 * log(4):.1f}$. The start is within $1/2$, so that the error is to fall by
    the factor 2. An underdamped error falls like $\beta^{{t/2}}$ (lesson 1), which takes $2 \log 2 / \log(1/\beta)$ rounds: 138 at
    $\beta = 0.99$, and more than any $T$ for $\beta$ near enough to 1.

    </details>

    **2. State it and falsify it.** "With $c_4 = 1/100$ the theorem holds: after ${last}$ rounds no cluster is farther than
    ${radius:g}$ from its optimum." State it for the momenta $1 - 2^{{-k}}$, and let the toolkit find the least $k$ that breaks it.

    <details markdown="1"><summary>Solution</summary>

    The next cell states it: the signature is the space of instances, and the value compares the two sides.

    </details>
    """
    )
    return


@app.cell(hide_code=True)
def _():
    from typing import Annotated

    from clusterproof.theorem import at_most, claim, integers

    Exponent = Annotated[int, integers(0, 12)]

    @claim("lesson-5/smaller-constant")
    def smaller_constant(exponent: Exponent):
        """Theorem 1 holds with the constant 1/100."""
        radius, last = promise(0.01)
        return at_most(float(swings(1 - 2.0**-exponent, last)[-1].max()), promised=radius)

    found = check("lesson-5/smaller-constant")
    print(found.verdict, "--", found.reason)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What breaks when an assumption is dropped

    - **Optima of norm 1.** The assumption is not invariant: moving the origin changes whether it holds, and the algorithm does
      not notice. Without it $\Delta$ may be large, and line 4 fails for $\Delta > 8 \kappa^{3/2}$. Then the theorem is not vacuous,
      and the appendix's step that needs the norm, (A10), is false.
    - **Momentum.** The constant $c_4$ bounds the momentum term. At $\beta = 0$ there is no such term, and what is
      left of the theorem is plain descent with a floor of noise.
    - **Noise.** It only adds to $\rho_0$, so that lines 1 to 5 hold all the more.

    ## Literature

    - X. Zhao, P. Xie, L. Xing, G. Zhang, H. Ma: Clustered federated learning based on momentum gradient descent for
      heterogeneous data. Electronics 12, 1972, 2023. Theorem 1 in Section 5; $c_4$ in (38), the condition on $\rho_0$ in (A38).
    - A. Ghosh, J. Chung, D. Yin, K. Ramchandran: An efficient framework for clustered federated learning. NeurIPS 2020. The
      theorem without momentum that Theorem 1 extends.
    """)
    return


if __name__ == "__main__":
    app.run()

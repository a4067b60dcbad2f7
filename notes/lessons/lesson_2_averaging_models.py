"""Lesson 2: federated averaging, and why contractions that are averaged can diverge."""

import marimo

app = marimo.App(app_title="Averaging models")

with app.setup(hide_code=True):
    import marimo as mo
    import numpy as np

    from clusterproof import CFLMGD, QuadraticMixture, check, run
    from clusterproof.theory.exact import drift_constant, round_map
    from live import BLACK, BLUE, GREEN, ORANGE, VERMILLION, label_axes, panels, sliders

    SLIDERS = {
        "momentum": [0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95],
        "local_steps": [1, 2, 3, 5, 10, 20],
    }


@app.cell(hide_code=True)
def _():
    _, named, _ = rates(momentum=0.9, local_steps=5)
    mo.md(
        rf"""
    # Lesson 2. Averaging models: contractions that diverge together

    **The question.** Every client runs a method that converges. The server averages what they send. Can the average diverge?

    ## The statement

    Option II of CFL-MGD is federated averaging with momentum. From the server's model $\chi$ and momentum buffer $u$
    client $i$ takes $H$ steps on its own loss $\varphi_i$,

    $$
    u \leftarrow \beta u + \nabla \varphi_i(\chi), \qquad \chi \leftarrow \chi - \eta u ,
    $$

    and the server averages the models $\chi$ *and* the buffers $u$ that come back. The claim that one would like: *if
    every client alone converges, so do the rounds.* Take two clients with losses $\lambda \chi^2/2$, $\lambda = 0.01$
    and $\lambda = 1$. They share the minimiser 0. Each alone converges for every momentum below 1, with the step $1/L =
    1$. With $\beta = 0.9$ and $H = 5$ the pair grows by a factor of {named:.3f} a round.
    """
    )
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Proof sketch

    On a quadratic with curvature $\lambda_i$ a local step of client $i$ is linear in $z = (\chi, u)$:

    $$
    B_i = \begin{pmatrix} 1 - \eta\lambda_i & -\eta\beta \\ \lambda_i & \beta \end{pmatrix},
    \qquad z' = M z, \qquad M = \tfrac12 (B_1^H + B_2^H) ,
    $$

    where $B_i$ is the step and $M$ the whole round, from $z$ to $z'$. Both $B_i^H$ have spectral radius below 1. But
    the average of two contractions need not contract: each is one only in a norm of its own. The flat client hardly
    moves $\chi$, but hands the server a large buffer; the steep client then overshoots with a buffer that is not its
    own.

    ## In code
    """)
    return


@app.function
def two_clients(flat=0.01):
    """Two clients of one cluster with curvatures ``flat`` and 1, and the same minimiser."""
    hessians = np.array([[[flat]], [[1.0]]])
    return QuadraticMixture(hessians=hessians, centers=np.zeros((2, 1)), labels=np.zeros(2, int))


@app.function
def rates(momentum, local_steps, flat=0.01):
    """Spectral radius a round: each client alone, both together, and both with the buffer reset."""
    task = two_clients(flat)
    how = {"step_size": 1.0, "momentum": momentum, "local_steps": local_steps}
    alone = [round_map(task.hessians[[i]], task.centers[[i]], **how).rate for i in range(2)]
    together = round_map(task.hessians, task.centers, **how).rate
    reset = round_map(task.hessians, task.centers, **how, reset_momentum=True).rate
    return alone, together, reset


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## The figure

    Left: the rate of a round over the momentum, at your number of local steps. Right: the run itself, the real algorithm on
    the two clients from $\chi = 1$. Where is the first momentum that diverges? Does $H = 1$ ever?
    """)
    return


@app.function(hide_code=True)
def picture(momentum, local_steps):
    """Draw the rates over the momentum, and runs."""
    grid = np.linspace(0, 0.98, 50)
    curves = [rates(float(beta), local_steps) for beta in grid]
    figure, (left, right) = panels(2)
    left.plot(grid, [max(alone) for alone, _, _ in curves], color=BLUE, label="slower client alone")
    left.plot(grid, [both for _, both, _ in curves], color=VERMILLION, label="both, averaged", linestyle="--")
    left.plot(
        grid, [reset for _, _, reset in curves], color=GREEN, label="both, buffer reset", linestyle="-."
    )
    left.axhline(1, color=BLACK, linewidth=0.8)
    left.axvline(momentum, color=ORANGE, linestyle=":")
    left.set_ylim(0, 2)
    label_axes(left, "a  Rate of a round", "momentum β", "spectral radius")
    for reset, colour, style in ((False, VERMILLION, "--"), (True, GREEN, "-.")):
        algorithm = CFLMGD(
            clusters=1,
            step_size=1.0,
            momentum=momentum,
            averaging="model",
            local_steps=local_steps,
            reset_momentum=reset,
        )
        errors = run(algorithm, two_clients(), rounds=30, initial=np.ones((1, 1))).errors[:, 0]
        label = "buffer reset" if reset else "buffer averaged"
        right.semilogy(np.maximum(errors, 1e-12), color=colour, linestyle=style, label=label)
    label_axes(right, "b  The run", "round", "distance from the optimum")
    for panel in (left, right):
        panel.legend(fontsize=7, frameon=False)
    return figure


@app.function(hide_code=True)
def describe(momentum, local_steps):
    """State what becomes of the pair."""
    alone, together, reset = rates(momentum, local_steps)
    fate = "diverge" if together > 1 else "converge"
    return (
        f"At momentum {momentum:g} and {local_steps} local steps each client alone has rate {max(alone):.3f} at most; "
        f"averaged they {fate} with {together:.3f} a round, and with the buffer reset they have {reset:.3f}."
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
    task = two_clients()

    def together(momentum, local_steps):
        how = {"step_size": 1.0, "momentum": momentum, "local_steps": local_steps}
        return round_map(task.hessians, task.centers, **how).rate

    first = {
        steps: next((b for b in np.arange(0, 1, 0.001) if together(float(b), steps) > 1), None)
        for steps in SLIDERS["local_steps"]
    }
    assert first[1] is first[2] is None
    assert first[5] < first[10] < first[20]
    mo.md(
        rf"""
    **Answers.** With $H = 5$ the pair diverges from $\beta = {first[5]:.3f}$ on, with $H = 10$ from {first[10]:.3f} and with $H = 20$
    from {first[20]:.3f}. With $H = 1$ it never does (exercise 1), and with $H = 2$ no momentum on a grid of 1/1000 does either.
    More local steps help here, because a client that works longer forgets more of a buffer that is not its own.

    ## The repair

    Start every round from $u = 0$ (`reset_momentum`). Then a client with Hessian $A_i$ takes an error $e$ to
    $\Pi_H(\eta A_i) e$, with the $\Pi_H$ of lesson 1. These matrices are symmetric, and an average of symmetric
    contractions contracts in the ordinary norm (`clusterproof show cfl-mgd/model-averaging-reset`). `clusterproof
    figures model-averaging-map --out figures-out` draws both maps side by side.

    **Drift.** Where it converges, option II with $H \ge 2$ and different Hessians $A_i$ has the wrong limit. Let client
    $i$'s own minimiser be $c_i$, the mean loss's $\chi^*$, and $\bar A$ the mean Hessian. To first order in $\eta$ the
    limit is off by $\eta c_H(\beta) \bar A^{{-1}}$ times the mean of $A_i^2(\chi^* - c_i)$, and momentum multiplies the
    constant $c_H$: $c_5(0) =$ {drift_constant(0.0, 5):.0f}, $c_5(0.9) =$ {drift_constant(0.9, 5):.2f} (`clusterproof
    show cfl-mgd/model-averaging-drift`).

    ## Exercises

    **1. By hand.** Why does $H = 1$ never diverge here? Write $M$ for $H = 1$.

    <details markdown="1"><summary>Solution</summary>

    $B_i$ is linear in $\lambda_i$, so the average of the $B_i$ is the matrix of *one* client with the mean curvature: heavy ball
    on the mean loss, which converges for every $\beta < 1$.

    </details>

    **2. State it and falsify it.** "The rounds converge wherever every client alone does." State it for a flat client with
    $\lambda \in \{{1/100, 1/10, 1/2\}}$, and let the toolkit find the simplest pair that diverges.

    <details markdown="1"><summary>Solution</summary>

    The next cell states it. The toolkit's own version of the claim is `cfl-mgd/model-averaging-stability`.

    </details>
    """
    )
    return


@app.cell(hide_code=True)
def _():
    from fractions import Fraction
    from typing import Annotated

    from clusterproof.theorem import at_most, choice, claim, integers, rationals

    Flat = Annotated[Fraction, choice(Fraction(1, 2), Fraction(1, 10), Fraction(1, 100))]
    Momentum = Annotated[Fraction, rationals(0, Fraction(9, 10), 10)]
    LocalSteps = Annotated[int, integers(1, 10)]

    @claim("lesson-2/average-converges")
    def average_converges(flat: Flat, momentum: Momentum, local_steps: LocalSteps):
        """Where every client alone converges, so do the rounds."""
        return at_most(rates(float(momentum), local_steps, float(flat))[1], one=1.0)

    found = check("lesson-2/average-converges")
    print(found.verdict, "--", found.reason)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What breaks when an assumption is dropped

    - **Equal curvatures.** If all clients have the same Hessian, $M = B^H$ and nothing can go wrong: the divergence needs
      clients that differ, which is what federated learning is about.
    - **Linear losses near the optimum.** On networks the same averaging often works, because ten local steps on stochastic
      gradients forget most of the buffer. Nothing in the analysis says so: lesson 9.

    ## Literature

    - B. McMahan et al.: FedAvg (see lesson 0). X. Zhao et al.: CFL-MGD, option II in (4), (6) and (10).
    - H. Yu, R. Jin, S. Yang: On the linear speedup analysis of communication efficient momentum SGD for distributed non-convex
      optimization. ICML 2019. Averages models and buffers, too.
    - X. Li, K. Huang, W. Yang, S. Wang, Z. Zhang: On the convergence of FedAvg on non-IID data. ICLR 2020. Why local steps of a
      constant size have a wrong limit. S. P. Karimireddy et al.: SCAFFOLD. ICML 2020. The name client drift, and a remedy.
    """)
    return


if __name__ == "__main__":
    app.run()

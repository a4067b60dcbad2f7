"""Lesson 3: mixtures, IFCA and the basin of attraction."""

import marimo

app = marimo.App(app_title="The basin of attraction")

with app.setup(hide_code=True):
    from math import sqrt

    import marimo as mo
    import numpy as np

    from clusterproof import IFCA, RegressionMixture, check, run
    from clusterproof.synthetic import worst_case_error
    from live import BLACK, BLUE, ORANGE, VERMILLION, label_axes, panels, sliders

    SLIDERS = {
        "separation": [0.5, 1.0, 1.5, 2.0],
        "samples": [5, 20, 100],
        "start": [0.5, 0.7, 0.9, 1.0, 1.2, 1.5, 2.0],
    }


@app.cell(hide_code=True)
def _():
    basin = check("ifca/basin", evaluations=30)
    assert basin.verdict == "consistent"
    mo.md(
        rf"""
    # Lesson 3. Mixtures, IFCA and the basin of attraction

    **The question.** A client does not know its cluster: it evaluates all models on its data and chooses the one with the smallest
    loss. How far may the models be from their optima for this to be right, how often is it wrong, and what happens to a cluster
    that no client chooses?

    ## The statement

    Gaussian regression: a client of cluster $p$ sees rows $(x, y)$ with $x \sim N(0, \Sigma)$ and $y = \langle x,
    \chi_p^* \rangle + s\varepsilon$, where $\chi_p^*$ is the optimum of its cluster and $\varepsilon$ standard
    Gaussian noise. Let $\Delta$ be the least distance of two optima, $\mu$ and $L$ the ends of the spectrum of
    $\Sigma$, and $\kappa = L/\mu$. In a round of IFCA every client picks the model with the least loss on its rows, and
    each model takes a gradient step on the clients that picked it.

    With exact losses every client chooses rightly, and IFCA converges, from all starts within

    $$
    B^* = \frac{{\Delta}}{{1 + \sqrt\kappa}}
    $$

    of their optima, and from no larger radius for certain. The toolkit checks both halves under the name `ifca/basin`, and
    finds them {basin.verdict} with its runs.

    ## Proof sketch

    The expected loss of a model at distance $r$ from the client's optimum is between $\mu r^2/2$ and $L r^2/2$, up to a
    constant. From starts within $B$ the client's model is at most $B$ away, another one at least $\Delta - B$. The choice is
    right if $L B^2 < \mu (\Delta - B)^2$, that is $\sqrt\kappa B < \Delta - B$. The worst pair is attained: the client's
    model is off along the steepest axis, the other one towards the client's optimum along the flattest.

    **With $n'$ rows** a client the two losses are means of squares of correlated Gaussians. A rotation makes them
    independent, and the question whether one is larger than the other becomes a question about an $F$ variable with
    $n'$ and $n'$ degrees of freedom. So the probability of a wrong choice is *exact*, an incomplete beta function; no
    inequality is needed.

    ## In code
    """
    )
    return


@app.function
def scene(separation, samples, clusters=3, noise=1.0):
    """Ten clients a cluster, optima at the corners of a simplex, kappa = 1."""
    optima = np.eye(clusters, 2 * clusters) * separation / sqrt(2)
    labels = np.repeat(np.arange(clusters), 10)
    return RegressionMixture(
        optima=optima, covariance=np.ones(2 * clusters), noise=noise, labels=labels, samples=samples
    )


@app.function
def shares_found(separation, samples, start, runs=20, rounds=25):
    """Share of clients that choose their own cluster's model, by round and run, and the models' errors."""
    task = scene(separation, samples)
    directions = np.random.default_rng(0).standard_normal((runs, *task.optima.shape))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    initial = task.optima + start * task.separation / 2 * directions
    trace = run(IFCA(step_size=1.0), task, rounds=rounds, seed=0, replicates=runs, initial=initial)
    return (trace.assignments == task.labels).mean(axis=-1), np.asarray(trace.errors)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## The figure

    Three clusters, $\kappa = 1$, noise $s = 1$, so that $B^* = \Delta / 2$, the *basin radius*. Left: the exact
    probability that a client is wrong at the worst pair of models within a radius. Right: twenty runs of IFCA that
    start in random directions at the distance that you choose. Is a start beyond the basin lost? And is a start within it always safe at five
    rows a client?
    """)
    return


@app.function(hide_code=True)
def picture(separation, samples, start):
    """Draw the exact probability of a wrong choice, and the share of correct choices in twenty runs."""
    figure, (left, right) = panels(2)
    radii = np.linspace(0, 0.99, 60)
    for rows, colour, style in ((5, ORANGE, ":"), (20, BLUE, "-"), (100, VERMILLION, "--")):
        wrong = [worst_case_error(1, 1, separation, 1.0, radius * separation / 2, rows) for radius in radii]
        width = 2.5 if rows == samples else 1
        left.semilogy(
            radii,
            np.maximum(wrong, 1e-8),
            color=colour,
            linestyle=style,
            linewidth=width,
            label=f"n′ = {rows}",
        )
    left.set_ylim(1e-6, 1)
    label_axes(left, "a  Worst error of choosing", "radius, in basin radii", "probability")
    left.legend(fontsize=7, frameon=False)
    right_share, _ = shares_found(separation, samples, start)
    right.plot(np.arange(1, len(right_share) + 1), right_share, color=BLUE, alpha=0.35, linewidth=1)
    right.plot(np.arange(1, len(right_share) + 1), right_share.mean(axis=1), color=BLACK, linewidth=2)
    right.set_ylim(0, 1.05)
    label_axes(right, "b  Clients that are right, 20 runs and mean", "round", "share")
    return figure


@app.function(hide_code=True)
def describe(separation, samples, start):
    """State how many runs find all clusters."""
    share, _ = shares_found(separation, samples, start)
    found = int((share[-1] > 0.9).sum())
    return (
        f"At separation {separation:g}, {samples} rows and starts {start:g} basin radii away, {found} of 20 runs end with "
        f"nine in ten clients at their own model; the mean share of right clients is {share[-1].mean():.2f}."
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
    exact = worst_case_error(1, 1, 2.0, 1.0, 0.5, 20)
    ended = {
        (rows, start): int((shares_found(2.0, rows, start)[0][-1] > 0.9).sum())
        for rows, start in ((5, 0.5), (20, 1.5), (20, 2.0))
    }
    assert ended[5, 0.5] < 20 == ended[20, 1.5]
    mo.md(
        rf"""
    **Answers.** A start beyond the basin need not be lost: at separation 2 and with 20 rows {ended[20, 1.5]} of 20 runs from 1.5
    basin radii end with nine in ten clients at their own model, and {ended[20, 2.0]} from 2 radii. A start within it is not
    safe with five rows: from half a radius {ended[5, 0.5]} of 20 do, because the noise of so few rows sends clients to wrong models in
    every round.

    ## A lost cluster

    If no client chooses a model, it gets no gradient and stays where it is. Nothing brings it back unless another model moves
    away: the run ends with two models for three clusters, and one model sits at a mean of two optima. Gradient descent on the
    *assigned* losses goes down all the same, so that no loss curve shows it; purity and the adjusted Rand index do.
    `clusterproof figures success-map --out figures-out` draws how often it happens over separation and noise.

    ## Exercises

    **1. By number.** $\Delta = 2$, $s = 1$, $\kappa = 1$, models half a basin radius away, 20 rows. How often is a client wrong
    at worst?

    <details markdown="1"><summary>Solution</summary>

    `worst_case_error(1, 1, 2.0, 1.0, 0.5, 20)` is {exact:.2g}. The chance that one of 30 clients is wrong among two others
    is at most {30 * 2} times that.

    </details>

    **2. State it and falsify it.** "From within $\Delta/2$ every client chooses rightly, whatever the condition number." State
    it with exact losses at the worst pair, and let the toolkit find the least $\kappa$ that breaks it.

    <details markdown="1"><summary>Solution</summary>

    `misassigned` runs IFCA for a round from the worst pair. At radius $0.45 \Delta$ the claim needs $\sqrt\kappa < 0.55/0.45$.

    </details>
    """
    )
    return


@app.cell(hide_code=True)
def _():
    from typing import Annotated

    from clusterproof.theorem import at_most, claim, integers
    from clusterproof.theory.papers.ifca import misassigned

    Condition = Annotated[int, integers(1, 10, upwards=True)]

    @claim("lesson-3/half-the-separation")
    def half_the_separation(condition_number: Condition):
        """From within 0.45 Delta every client chooses rightly."""
        return at_most(float(misassigned(float(condition_number), 0.45)), nobody=0.0)

    found = check("lesson-3/half-the-separation")
    print(found.verdict, "--", found.reason)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What breaks when an assumption is dropped

    - **Fresh rows.** On one fixed data set the rows that chose the model are those that move it, and the exact probability is
      no longer one: choosing and descending are dependent. The runs above draw new rows in every round.
    - **A common covariance.** If clusters differ in $\Sigma$, a client may prefer a model that is *farther*, because it is off
      along a direction that its data hardly show.
    - **The basin.** Outside it nothing is certain, in either direction: many starts beyond it converge. It is a guarantee, not
      a border.

    ## Literature

    - A. Ghosh et al.: IFCA (see lesson 0), whose theorem starts within a basin of the order of $\sqrt{\mu/L}\,\Delta$.
    - X. Zhao et al.: CFL-MGD (see lesson 0). Assumption 4 takes the radius $\tfrac14 \sqrt{\mu/L}\,\Delta$; Lemma 1 bounds the
      probability of a wrong choice by Chebyshev's inequality.
    """)
    return


if __name__ == "__main__":
    app.run()

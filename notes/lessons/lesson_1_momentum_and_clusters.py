"""Lesson 1: gradient descent and heavy ball, eigenvalue by eigenvalue, and the hidden step."""

import marimo

app = marimo.App(app_title="Momentum and clusters")

with app.setup(hide_code=True):
    from math import ceil, log

    import marimo as mo
    import numpy as np

    from clusterproof import check
    from clusterproof.theory.bounds import fastest
    from clusterproof.theory.exact import propagators, spectral_rate
    from live import BLACK, BLUE, GREEN, ORANGE, VERMILLION, label_axes, panels, sliders

    SLIDERS = {
        "momentum": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
        "share": [0.1, 0.25, 0.5],
        "condition_number": [2, 10],
    }


@app.cell(hide_code=True)
def _():
    rounds = {p: ceil(log(1e-6) / log(1 - 1 / (10 * p))) for p in (1, 2, 4, 10)}
    assert check("cfl-mgd/division-by-clients", evaluations=30).verdict == "consistent"
    mo.md(
        rf"""
    # Lesson 1. Gradient descent and heavy ball, eigenvalue by eigenvalue

    **The question.** A server adds the gradients of a cluster's clients and divides by *all* clients. What does that do to
    the small clusters, what does momentum give back, and what does it cost?

    ## The statement

    Let $e_t$ be a model minus the optimum after $t$ rounds, and let the loss be quadratic with Hessian $A$, whose
    eigenvalues $\lambda$ lie between $\mu$ and $L$; $\kappa = L/\mu$ is the condition number. Heavy ball with step
    $\eta$ and momentum $\beta$ is $e_{{t+1}} = (I - \eta A) e_t + \beta (e_t - e_{{t-1}})$. In the eigenbasis of $A$
    every coordinate, a *mode*, goes its own way: with $a = \eta \lambda$ and from rest, $e_{{-1}} = e_0$,

    $$
    e_{{t+1}} = (1 + \beta - a) e_t - \beta e_{{t-1}}, \qquad e_t = \Pi_t(a) e_0 .
    $$

    The number $\Pi_t(a)$ is what is left of a mode after $t$ rounds. Its rate, the factor a round in the long run, is
    $\sqrt\beta$ where $\beta \ge (1 - \sqrt a)^2$ (*underdamped*: the error swings), and the larger root of
    $z^2 - (1 + \beta - a) z + \beta = 0$ elsewhere (*overdamped*: it creeps).

    **The hidden step.** Option I of CFL-MGD, in which the server averages gradients, and IFCA divide by the number of
    *all* clients. A cluster with a share $l_p$ of them therefore descends with step $\eta l_p$, not $\eta$. At $\kappa
    = 10$ and $\eta = 1/L$, without momentum, an accuracy of $10^{{-6}}$ takes {rounds[2]}, {rounds[4]} and {rounds[10]}
    rounds with 2, 4 and 10 equal clusters, against {rounds[1]} if the server divided by the cluster's own clients. That
    is $\ln 10^{{-6}} / \ln(1 - \eta l_p \mu)$, rounded up; `clusterproof check cfl-mgd/division-by-clients` compares it
    with runs.

    ## Proof sketch

    The recursion takes $(e_t, e_{{t-1}})$ to $(e_{{t+1}}, e_t)$ by a matrix with determinant $\beta$ and trace $1 +
    \beta - a$. If its eigenvalues are complex, both have modulus $\sqrt\beta$. They are real where $(1 + \beta - a)^2
    \ge 4\beta$, that is $\beta \le (1 - \sqrt a)^2$ for $a \le 1$. The flattest eigenvalue $a = \eta l_p \mu$ is the
    slowest. Momentum helps it exactly for $0 < \beta < (1 - \eta l_p \mu)^2$, and the best is $\beta = (1 - \sqrt{{\eta
    l_p \mu}})^2$ with rate $1 - \sqrt{{\eta l_p \mu}}$: the small share now costs $\sqrt{{l_p}}$ instead of $l_p$. One
    $\beta$, tuned to the smallest cluster, gives *all* clusters the same rate $\sqrt\beta$, since the larger ones are
    underdamped.

    ## In code
    """
    )
    return


@app.function
def modes(momentum, share, condition_number, rounds=80):
    """Errors of the flattest and the steepest mode, round by round, and their rates; step 1 / L."""
    curvatures = share * np.array([1 / condition_number, 1.0])
    start, _ = propagators(curvatures, momentum, rounds)
    return np.abs(start), spectral_rate(curvatures, momentum)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## The figure

    Left: both ends of the spectrum of one cluster, from error 1. Right: the rate of the flattest mode over the momentum, with
    your choice and the best one. Which momentum is the best for the smallest share, and what does it do to the steepest mode?
    """)
    return


@app.function(hide_code=True)
def picture(momentum, share, condition_number):
    """Draw the modes and the rate over the momentum."""
    errors, _ = modes(momentum, share, condition_number)
    figure, (left, right) = panels(2)
    left.semilogy(np.maximum(errors[:, 0], 1e-16), color=BLUE, label="flattest mode, λ = μ")
    left.semilogy(
        np.maximum(errors[:, 1], 1e-16), color=VERMILLION, linestyle="--", label="steepest mode, λ = L"
    )
    left.set_ylim(1e-8, 2)
    label_axes(left, "a  Error of two modes", "round", "|error|")
    grid = np.linspace(0, 0.99, 200)
    flattest = share / condition_number
    right.plot(
        grid, [spectral_rate(flattest, beta) for beta in grid], color=BLUE, label="rate of the flattest mode"
    )
    right.axhline(1 - flattest, color=BLACK, linestyle=":", label="without momentum")
    best = fastest(flattest)
    right.plot(best, 1 - np.sqrt(flattest), "*", color=GREEN, markersize=11, label="best momentum")
    right.plot(momentum, spectral_rate(flattest, momentum), "o", color=ORANGE, label="yours")
    label_axes(right, "b  Rate", "momentum β", "factor a round")
    for panel in (left, right):
        panel.legend(fontsize=7, frameon=False)
    return figure


@app.function(hide_code=True)
def describe(momentum, share, condition_number):
    """State what the rates are."""
    _, rates = modes(momentum, share, condition_number)
    flattest = share / condition_number
    return (
        f"At momentum {momentum:g}, share {share:g} and condition number {condition_number:g} the flattest mode has rate "
        f"{rates[0]:.4f} and the steepest {rates[1]:.4f}; the best momentum is {fastest(flattest):.3f}, with rate "
        f"{1 - np.sqrt(flattest):.4f}."
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
    factor, true = 1 - 0.5 / 8, float(spectral_rate(0.5, 0.9))
    assert true > factor
    tuned = {condition: fastest(0.1 / condition) for condition in SLIDERS["condition_number"]}
    common = {condition: spectral_rate(0.1, beta) for condition, beta in tuned.items()}
    assert all(
        abs(common[condition] - spectral_rate(0.1 / condition, tuned[condition])) < 1e-9
        for condition in tuned
    )
    mo.md(
        rf"""
    **Answers.** At the share 0.1 the best momentum is {tuned[2]:.2f} for $\kappa = 2$ and {tuned[10]:.2f} for $\kappa = 10$. It makes
    the steepest mode underdamped: both ends of the spectrum then have the same rate, {common[2]:.3f} and {common[10]:.3f}, and the
    steepest mode swings.

    ## What it costs, and what the paper says instead

    Momentum carries the noise of each gradient on: the stationary error grows like $1/\sqrt{{1 - \beta}}$. With a long horizon plain
    descent wins again (`clusterproof check cfl-mgd/momentum-horizon`, and lesson 6).

    The paper's factor, $1 - l\mu/8L$, does not contain $\beta$ at all. The paper adds a floor $\rho_0 \ge c_4 l > 0$ to it;
    without the floor it is no rate where $\sqrt\beta > 1 - l\mu/8L$ ($\kappa = 1$, $l = 1/2$, $\beta = 0.9$: the rate is
    {true:.3f}, the factor {factor:.4f}), and far too pessimistic elsewhere: `clusterproof figures contraction-map
    error-per-round --out figures-out` shows both.

    ## Exercises

    **1. By hand.** $\kappa = 100$, ten equal clusters, $\eta = 1/L$. How many rounds to $10^{{-6}}$ without momentum, and with
    the best one?

    <details markdown="1"><summary>Solution</summary>

    The flattest mode has $a = \eta l_p \mu = \tfrac1{{10}} \cdot \tfrac1{{100}} = 1/1000$. Without momentum: $\ln
    10^{{-6}} / \ln(1 - 10^{{-3}}) \approx$ {log(1e-6) / log(1 - 1e-3):.0f} rounds. With the best, the rate is $1 -
    \sqrt{{10^{{-3}}}}$: about {log(1e-6) / log(1 - 1e-3**0.5):.0f}, up to a factor linear in $t$.

    </details>

    **2. State it and falsify it.** "Momentum never slows a mode down: its rate is at most $1 - a$." State it for the modes
    $a \in \{{1/10, 1/4, 1/2\}}$ and let the toolkit find the simplest momentum that breaks it.

    <details markdown="1"><summary>Solution</summary>

    Beyond $(1 - a)^2$ the rate $\sqrt\beta$ exceeds $1 - a$. The next cell finds such a momentum by search.

    </details>
    """
    )
    return


@app.cell(hide_code=True)
def _():
    from fractions import Fraction
    from typing import Annotated

    from clusterproof.theorem import at_most, choice, claim, rationals

    Curvature = Annotated[Fraction, choice(Fraction(1, 2), Fraction(1, 4), Fraction(1, 10))]
    Momentum = Annotated[Fraction, rationals(0, Fraction(9, 10), 10)]

    @claim("lesson-1/never-slower")
    def never_slower(curvature: Curvature, momentum: Momentum):
        """Momentum never slows a mode down."""
        return at_most(float(spectral_rate(float(curvature), float(momentum))), plain=1 - float(curvature))

    found = check("lesson-1/never-slower")
    print(found.verdict, "--", found.reason)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What breaks when an assumption is dropped

    - **Quadratic losses.** On smooth strongly convex losses the rate $\sqrt\beta$ is not available: heavy ball can even cycle.
      What can still be proved, and how, is lesson 7.
    - **Full participation.** If a random half takes part and the server divides by all clients, the step is halved again; if
      it divides by those who took part, it is $\eta l_p$ in the mean, and random.
    - **All clients in the right cluster.** Then $l_p$ is fixed. Lesson 3 is about when that can be trusted.

    ## Literature

    - B. T. Polyak: Some methods of speeding up the convergence of iteration methods. USSR Computational Mathematics and
      Mathematical Physics 4, 1964. The heavy ball method, and its best momentum on quadratics.
    - L. Lessard, B. Recht, A. Packard: Analysis and design of optimization algorithms via integral quadratic constraints. SIAM
      Journal on Optimization 26, 2016. A smooth strongly convex loss on which heavy ball cycles.
    - X. Zhao et al.: CFL-MGD (see lesson 0). The division by all clients is in (5), the factor in Lemma 2.
    """)
    return


if __name__ == "__main__":
    app.run()

"""Lesson 7: from a numerical rate to a rational certificate that a third party re-checks."""

import marimo

app = marimo.App(app_title="Certificates")

with app.setup(hide_code=True):
    from fractions import Fraction
    from functools import cache

    import marimo as mo
    import numpy as np

    from clusterproof import certify, verify
    from clusterproof.theory.certificates import lyapunov_matrix, to_json
    from clusterproof.theory.exact import spectral_rate
    from live import BLACK, BLUE, ORANGE, VERMILLION, label_axes, panels, sliders

    FLATTEST = 0.5 / 10  # step times share times curvature of the flattest mode: l = 1/2, kappa = 10
    SLIDERS = {
        "momentum": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
        "slack": [1.002, 1.01, 1.02, 1.05, 1.1],
    }


@app.cell(hide_code=True)
def _():
    mo.md(rf"""
    # Lesson 7. From a numerical rate to a certificate that a third party rechecks

    **The question.** A solver says that a method contracts by {exact_rate(0.4):.2f} a round. It says so in floating point, up to a
    tolerance, after thousands of operations. When is that a theorem?
    """)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## The statement

    A cluster's dynamics is heavy ball with step $\eta l_p$ and momentum $\beta$ on an unknown loss $\varphi$ that is
    $L$-smooth and $\mu$-strongly convex. A *Lyapunov function* $V$ proves a rate $r$ if

    $$
    V(e_{t+1}, e_t) \le r^2 V(e_t, e_{t-1}), \qquad \|e_t\|^2 \le V(e_t, e_{t-1})
    $$

    for every such $\varphi$ and every state, where $e_t$ is the error after $t$ rounds. Then $\|e_t\| \le C_0 r^t
    \|e_0\|$: the rate is $r$, and the *prefactor* $C_0$ is the root of what $V$ is at the start, from rest and with
    $\|e_0\| = 1$.

    ## Proof sketch

    **Quadratics.** $V(z) = z^\top P z$ for $z = (e_t, e_{t-1})$, one $2 \times 2$ matrix $P$ for each eigenvalue of the
    Hessian. If $A$ takes $z$ one round on and $z^\top C z = \|e_t\|^2$, then $P = \sum_k r^{-2k} (A^k)^\top C A^k$ does
    it. The sum exists for every $r$ above the spectral radius of $A$ and is known in closed form. Geometrically: an
    ellipse whose image under $A / r$ lies inside it.

    **Smooth losses.** $V$ may contain $\varphi$ itself. That $V$ decreases must follow from the inequalities that gradients
    and values of such a $\varphi$ obey, each taken with a multiplier that is not negative. What is left is that a few small
    symmetric matrices, linear in the unknowns, have no negative eigenvalue: a semidefinite program. A solver finds the
    unknowns *nearly*. They are rounded to fractions, repaired, and every condition is decided in exact arithmetic: the
    pivots of an $LDL^\top$ factorisation with fractions are negative or they are not.

    ## In code
    """)
    return


@app.cell
def _():
    rate = certify(Fraction(2, 5), 10, Fraction(1, 2), function_class="smooth")
    honest = verify(rate)
    document = to_json(rate.document)
    lower = document.replace(f"RATE = {rate.rate!r}", f"RATE = {rate.rate - Fraction(1, 1000)!r}")
    tampered = verify(lower)
    print(f"rate {float(rate.rate):.4f}; {honest.valid}: {honest.condition}")
    print(f"a rate lower by 0.001; {tampered.valid}: {tampered.condition}")
    return honest, rate, tampered


@app.cell(hide_code=True)
def _(honest, rate, tampered):
    assert honest.valid
    assert not tampered.valid
    digits = len(str(rate.matrix[0].denominator))
    mo.md(
        rf"""
    At $\kappa = 10$, $l_p = 1/2$, $\beta = 2/5$ the certified rate is {float(rate.rate):.4f}; plain descent has
    {1 - FLATTEST:.2f}, and on quadratics heavy ball has {exact_rate(0.4):.4f}. The certificate holds fractions with
    denominators of {digits} digits. `clusterproof certify --momentum 0.4 --condition 10 --proportion 0.5 --class smooth --out
    rate.json` writes it; `clusterproof verify rate.json` needs no solver and does not import one.

    ## The figure

    Left: the ellipse of $V$ for the flattest mode at $\kappa = 10$, $l = 1/2$, and its image under $A / r$, for a rate $r$ that
    is your factor above the spectral radius. Right: rates over the momentum. What happens to the ellipse when $r$ nears the
    spectral radius, and what does that do to $C_0$?
    """
    )
    return


@app.function(hide_code=True)
@cache
def certified():
    """Certified rates on smooth losses at a few momenta, kappa = 10, l = 1/2."""
    momenta = (Fraction(0), Fraction(2, 5), Fraction(3, 5))
    return {
        float(beta): float(certify(beta, 10, Fraction(1, 2), function_class="smooth").rate)
        for beta in momenta
    }


@app.function(hide_code=True)
def exact_rate(momentum):
    """Rate of the flattest mode on quadratics."""
    return float(spectral_rate(FLATTEST, momentum))


@app.function(hide_code=True)
def ellipse(momentum, slack):
    """Rate, matrix of V, the ellipse V = 1, and its image under A / r."""
    rate = slack * exact_rate(momentum)
    matrix = lyapunov_matrix(FLATTEST, momentum, rate)
    # without momentum V does not see the error before: a strip, not an ellipse
    drawn = matrix + 1e-3 * np.eye(2)
    angles = np.linspace(0, 2 * np.pi, 200)
    border = np.linalg.solve(np.linalg.cholesky(drawn).T, np.stack([np.cos(angles), np.sin(angles)]))
    step = np.array([[1 + momentum - FLATTEST, -momentum], [1.0, 0.0]])
    return rate, matrix, border, step @ border / rate


@app.function(hide_code=True)
def picture(momentum, slack):
    """Draw the ellipse with its image, and the rates over the momentum."""
    rate, _, border, image = ellipse(momentum, slack)
    figure, (left, right) = panels(2)
    left.plot(*border, color=BLACK, label="V = 1")
    left.plot(*image, color=BLUE, linestyle="--", label="its image under A / r")
    left.set_aspect("equal", adjustable="datalim")
    label_axes(left, "a  Contraction: an ellipse within an ellipse", "error now", "error before")
    grid = np.linspace(0, 0.95, 100)
    right.plot(grid, [exact_rate(beta) for beta in grid], color=BLUE, label="quadratics, exact")
    right.axhline(1 - FLATTEST, color=BLACK, linestyle=":", label="without momentum")
    right.plot(*zip(*certified().items(), strict=True), "s--", color=VERMILLION, label="smooth, certified")
    right.plot(momentum, rate, "o", color=ORANGE, label="your r")
    label_axes(right, "b  Rate", "momentum β", "factor a round")
    for panel in (left, right):
        panel.legend(fontsize=7, frameon=False)
    return figure


@app.function(hide_code=True)
def describe(momentum, slack):
    """Say the rate and the prefactor."""
    rate, matrix, _, _ = ellipse(momentum, slack)
    return (
        f"At momentum {momentum:g} and a rate of {rate:.4f}, {slack:g} times the spectral radius, the prefactor of the "
        f"flattest mode is {np.sqrt(matrix.sum()):.2f}."
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
    shown = {slack: ellipse(0.4, slack) for slack in SLIDERS["slack"]}
    axis = {slack: 1 / np.sqrt(np.linalg.eigvalsh(matrix)[-1]) for slack, (_, matrix, _, _) in shown.items()}
    prefactor = {slack: np.sqrt(matrix.sum()) for slack, (_, matrix, _, _) in shown.items()}
    assert prefactor[1.002] > prefactor[1.02] > prefactor[1.1]
    assert axis[1.002] < axis[1.02] < axis[1.1]
    mo.md(rf"""
    **Answers.** The ellipse becomes thinner: at $\beta = 0.4$ its shorter half-axis is {axis[1.1]:.3f} for a rate of 1.1 times the
    spectral radius, and {axis[1.002]:.3f} for 1.002 times. So $V$ at the start, where both errors are 1, grows, and its root $C_0$ from
    {prefactor[1.1]:.1f} to {prefactor[1.002]:.1f}. A better rate is paid with a larger prefactor.
    """)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Exercises

    **1. By hand.** Without momentum $V = \|e\|^2$ is enough on smooth losses. Which rate does it give with step $\alpha \le
    1/L$, and from which two inequalities?

    <details markdown="1"><summary>Solution</summary>

    $\|e - \alpha g\|^2 = \|e\|^2 - 2\alpha \langle g, e\rangle + \alpha^2 \|g\|^2$. With $\|g\|^2 \le L \langle g, e\rangle$ and
    $\langle g, e \rangle \ge \mu \|e\|^2$ it is at most $(1 - \alpha\mu(2 - \alpha L)) \|e\|^2 \le (1 - \alpha\mu) \|e\|^2$. (The
    best known, from the sharper interpolation inequality, is the rate $1 - \alpha\mu$ itself.)

    </details>

    **2. State it and falsify it.** "A certified rate leaves room: one lower by a twentieth of the gap to 1 is still valid."
    Falsify it on the quadratic mode, where the truth is known: claim that the error after 60 rounds is at most $r^{60}$ with
    $r$ a little *below* the spectral radius.

    <details markdown="1"><summary>Solution</summary>

    The asymptotic rate cannot be beaten. The next cell searches for the simplest momentum at which the run is slower than the
    claimed rate.

    </details>
    """)
    return


@app.cell(hide_code=True)
def _():
    from typing import Annotated

    from clusterproof.checker import check
    from clusterproof.theorem import at_most, claim, rationals
    from clusterproof.theory.exact import propagators

    Momentum = Annotated[Fraction, rationals(0, Fraction(3, 10), 10)]

    @claim("lesson-7/faster-than-exact")
    def faster_than_exact(momentum: Momentum):
        """A mode is faster than its spectral radius says."""
        exact = exact_rate(float(momentum))
        claimed = exact - 0.05 * (1 - exact)
        return at_most(abs(propagators(FLATTEST, float(momentum), 60)[0][-1]), claimed=claimed**60)

    found = check("lesson-7/faster-than-exact")
    print(found.verdict, "--", found.reason)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What breaks when an assumption is dropped

    - **Strong convexity.** With $\mu = 0$ no rate below 1 can be certified; $V$ still decreases, and the certificate becomes
      one of sublinear convergence, which this toolkit does not write.
    - **Smoothness.** One kink and the interpolation inequalities are false: the program has no solution, or a solution that
      proves nothing.
    - **Exact arithmetic.** A matrix whose least eigenvalue is $-10^{-9}$ passes every numerical test of a solver. It fails here,
      which is the point.

    ## Literature

    - L. Lessard, B. Recht, A. Packard: heavy ball and integral quadratic constraints (see lesson 1). Rates from semidefinite
      programs.
    - A. Taylor, J. Hendrickx, F. Glineur: Smooth strongly convex interpolation and exact worst-case performance of first-order
      methods. Mathematical Programming 161, 2017. The inequalities of smooth losses, and that there are no others.
    - A. Taylor, B. Van Scoy, L. Lessard: Lyapunov functions for first-order methods: tight automated convergence guarantees.
      ICML 2018. Lyapunov functions with function values.
    """)
    return


if __name__ == "__main__":
    app.run()

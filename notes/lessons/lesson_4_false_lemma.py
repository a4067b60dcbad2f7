"""Lesson 4: a false lemma, found by search and checked by hand."""

import marimo

app = marimo.App(app_title="A false lemma")

with app.setup(hide_code=True):
    from fractions import Fraction
    from itertools import pairwise

    import marimo as mo
    import numpy as np

    from clusterproof import check
    from clusterproof.theory.exact import exact_path
    from live import BLACK, BLUE, VERMILLION, label_axes, number, panels, sliders

    SLIDERS = {
        "momentum": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.66, 0.7, 0.8, 0.9],
        "share": [0.1, 0.2, 0.3, 0.4, 0.5],
    }


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    # Lesson 4. A false lemma, found by search and checked by hand

    **The question.** A paper states that the error decreases in *every* round. Momentum is known to overshoot. Can both be true?

    ## The statement

    Lemma 2 of CFL-MGD: with the step $\eta = 1/L$ and a momentum $\beta$, with probability at least $1 - P\lambda_5$,
    in every round and for every cluster $p$

    $$
    \|\chi_p^{t+1} - \chi_p^*\| \le \left(1 - \frac{l \mu}{8 L}\right) \|\chi_p^t - \chi_p^*\| + \rho_0 ,
    $$

    where $\chi_p^t$ is the model of cluster $p$ after $t$ rounds and $\chi_p^*$ its optimum, $l$ is the share of the smallest of
    the $P$ clusters, $\lambda_5$ a failure probability that the noise terms depend on, and $\rho_0$ collects these terms and the
    constant $c_4 l$ with $c_4 = 1/4$. With exact losses and gradients the noise terms vanish, $\rho_0 = l/4$, and there is
    nothing random: the inequality is to hold for certain, provided that its printed probability is positive. As
    $\lambda_5 \ge 4 e^{-lm/8}$ for $m$ clients, whatever the noise, two clusters need $8 e^{-lm/8} < 1$: 17 clients in the smaller one.

    The hypotheses, with $\Delta$ the least distance of two clusters' optima:

    1. *Smoothness.* The expected loss of every cluster is $L$-smooth: its curvatures are at most $L$.
    2. *Strong convexity.* It is $\mu$-strongly convex: its curvatures are at least $\mu > 0$.
    3. *Boundedness.* The loss and the gradient of one sample have variances of at most $\sigma^2$ and $v^2$, at all models.
    4. *Initialisation.* Every model starts within $\frac14 \sqrt{\mu/L}\,\Delta$ of its optimum; the number of samples is at least a
       multiple of $P \sigma^2 / (\mu^2 \Delta^4)$; and the optima have norms of at most about 1.
    5. *Unbiasedness.* The gradients that clients send are unbiased.

    The paper prints no range of $\beta$; terms of $\rho_0$ are divided by $1 - \beta$, so that $0 \le \beta < 1$ is
    meant. It also supposes $lmn' \gtrsim d$, for $m$ clients with $n'$ samples each and $d$ parameters. Here all clients take
    part in every round (*full participation*), and the first round has no momentum yet: the model starts from rest, $\chi_p^{-1} = \chi_p^0$.

    ## Search before you prove

    To the toolkit a claim is data: quantities with their ranges, and two sides that are compared. It tries the instances
    that the claim names, searches the ranges, and simplifies what it finds. The instance below was found by such a search; the
    claim names it, so that every seed gives this one.
    """)
    return


@app.cell
def _():
    verdict = check("cfl-mgd/lemma-2")
    print(verdict.verdict, "--", verdict.reason)
    print(verdict.counterexample)
    return (verdict,)


@app.cell(hide_code=True)
def _(verdict):
    share, beta = (
        Fraction(verdict.counterexample["own"], verdict.counterexample["clients"]),
        Fraction(verdict.counterexample["momentum"]),
    )
    e = exact_path(share, beta, Fraction(verdict.counterexample["start"]), 3)
    allowed = (1 - share / 8) * abs(e[2]) + share / 4
    assert abs(e[3]) > allowed
    mo.md(
        rf"""
    `check` evaluates a claim of the catalogue and returns its verdict. The instance that breaks the lemma has 34 `clients`, of
    which 17 are in the model's cluster (`own`); the `start` is the distance from the optimum, and after `round` 2 the next error exceeds the two terms on the right, $(1 - l/8) |e_2|$ and the constant.

    ## Proof sketch, by hand

    34 clients, 17 in each cluster, without noise. Those of cluster 1 have the loss $(\chi - 1)^2/2$, the others $(\chi + 1)^2/2$. So $\mu = L = 1$, the optima are $\pm 1$,
    $\Delta = 2$, and $l = 1/2$. Start model 1 at $1/2$: its distance from the optimum, $1/2 = \Delta/(4\sqrt{{L/\mu}})$, is what the paper's Assumption 4 allows. Take momentum $\beta = {beta}$ and the paper's
    step $\eta = 1/L = 1$. The gradient of model 1 is minus its error $e_t = 1 - \chi_t$, and the server divides the sum of 17
    gradients by all 34 clients, so that a step takes half of the error away. With momentum from rest, $e_{{-1}} = e_0$:

    - $e_0 = {e[0]}$,
    - $e_1 = e_0 - e_0/2 = {e[1]}$,
    - $e_2 = e_1 - e_1/2 + \beta (e_1 - e_0) = {e[2]}$,
    - $e_3 = e_2 - e_2/2 + \beta (e_2 - e_1) = {e[3]}$.

    Now $|e_3| = {abs(e[3])} \approx$ {float(abs(e[3])):.4f}, but $(1 - l/8) |e_2| + l/4 = {allowed} \approx$ {float(allowed):.4f}. The lemma is false,
    and a pencil shows it. Two clients, one in each cluster, have the same errors; but there $1 - P\lambda_5 < 0$, and the lemma claims nothing.

    **Another constant does not help.** The quarter is the appendix's $c_4$. Whatever $c_4$ is, take $\beta = 9/10$ and a large
    cluster, $l_1 = 1 - l$, with $17/l$ clients in all. Then $|e_1| = l/2$ and $|e_2| = 9/20 - (9/10 + l)\,l/2$. As $l$ decreases, $|e_2|$
    tends to $9/20$, but what the lemma allows, $(1 - l/8)\,l/2 + c_4 l$, tends to 0.

    **Where the proof breaks.** The momentum term is bounded by its fluctuation, as if its mean were zero, and a *lower*
    bound on the number of rightly assigned clients is used as an upper one (`clusterproof show cfl-mgd/lemma-2`). The error
    can overshoot: a step that is too long is followed by one in the wrong direction.

    ## In code

    `exact_path` returns the errors $e_0, e_1, \dots$ of this recursion as fractions, for a share $l$, a momentum and a start.
    """
    )
    return


@app.function
def excess(momentum, share, rounds=30):
    """Errors of the model of a cluster with this share, and what Lemma 2 allows each round."""
    path = exact_path(Fraction(share), Fraction(momentum), Fraction(1, 2), rounds)
    errors = np.abs([float(e) for e in path])
    smallest = min(share, 1 - share)
    allowed = (1 - smallest / 8) * errors[:-1] + smallest / 4
    return errors, allowed


@app.function(hide_code=True)
def broken_rounds(momentum, share):
    """Rounds whose error exceeds what Lemma 2 allows after the round before."""
    errors, allowed = excess(momentum, share)
    return 1 + np.flatnonzero(errors[1:] > allowed + 1e-15)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## The figure

    The error of one noise-free cluster by round, next to the bound of the lemma after the previous round. Rounds that break
    it have an orange cross, called *broken*. Near which momentum does the first cross appear at $l = 1/2$? And at a smaller share,
    where the step $l$ is shorter? The answers below are computed in steps of 0.01, which are finer than the slider's.
    """)
    return


@app.function(hide_code=True)
def picture(momentum, share):
    """Draw the errors of a run and what the lemma allows."""
    errors, allowed = excess(momentum, share)
    rounds = np.arange(len(errors))
    broken = broken_rounds(momentum, share)
    figure, (panel,) = panels(1)
    panel.plot(rounds, errors, color=BLUE, marker="o", markersize=3, label="error of the model")
    panel.plot(rounds[1:], allowed, color=BLACK, linestyle="--", label="allowed by Lemma 2")
    panel.plot(
        broken, errors[broken], color=VERMILLION, marker="X", markersize=9, linestyle="none", label="broken"
    )
    panel.set_ylim(0, 0.55)
    label_axes(panel, "Lemma 2, round by round", "round", "distance from the optimum")
    panel.legend(fontsize=8, frameon=False)
    return figure


@app.function(hide_code=True)
def describe(momentum, share):
    """State which rounds break the lemma."""
    errors, broken = excess(momentum, share)[0], broken_rounds(momentum, share)
    which = f"round{'s' * (len(broken) > 1)} {', '.join(map(str, broken))}" if len(broken) else "no round"
    sentence = f"{which} break{'s' * (len(broken) < 2)} Lemma 2"
    return f"At momentum {momentum:g} and share {share:g}, {sentence}; the error after 30 rounds is {number(errors[-1])}."


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
    first = {
        share: next(b for b in np.arange(0, 1, 0.01) if len(broken_rounds(b, share)))
        for share in (0.1, 0.3, 0.5)
    }
    assert first[0.5] < first[0.3] < first[0.1]
    mo.md(rf"""
    **Answers.** At $l = 1/2$ the least momentum that breaks the lemma, to two digits, is {first[0.5]:.2f}; at the smaller shares 0.3 and 0.1 it is
    {first[0.3]:.2f} and {first[0.1]:.2f}. A shorter step needs more momentum to overshoot.

    ## What is true instead

    Lemma H (`clusterproof show cfl-mgd/lemma-h`): without noise $|e_t| \le |\Pi_t(a)| |e_0|$ mode by mode, with the
    $\Pi_t(a)$ of lesson 1 at $a = \eta l_p \lambda$ in closed form. It decays, but not in every round, and it may leave
    the ball that it started in by a factor of up to $2/\sqrt3$. The region of momentum and condition number in which
    every round contracts is drawn by `clusterproof figures contraction-map --out figures-out`.

    ## Exercises

    **1. By hand.** Drop the constant: with $\rho_0 = 0$ and $l = 1/2$, which momentum is the least on the grid
    $0, 1/20, 2/20, \dots$ for which *some* round of the first 13 fails to contract by $15/16$? Guess before you search.

    <details markdown="1"><summary>Solution</summary>

    The least is $\beta = 3/20$, and round 5 is the one that fails: $|e_4| = 17/32000$ but $|e_5| = 2081/640000$, which is six times
    as much. The search is the next cell; `pairwise` goes through the pairs $(e_t, e_{{t+1}})$. Long before the path overshoots
    visibly, one round near the sign change is slower than 15/16 allows, because there the round before was very good.

    </details>
    """)
    return


@app.cell(hide_code=True)
def _():
    def contracts(momentum):
        path = exact_path(Fraction(1, 2), momentum, Fraction(1, 2), 13)
        return all(abs(after) <= Fraction(15, 16) * abs(before) for before, after in pairwise(path))

    momenta = [Fraction(k, 20) for k in range(20)]
    least = next(beta for beta in momenta if not contracts(beta))
    fifth = exact_path(Fraction(1, 2), least, Fraction(1, 2), 5)
    assert (least, *map(abs, fifth[4:])) == (Fraction(3, 20), Fraction(17, 32000), Fraction(2081, 640000))
    print("least momentum that fails:", least)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    **2. State it and falsify it.** "Two rounds together always contract: $|e_{t+2}| \le (1 - l/8)^2 |e_t|$." State it as a
    claim whose signature is the space of instances, and let the toolkit search.

    <details markdown="1"><summary>Solution</summary>

    The next cell states it. A statement is a typed function: its arguments say what is searched, its value compares the two
    sides, and `check`, with the claim's name, searches for the simplest instance that breaks it.

    </details>
    """)
    return


@app.cell(hide_code=True)
def _():
    from typing import Annotated

    from clusterproof.theorem import at_most, choice, claim, integers, rationals

    Momentum = Annotated[Fraction, rationals(0, Fraction(9, 10), 10)]
    Share = Annotated[Fraction, choice(Fraction(1, 2), Fraction(1, 4), Fraction(1, 10))]
    Round = Annotated[int, integers(0, 8)]

    @claim("lesson-4/two-rounds")
    def two_rounds(momentum: Momentum, share: Share, round_: Round):
        """Two rounds together contract twice."""
        path = exact_path(share, momentum, Fraction(1, 2), round_ + 2)
        return at_most(abs(path[-1]), contraction=(1 - share / 8) ** 2 * abs(path[-3]))

    found = check("lesson-4/two-rounds")
    print(found.verdict, "--", found.reason)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What breaks when an assumption is dropped

    - **Exact gradients.** With noise, $\rho_0$ gains noise terms and the lemma may hold in a given run for the wrong reason.
      Its constant $l/4$ alone already hides an overshoot of up to $l/4$ in every round.
    - **Momentum.** At $\beta = 0$ nothing overshoots: the lemma is then the textbook contraction with step $\eta l$, and true.
    - **One dimension.** With several eigenvalues each has its own path; that one of them overshoots is enough.

    ## Literature

    - X. Zhao et al.: CFL-MGD (see lesson 0). Lemma 2 is (31); its proof is (32)–(38) with the appendix's (A18)–(A37).
    - B. T. Polyak: heavy ball (see lesson 1). That its error need not decrease in every round is well known.
    - D. R. MacIver, Z. Hatfield-Dodds et al.: Hypothesis: a new approach to property-based testing. Journal of Open Source
      Software 4, 2019. The search, and the reduction of a counterexample to its simplest form.
    """)
    return


if __name__ == "__main__":
    app.run()

"""Lesson 9: from proof to network, which hypotheses a network meets and what survives."""

import marimo

app = marimo.App(app_title="A theorem meets a network")

with app.setup(hide_code=True):
    from collections import Counter
    from math import erfc, sqrt

    import marimo as mo
    import numpy as np

    from live import BLACK, BLUE, ORANGE, VERMILLION, label_axes, number, panels, sliders
    from results import DIGITS_DIAGNOSIS, MNIST_DIAGNOSIS, read_hypotheses

    SLIDERS = {"gap": [0.1, 0.3, 0.5, 1.0, 2.0], "samples": [1, 5, 20, 100]}


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    # Lesson 9. A theorem meets a network

    **The question.** CFL-MGD finds the clusters when it trains a network, and its paper has a theorem. Does the theorem explain
    the run?

    ## The statement

    Write every hypothesis of the analysis as an inequality with a number on each side: the step $\eta L \le 1$, strong
    convexity $\mu > 0$, the start within $\tfrac14 \sqrt{\mu/L}\, \Delta$ of optima that are $\Delta$ apart and of norm
    about 1, fresh samples for every step, and enough data, $l m n' \gtrsim d$: the smallest cluster's $l m$ clients with
    $n'$ samples each have more than the model's $d$ parameters. A hypothesis *fails on a run* if no values of $\mu$ and
    $L$ that the measurements allow meet it, *holds* if all do, and is *not decidable* otherwise. That is a statement
    about one run, and it can be measured.

    ## Proof sketch

    Smoothness and strong convexity concern all models and cannot be verified for a network. At the *measured* models Lanczos on
    Hessian-vector products gives both ends of the spectrum with error bars. $\Delta$ and the distances are those of the last
    models, in place of the unknown optima. The loss's variance and the gap between the losses of the cluster's model and another
    model are sampled. From the gap and the variance alone, **Cantelli's inequality** bounds the probability of a wrong choice:

    $$
    P(\text{wrong}) \le \sum_{q \ne p} \frac{V_q}{V_q + n' g_q^2} ,
    $$

    with $g_q$ the gap of the mean losses and $V_q$ the variance of one sample's difference. No convexity is used.

    ## In code

    A perceptron with eight hidden units on scikit-learn's digits, four rotations, was diagnosed by

    `clusterproof train --data digits --partition rotations --clusters 4 --clients 16 --samples 50 --network mlp --hidden 8
    --algorithm cfl-mgd --averaging model --momentum 0.9 --models 4 --step-size 0.1 --local-steps 5 --rounds 12
    --evaluate-every 12 --seed 1 --diagnose --out digits-run`

    Its `diagnosis.json` is stored with this lesson.
    """)
    return


@app.cell
def _():
    found = read_hypotheses(DIGITS_DIAGNOSIS)
    answers = Counter(hypothesis["answer"] for hypothesis in found.values())
    return answers, found


@app.cell(hide_code=True)
def _(answers, found):
    meanings = {
        "Section 5 (algorithm)": "gradients are averaged, divided by $m$, and all clients take part",
        "Assumption 2 (strong convexity)": "the curvature is at least one $\\mu > 0$, at all models",
        "Assumption 4 (initialisation)": "every start is within $\\frac14\\sqrt{\\mu/L}\\,\\Delta$ of its optimum",
        "Assumption 4 (samples)": "$n'$ exceeds a multiple of $P\\sigma^2/(\\mu^2\\Delta^4)$",
        "Assumption 4 (norm of the optima)": "the optima have norm about 1",
        "Assumption 5 (unbiasedness, by resampling)": "every choice and every step uses fresh samples",
        "Section 5 (data and dimension)": "a cluster has more samples in a round than the model has parameters",
        "Lemma 1 (28)": "another cluster's model has a larger loss, by $\\mu\\Delta^2/4$",
        "Lemma 1 (23)": "a client chooses wrongly no more often than Chebyshev's inequality allows",
        "Lemma 1 (ours, without convexity)": "... no more often than Cantelli's inequality allows, from the measured gap",
        "Theorem 1 (step size)": "$\\eta L \\le 1$",
        "Section 5 (stability of momentum)": "the heavy ball is stable along the steepest direction",
        "Theorem 1 (A38)": "$\\rho_0$ is as small as lesson 5 shows that it cannot be",
        "Theorems A and D (ours), basin": "no model leaves the basin of lesson 3",
    }
    assert set(meanings) == set(found)
    rows = "\n".join(
        f"    | {name} | {meaning} | {found[name]['answer']} |" for name, meaning in meanings.items()
    )
    steps = found["Theorem 1 (step size)"]
    assert steps["answer"] == "holds"
    assert found["Assumption 2 (strong convexity)"]["answer"] == "fails"
    mo.md(
        rf"""
    | hypothesis | what it asks for | on this run |
    | --- | --- | --- |
{rows}

    Of {len(found)} hypotheses {answers["holds"]} hold, {answers["fails"]} fail and {answers["not decidable"]} cannot be decided. The
    step is within its limit, as $\eta L$ is {steps["numbers"]["at_most"]:.2f} at most. Strong convexity fails, because there is a
    direction of negative curvature. So the theorem does not explain this run.

    ## The figure

    How far is Cantelli's inequality from the truth? Over the gap in standard deviations of one sample's difference: the bound;
    the two-point law that attains it with one sample; and a Gaussian. At which gap does one sample choose rightly nine times in
    ten, for *every* law with this variance?
    """
    )
    return


@app.function(hide_code=True)
def bounds(gap, samples):
    """Cantelli's bound on a wrong choice, and the Gaussian's probability, for a gap in standard deviations."""
    return 1 / (1 + samples * gap**2), erfc(gap * sqrt(samples / 2)) / 2


@app.function(hide_code=True)
def picture(gap, samples):
    """Draw the bound over the gap, and the extremal law with the Gaussian."""
    figure, (left, right) = panels(2)
    grid = np.linspace(0, 3, 200)
    left.semilogy(
        grid, [bounds(g, samples)[0] for g in grid], color=BLACK, linestyle="--", label="Cantelli, any law"
    )
    left.semilogy(
        grid, np.maximum([bounds(g, samples)[1] for g in grid], 1e-12), color=BLUE, label="Gaussian, exact"
    )
    left.axvline(gap, color=ORANGE, linestyle=":")
    left.set_ylim(1e-6, 1)
    label_axes(left, f"a  Wrong choices, n′ = {samples}", "gap, in standard deviations", "probability")
    left.legend(fontsize=7, frameon=False)
    wrong = bounds(gap, 1)[0]
    points, masses = [0.0, gap + 1 / gap], [wrong, 1 - wrong]
    right.bar(points, masses, width=0.15, color=VERMILLION, label="law that attains the bound, n′ = 1")
    x = np.linspace(gap - 3, gap + 3, 200)
    right.plot(x, np.exp(-((x - gap) ** 2) / 2) / sqrt(2 * np.pi), color=BLUE, label="Gaussian")
    right.vlines(0, 0, 1, color=BLACK, linewidth=0.8)  # below the legend
    label_axes(
        right,
        "b  Other model's loss less the own one's",
        "difference; not positive: wrong",
        "mass or density",
    )
    right.set_ylim(0, 1.3)  # room for the legend above the highest bar
    right.legend(fontsize=7, frameon=False, loc="upper right")
    return figure


@app.function(hide_code=True)
def describe(gap, samples):
    """Say both probabilities."""
    bound, gaussian = bounds(gap, samples)
    return (
        f"At a gap of {gap:g} standard deviations and {samples} samples Cantelli allows {number(bound, 3)} wrong choices "
        f"a client; a Gaussian makes {number(gaussian)}."
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
    mo.md(rf"""
    **Answers.** At a gap of 3 standard deviations: $1/(1 + 3^2) = 1/10$. A Gaussian needs only 1.28 of them. At 20 samples and a
    gap of 0.5 Cantelli's inequality allows {bounds(0.5, 20)[0]:.2f} wrong choices a client, and a Gaussian makes
    {bounds(0.5, 20)[1]:.3f}. The price of assuming nothing but a variance is large, but finite.
    """)
    return


@app.cell(hide_code=True)
def _():
    on_mnist = read_hypotheses(MNIST_DIAGNOSIS)
    asked = {
        "start": "Assumption 4 (initialisation)",
        "norm": "Assumption 4 (norm of the optima)",
        "fresh": "Assumption 5 (unbiasedness, by resampling)",
        "convexity": "Assumption 2 (strong convexity)",
        "step": "Theorem 1 (step size)",
        "gap": "Lemma 1 (28)",
        "printed": "Lemma 1 (23)",
        "ours": "Lemma 1 (ours, without convexity)",
    }
    # what the sentences below say in words
    answers_there = {short: on_mnist[name]["answer"] for short, name in asked.items()}
    expected = ("fails", "fails", "fails", "not decidable", "holds", "holds", "vacuous", "holds")
    assert answers_there == dict(zip(asked, expected, strict=True))
    there = {short: on_mnist[name]["numbers"] for short, name in asked.items()}
    assert there["ours"]["rate"] == 0
    needed = f"{there['fresh']['needed']:,}".replace(",", "\N{NO-BREAK SPACE}")  # each step, and each choice
    low, high = (
        f"{there['convexity'][end]:.2f}".replace("-", "\N{MINUS SIGN}") for end in ("at_least", "at_most")
    )
    tenth = {samples: 3 / sqrt(samples) for samples in (1, 100)}
    assert all(abs(bounds(gap, samples)[0] - 0.1) < 1e-12 for samples, gap in tenth.items())
    mo.md(rf"""
    ## The paper's own setting

    `clusterproof data fetch mnist` downloads the images, and then

    `clusterproof train --data mnist --partition rotations --clusters 4 --clients 2400 --samples 100 --network mlp --hidden 200
    --algorithm cfl-mgd --averaging model --momentum 0.9 --models 4 --step-size 0.1 --local-steps 10 --participation 0.1 --rounds
    60 --evaluate-every 10 --test-assignment test-loss --seed 1 --diagnose --out mnist-run`

    writes another `diagnosis.json`, which is stored, too. These numbers are from it; `clusterproof figures accuracy-cfl-mgd
    --out figures-out` draws the accuracy in this setting.

    | asked | measured |
    | --- | --- |
    | start within $\sqrt{{\mu/L}} \Delta/4 \le {there["start"]["separation"] / 4:.1f}$ | {there["start"]["start_distance"]:.1f} away |
    | optima of norm about 1 | {there["norm"]["norm"]:.1f} |
    | fresh samples for every step and choice: {needed} a client | {there["fresh"]["held"]}, used again and again |
    | $\mu > 0$ | smallest eigenvalue between {low} and {high}: not decidable |
    | $\eta L \le 1$ | {there["step"]["at_most"]:.2f} at most: holds |

    Every cluster's own model is the best for it, by {there["gap"]["gap"]:.1f} or more in the loss. Cantelli allows
    {100 * there["ours"]["bound"]:.1f} % of the clients to choose wrongly; of those who were asked none does. Lemma 1's bound, from
    $\sigma^2$, $\mu$ and $\Delta^4$, is {there["printed"]["bound"]:.0f} at the very least: vacuous.

    **The lesson.** The clusters are found because losses at the wrong model are *far* larger, not because the loss is strongly
    convex near its optimum. A bound in terms of the measured gap says so; the printed one cannot.

    ## Exercises

    **1. By hand.** Which gap, in standard deviations of one sample, makes Cantelli's bound 1/10 at $n' = 1$? And at $n' = 100$?

    <details markdown="1"><summary>Solution</summary>

    $1/(1 + n' g^2) = 1/10$ gives $g = 3/\sqrt{{n'}}$: {tenth[1]:g} and {tenth[100]:g}.

    </details>

    **2. State it and falsify it.** "A gap of one standard deviation is enough for nine right choices in ten, whatever the law."
    State it for two-valued laws: the difference is $\text{{gap}} + \sqrt{{(1-p)/p}}$ or $\text{{gap}} - \sqrt{{p/(1-p)}}$.

    <details markdown="1"><summary>Solution</summary>

    The larger value has probability $p$, so that the mean is the gap and the variance 1. The choice is wrong with probability
    $1 - p$ if the smaller value is not positive. The search finds the simplest $p$.

    </details>
    """)
    return


@app.cell(hide_code=True)
def _():
    from fractions import Fraction
    from typing import Annotated

    from clusterproof.theorem import at_most, claim, rationals
    from clusterproof.theory import check

    Probability = Annotated[Fraction, rationals(Fraction(1, 10), Fraction(9, 10), 10)]

    @claim("lesson-9/one-deviation")
    def one_deviation(larger: Probability):
        """One standard deviation is enough for nine right choices in ten."""
        wrong = 1 - larger if larger / (1 - larger) >= 1 else Fraction(0)
        return at_most(wrong, tenth=Fraction(1, 10))

    verdict = check("lesson-9/one-deviation")
    print(verdict.verdict, "--", verdict.reason)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What breaks when an assumption is dropped

    - **Convexity.** Everything that contains $1/\mu$. What survives: the step's limit, and the choice of clusters by the gap.
    - **Fresh samples.** Given the choice, the gradient is no longer unbiased. On a network with more parameters than samples
      nothing in the analysis replaces that.
    - **Clients of one cluster that are alike.** On a partition with quantity skew or label skew within clusters the gap may vanish
      for some clients, and Cantelli's inequality says so before training does.

    ## Literature

    - X. Zhao et al.: CFL-MGD (see lesson 0). Assumptions 1–5 and Section 5; the experiment on MNIST is in Section 6.
    - S. Boucheron, G. Lugosi, P. Massart: Concentration inequalities. Oxford University Press, 2013. Cantelli's inequality.
    - B. Ghorbani, S. Krishnan, Y. Xiao: An investigation into neural net optimization via Hessian eigenvalue density. ICML 2019.
      Lanczos' method on the Hessian of a network.
    - Y. LeCun, L. Bottou, Y. Bengio, P. Haffner: Gradient-based learning applied to document recognition. Proceedings of the IEEE
      86, 1998. MNIST.
    """)
    return


if __name__ == "__main__":
    app.run()

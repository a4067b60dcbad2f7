"""Lesson 8: fusion penalties and clustering by updates."""

import marimo

app = marimo.App(app_title="Fusion penalties and clustering by updates")

with app.setup(hide_code=True):
    from functools import cache

    import marimo as mo
    import numpy as np

    from clusterproof import FPFC, QuadraticMixture, RegressionMixture, SoFL, check, run
    from clusterproof.algorithms import SCAD, GroupL1, best_matching_units
    from clusterproof.figures import after_fedavg
    from live import BLACK, BLUE, VERMILLION, label_axes, panels, sliders

    SLIDERS = {
        "strength": [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5],
        "separation": [2.0, 3.0, 4.0, 5.0, 6.0],
    }


@app.cell(hide_code=True)
def _():
    verdict = check("fpfc/window", evaluations=30).verdict
    assert verdict == "consistent"
    mo.md(rf"""
    # Lesson 8. Fusion penalties and clustering by updates

    **The question.** Instead of $P$ models and a choice, give every client a separate model and pull the models together. How
    strong may the pull be, so that exactly the clusters are recovered? And can one see the clusters in the
    *updates* alone?

    ## The statement

    FPFC gives client $i$ of $m$, with loss $f_i$, a separate model $w_i$, and minimises $\sum_i f_i(w_i) +
    \frac1{{2m}} \sum_{{i,j}} g(\|w_i - w_j\|)$. The penalty $g$ is SCAD: its derivative is $\lambda$ up to a distance of
    $\lambda$, then falls to 0, and $g$ is constant from $a\lambda$ on. Let cluster $c$ have $n_c$ of the clients, and let
    the clusters' own minimisers be $\Delta$ apart or more. If

    $$
    \max_c \frac{{m}}{{n_c}} \max_{{i, j \in c}} \|\nabla f_i - \nabla f_j\| \;\le\; \lambda \;<\; \frac{{\Delta}}{{a}}
    $$

    with the gradients at those minimisers, they are a stationary point: the clusters are the true ones and no model has a
    bias. These $\lambda$ are the *window*.
    The toolkit checks this under the name `fpfc/window`, and finds it {verdict} with its instances.
    """)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Proof sketch

    Within a cluster all models are equal, and the penalty has a kink there: its subdifferential is the ball of radius
    $\lambda$. The multiplier $v_{ij} = \tfrac{m}{n_c} (\nabla f_j - \nabla f_i)$ lies in it by the left inequality, and its mean
    cancels $\nabla f_i$, because the gradients of a cluster add to 0. Across clusters the models are more than $a\lambda$ apart, by
    the right one, and there the penalty is constant: it pulls no more.

    With a convex penalty, such as $g(t) = \lambda t$, the last step fails. All pairs keep pulling, and the groups' models are
    biased towards each other by up to $\lambda$ times the share of the others.

    ## In code
    """)
    return


@app.function
@cache
def fused(strength, separation, penalty="scad", rounds=150):
    """Run FPFC on eight scalar clients, four around each of two centres; give models and groups."""
    offsets = np.array([-0.15, -0.05, 0.05, 0.15])
    centers = np.concatenate([offsets, separation + offsets])[:, None]
    task = QuadraticMixture(hessians=np.ones((8, 1, 1)), centers=centers, labels=np.repeat([0, 1], 4))
    algorithm = FPFC(step_size=0.5, penalty=penalty, strength=strength, threshold=0.05)
    start = np.full((1, 1), separation / 2)
    trace = run(algorithm, task, rounds=rounds, initial=start)
    return np.asarray(trace.models)[-1, :, 0], trace.assignments[-1], centers[:, 0]


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## The figure

    Left: both penalties at your strength, over the distance of two models. Right: where eight clients end, four with minimisers
    around 0 and four around $\Delta$. Below the window they stay apart; within it they fuse; beyond it, what happens? And what
    does the convex penalty do in the window?
    """)
    return


@app.function(hide_code=True)
def window(separation):
    """Ends of the window: clients' gradients at the optimum differ by 0.3, m / n_c = 2; a = 3.7."""
    return 2 * 0.3, separation / SCAD(strength=1.0).concavity


@app.function(hide_code=True)
def picture(strength, separation):
    """Draw the penalties, and where the clients end."""
    figure, (left, right) = panels(2)
    lengths = np.linspace(0, 5, 200)
    left.plot(lengths, SCAD(strength=strength).value(lengths), color=BLUE, label="SCAD")
    left.plot(
        lengths,
        GroupL1(strength=strength).value(lengths),
        color=VERMILLION,
        linestyle="--",
        label="group lasso",
    )
    left.axvline(separation, color=BLACK, linestyle=":", label="separation Δ")
    label_axes(left, "a  Penalty", "distance of two models", "g")
    left.legend(fontsize=7, frameon=False)
    for penalty, colour, marker, shift in (("scad", BLUE, "o", 0.12), ("l1", VERMILLION, "s", -0.12)):
        models, _, centers = fused(strength, separation, penalty)
        name = "SCAD" if penalty == "scad" else "group lasso"
        right.plot(models, np.arange(8) + shift, marker, color=colour, markersize=5, label=name)
    right.plot(centers, np.arange(8), "|", color=BLACK, markersize=14, label="own minimiser")
    label_axes(right, "b  Where the clients end", "model", "client")
    right.legend(fontsize=7, frameon=False, loc="center")
    return figure


@app.function(hide_code=True)
def describe(strength, separation):
    """State where the strength lies, and what both penalties do."""
    least, largest = window(separation)
    where = "below" if strength < least else "within" if strength < largest else "beyond"
    place = (
        f"{where} the window from {least:.2g} to {largest:.2g}"
        if least < largest
        else "in no window: it is empty"
    )
    said = []
    for penalty, name in (("scad", "SCAD"), ("l1", "the group lasso")):
        models, groups, _ = fused(strength, separation, penalty)
        bias = max(abs(models[:4].mean()), abs(models[4:].mean() - separation))
        said.append(f"{name} ends with {len(set(groups.tolist()))} groups and a bias of {bias:.2f}")
    return f"At separation {separation:g} the strength {strength:g} is {place}; {' and '.join(said)}."


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
    groups = {
        (penalty, strength): len(set(fused(strength, 4.0, penalty)[1].tolist()))
        for penalty, strength in (("scad", 0.2), ("scad", 0.7), ("scad", 1.5), ("l1", 0.7))
    }
    bias = {penalty: abs(fused(0.7, 4.0, penalty)[0][:4].mean()) for penalty in ("scad", "l1")}
    assert groups["scad", 0.2] > groups["scad", 0.7] == 2
    assert bias["scad"] < 0.01 < bias["l1"]
    mo.md(rf"""
    **Answers.** At $\Delta = 4$ the strength 0.2 is below the window, and SCAD leaves {groups["scad", 0.2]} groups; at 0.7 it finds the
    two clusters, without bias. Beyond the window nothing is promised; at 1.5 this run ends with {groups["scad", 1.5]} groups. The group
    lasso at 0.7 ends with {groups["l1", 0.7]} groups, whose models are {bias["l1"]:.2f} away from the right ones: it pulls at every distance.
    """)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## Clusters in the updates

    **CFL** trains one model until it rests, and then looks at the clients' updates. At rest they add to 0. With two clusters
    they pull in exactly opposite directions, cosine $-1$; with $P$ clusters at the corners of a simplex the cosine is
    $-1/(P-1)$, and the more clusters, the less the contrast (`clusterproof show cfl/stationary-cosine`).

    **GL-CFL** adds to the loss the cosine of a device's gradient with the *last move* of each model. A move is *minus* a step
    times the mean gradient. So the printed cosine is $-1$ for the device's own cluster, the least that there is: without noise
    it speaks against the right cluster and for any other. With the sign of the descent it speaks for it
    (`clusterproof show gradient-loss/equation-3-descent`).

    **SoFL** puts a self-organising map over the updates: a grid of vectors, of which the nearest one to an update and its
    neighbours on the grid move towards it. Clients of a cluster end at neurons near each other. Below, a letter is a cluster
    whose clients a neuron wins; a point is a neuron that wins no client.
    """)
    return


@app.function
def mapped(separation=2.0, grid=5):
    """Clusters, and the neuron that each of 60 clients wins on a self-organising map of their updates."""
    task = RegressionMixture.random(
        clusters=4, clients=60, dimension=10, separation=separation, noise=0.5, samples=100, seed=0
    )
    updates = after_fedavg(task, 0, "lesson-8", rounds=20, step_size=0.2, local_steps=5)
    sofl = SoFL(step_size=0.2, local_steps=5, grid=grid)
    neurons, vectors = sofl.train_map(updates, np.random.default_rng(0))
    return task.labels, best_matching_units(neurons, vectors)


@app.cell
def _():
    labels, neurons = mapped()
    cells = ["".join(sorted({"ABCD"[labels[i]] for i in np.flatnonzero(neurons == n)})) for n in range(25)]
    for row in range(5):
        print("  ".join(cell or "." for cell in cells[5 * row : 5 * row + 5]))
    return cells, neurons


@app.cell(hide_code=True)
def _(cells, neurons):
    mixed = [cell for cell in cells if len(cell) > 1]
    least, largest = window(4.0)
    assert 5 * least > largest
    mo.md(
        rf"""
    {len(set(neurons.tolist()))} neurons win clients, {len(mixed) or "none"} of them clients of two clusters. So the map tells
    the clusters apart and does not count them: SoFL clusters the winners once more, and chooses their number by an elbow. For
    regular simplices the curve of within-cluster sums *is* its chord, and there is no elbow (`clusterproof show
    sofl/elbow-below-chord`). `clusterproof figures similarity-matrices u-matrix winners-elbow --out figures-out` draws all
    three.

    ## Exercises

    **1. By hand.** Two clusters of four clients, gradients within a cluster at most 0.3 apart, $\Delta = 4$, $a = 3.7$. For which
    $\lambda$ does the theorem promise the true clusters? And with ten clusters of four?

    <details markdown="1"><summary>Solution</summary>

    $m/n_c = 2$: from {least:g} to $4/3.7 \approx {largest:.2f}$. With ten clusters $m/n_c = 10$: from {5 * least:g} on, and the
    window is empty.

    </details>

    **2. State it and falsify it.** "At rest the updates of clients in different clusters point in opposite directions." State
    it for $P$ clusters at the corners of a simplex as: their cosine is at most $-0.9$.

    <details markdown="1"><summary>Solution</summary>

    `simplex` gives the corners; at the mean model each gradient points at its corner. Two clusters meet the claim; the search
    finds three.

    </details>
    """
    )
    return


@app.cell(hide_code=True)
def _():
    from typing import Annotated

    from clusterproof.theorem import at_most, claim, integers
    from clusterproof.theory.papers.baselines import simplex, stationary_cosines

    Clusters = Annotated[int, integers(2, 6)]

    @claim("lesson-8/opposite-updates")
    def opposite_updates(clusters: Clusters):
        """Updates of different clusters are opposite at rest."""
        task = QuadraticMixture(
            hessians=np.broadcast_to(np.eye(clusters), (clusters,) * 3).copy(),
            centers=simplex(clusters),
            labels=np.arange(clusters),
        )
        return at_most(1 + stationary_cosines(task, 0.5, 1)[0, 1], opposite=0.1)

    found = check("lesson-8/opposite-updates")
    print(found.verdict, "--", found.reason)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What breaks when an assumption is dropped

    - **Clusters that are far apart.** If $\Delta < a\lambda$, clusters still pull at each other, and SCAD is biased like any
      convex penalty. If the window is empty, no strength does both jobs.
    - **Rest.** CFL's cosines are exact only where the pooled model rests. Early updates of clients with different Hessians may
      have any cosine.
    - **Distinct starts.** GL-CFL's sign matters less where the loss already tells the clusters apart: then its weight only
      slows it down.

    ## Literature

    - X. Yu, Z. Liu, Y. Sun, W. Wang: Clustered federated learning for heterogeneous data (student abstract). FPFC.
    - J. Fan, R. Li: Variable selection via nonconcave penalized likelihood and its oracle properties. Journal of the American
      Statistical Association 96, 2001. SCAD, with $a = 3.7$.
    - F. Sattler, K.-R. Müller, W. Samek: Clustered federated learning: model-agnostic distributed multitask optimization under
      privacy constraints. IEEE Transactions on Neural Networks and Learning Systems 32, 2021. CFL, and the cosines at rest.
    - L. Lin, M. Chen, Z. Yang, Y. Wu, Y. Liu: A joint gradient and loss based clustered federated learning design.
      arXiv:2311.13665, 2023. GL-CFL; the cosine is in (3).
    - J. Zhang, Z. Qiao: SoFL: clustered federated learning based on dual clustering for heterogeneous data. Electronics 13, 3682,
      2024. T. Kohonen: Self-organized formation of topologically correct feature maps. Biological Cybernetics 43, 1982.
    """)
    return


if __name__ == "__main__":
    app.run()

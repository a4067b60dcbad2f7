"""Lesson 0: clients, rounds, federated averaging, clusters, IFCA and CFL-MGD."""

import marimo

app = marimo.App(app_title="Clients, rounds and clusters")

with app.setup(hide_code=True):
    from functools import cache

    import marimo as mo
    import numpy as np

    from clusterproof import CFLMGD, IFCA, FedAvg, QuadraticMixture, check, run
    from live import (
        BLACK,
        BLUE,
        GREEN,
        ORANGE,
        SKY,
        VERMILLION,
        label_axes,
        number,
        panels,
        sliders,
    )

    SLIDERS = {
        "separation": [0.5, 1.0, 1.5, 2.0, 2.5, 3.0],
        "momentum": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
    }


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    # Lesson 0. Clients, rounds and clusters

    **The question.** Twelve hospitals want to train a model together, but no patient's record may leave its hospital. How do
    they do it? And what if there are three kinds of hospital, so that no single model suits them all?

    This lesson defines the words that all others use.

    ## The setting

    **Clients and the server.** There are $m$ *clients*. Client $i$ has data of its own and a loss $\varphi_i(\chi)$, the mean
    over its data of the loss of one sample at the *model* $\chi$, a vector of $d$ numbers. A *server* can exchange vectors with
    the clients, but it never sees data.

    **Rounds.** Training proceeds in *rounds*. In each round the server sends models, the clients compute with them, and the
    server combines what the clients return. Communication is the expensive part, so that progress is counted in rounds.

    **Federated averaging.** In *FedAvg* there is one model. Every client starts from it, takes $H$ *local steps* of gradient
    descent, $\chi \leftarrow \chi - \eta \nabla\varphi_i(\chi)$ with *step size* $\eta$, and returns the result; the server
    averages the results. With $H = 1$ this is gradient descent on the mean loss $\frac1m \sum_i \varphi_i$.

    **Clusters.** Suppose that the clients belong to $P$ *clusters*, and that clients of one cluster have similar losses.
    Cluster $p$ has its own optimum $\chi_p^*$, the minimiser of its mean loss, and contains the share $l_p$ of the clients.
    The least distance of two optima is the *separation* $\Delta$. Neither the clients nor the server know which client belongs
    to which cluster.

    **IFCA**, the iterative federated clustering algorithm, keeps one model $\chi_p$ for each cluster. In every round

    1. the server sends all $P$ models to all clients;
    2. each client evaluates its loss at every model and chooses the model with the smallest loss;
    3. each client returns its choice and its gradient $g_i = \nabla\varphi_i(\chi_p)$ at the chosen model;
    4. the server takes a step with the model of each cluster, along the gradients of the clients $C_p$ that chose it:

    $$
    \chi_p \leftarrow \chi_p - \frac{\eta}{m} \sum_{i \in C_p} g_i .
    $$

    **CFL-MGD** is IFCA with momentum. The server also keeps a *momentum buffer* $u_p$ for each cluster, and step 4 becomes

    $$
    u_p \leftarrow \beta u_p + \frac1m \sum_{i \in C_p} g_i , \qquad \chi_p \leftarrow \chi_p - \eta u_p ,
    $$

    with the *momentum* $0 \le \beta < 1$; at $\beta = 0$ it is IFCA. This is *option I* of the paper. In *option II* clients
    take several local steps, and the server averages models and buffers (lesson 2).

    ## The statement

    Let all losses be quadratic with the same Hessian. Then the limit of FedAvg is the mean of all clients' minimisers. Its
    distance from the optimum of a cluster does not shrink with more rounds or more data: with two clusters it is $(1 - l_p)
    \Delta$.

    ## Proof sketch

    Let $A$ be the Hessian and $c_i$ the minimiser of client $i$, so that $\nabla\varphi_i(\chi) = A(\chi - c_i)$. A local step
    takes $\chi - c_i$ to $(I - \eta A)(\chi - c_i)$. After $H$ of them and the average, the server's model $\chi$ has become
    $\bar c + (I - \eta A)^H (\chi - \bar c)$, where $\bar c$ is the mean of the $c_i$. So $\bar c$ is the fixed point, and it
    attracts every start if $\eta$ is at most 1 over the largest eigenvalue of $A$. With two clusters, $\bar c = l_1 \chi_1^* +
    l_2 \chi_2^*$, which is $l_2\Delta = (1 - l_1)\Delta$ from $\chi_1^*$.

    ## In code

    The twelve hospitals as clients with quadratic losses in the plane, four in each of three clusters.
    """)
    return


@app.function
def hospitals(separation):
    """Twelve clients in three clusters, whose optima are the corners of a triangle with this side."""
    corners = (
        separation / np.sqrt(3) * np.array([[0.0, 1.0], [-np.sqrt(3) / 2, -0.5], [np.sqrt(3) / 2, -0.5]])
    )
    labels = np.repeat([0, 1, 2], 4)
    scatter = 0.08 * separation * np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    hessians = np.broadcast_to(np.diag([1.0, 0.5]), (12, 2, 2)).copy()
    return QuadraticMixture(
        hessians=hessians, centers=corners[labels] + np.tile(scatter, (3, 1)), labels=labels
    )


@app.function
@cache
def trained(separation, momentum, rounds=40):
    """Run the three algorithms; return the task, and each algorithm's models (rounds + 1, P, d) by name."""
    task = hospitals(separation)
    start = 0.4 * task.optima + 0.1 * separation * np.array([1.0, 0.3])
    algorithms = {
        "FedAvg": FedAvg(step_size=0.2, local_steps=5),
        "IFCA": IFCA(step_size=1.0),
        "CFL-MGD": CFLMGD(step_size=1.0, momentum=momentum),
    }
    models = {
        name: run(one, task, rounds=rounds, initial=start[:1] if name == "FedAvg" else start).models
        for name, one in algorithms.items()
    }
    return task, models


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## The figure

    Left: the plane of models. Small marks are the clients' own minimisers, crosses the optima of the clusters; lines are the
    paths of the models. Right: the distance of a cluster's optimum from the model that the cluster uses, in the mean over the
    clusters. Does FedAvg improve if the clusters are closer? What does momentum change, and what does it not change?
    """)
    return


@app.function(hide_code=True)
def distances(separation, momentum):
    """Mean distance of the clusters' optima from the models that they use, by algorithm and round."""
    task, models = trained(separation, momentum)
    return {name: np.linalg.norm(path - task.optima, axis=-1).mean(axis=-1) for name, path in models.items()}


@app.function(hide_code=True)
def picture(separation, momentum):
    """Draw the paths of the models, and their distance from the optima."""
    task, models = trained(separation, momentum)
    figure, (left, right) = panels(2)
    for cluster, (colour, marker) in enumerate(((ORANGE, "o"), (GREEN, "s"), (SKY, "^"))):
        members = task.centers[task.labels == cluster]
        left.plot(*members.T, marker, color=colour, markersize=4, label=f"clients of cluster {cluster + 1}")
    left.plot(*task.optima.T, "x", color=BLACK, markersize=7, label="optimum of a cluster")
    looks = {"FedAvg": (BLACK, "-."), "IFCA": (BLUE, "--"), "CFL-MGD": (VERMILLION, "-")}
    away = distances(separation, momentum)
    for name, (colour, style) in looks.items():
        for path in np.swapaxes(models[name], 0, 1):
            left.plot(*path.T, color=colour, linestyle=style, linewidth=1.2)
        right.semilogy(np.maximum(away[name], 1e-8), color=colour, linestyle=style, label=name)
    left.set_xlim(-0.8 * separation, 0.8 * separation)
    left.set_ylim(-0.5 * separation, 1.15 * separation)  # the legend is above the clients
    label_axes(left, "a  Models and clients", "first coordinate", "second coordinate")
    right.set_ylim(1e-6, 300)
    label_axes(right, "b  Distance from the optima", "round", "mean over the clusters")
    for panel in (left, right):
        panel.legend(fontsize=7, frameon=False, loc="upper right")
    return figure


@app.function(hide_code=True)
def describe(separation, momentum):
    """State how far the three algorithms end from the optima."""
    last = {name: values[-1] for name, values in distances(separation, momentum).items()}
    return (
        f"At separation {separation:g} and momentum {momentum:g} the distance after 40 rounds is {last['FedAvg']:.2f} with "
        f"FedAvg, {number(last['IFCA'])} with IFCA and {number(last['CFL-MGD'])} with CFL-MGD."
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
    last = {beta: distances(2.0, beta)["CFL-MGD"][-1] for beta in SLIDERS["momentum"]}
    one = {separation: distances(separation, 0.0)["FedAvg"][-1] for separation in (1.0, 2.0)}
    assert abs(one[2.0] - 2 * one[1.0]) < 1e-6
    fastest = min(last, key=last.get)
    assert 0 < fastest < 0.8
    mo.md(
        rf"""
    **Answers.** FedAvg ends at the centre of the triangle. Its distance from the optima is {one[2.0] / 2:.2f} times the
    separation, so that it improves with closer clusters, but never with more rounds. Momentum changes the speed and not the
    limit: at separation 2 the distance after 40 rounds is {number(last[0.0])} without momentum and {number(last[fastest])}
    at $\beta = {fastest:g}$, but {number(last[0.8])} at $\beta = 0.8$, where the models overshoot. Lesson 1 says which momentum is the best,
    lesson 2 what becomes of option II, and lesson 3 from which starts the clients choose the right model.

    ## Exercises

    **1. By hand.** Nine of twelve clients are in one cluster and three in the other; all losses have the same Hessian, and the
    optima are 2 apart. Where does FedAvg end, and which cluster pays?

    <details markdown="1"><summary>Solution</summary>

    At $\bar c = \tfrac34 \chi_1^* + \tfrac14 \chi_2^*$: 0.5 from the optimum of the large cluster and 1.5 from that of the
    small one. The small cluster pays.

    </details>

    **2. State it and falsify it.** "One model is a fair compromise: no cluster's optimum is farther from it than half of the
    separation." State it for two clusters with $k$ of six clients in the first, and let the toolkit find the simplest $k$ that
    breaks it.

    <details markdown="1"><summary>Solution</summary>

    The next cell states it: the signature is the space of instances, and the value compares the two sides.

    </details>
    """
    )
    return


@app.cell(hide_code=True)
def _():
    from fractions import Fraction
    from typing import Annotated

    from clusterproof.theorem import at_most, claim, integers

    Members = Annotated[int, integers(1, 5)]

    @claim("lesson-0/fair-compromise")
    def fair_compromise(members: Members):
        """No cluster's optimum is farther from the limit of FedAvg than half of the separation."""
        limit = Fraction(6 - members, 6)  # the optima are 0 and 1
        return at_most(limit, half=Fraction(1, 2))

    found = check("lesson-0/fair-compromise")
    print(found.verdict, "--", found.reason)
    return


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    ## What breaks when an assumption is dropped

    - **Equal Hessians.** With different Hessians and $H \ge 2$ the limit of FedAvg is not even the minimiser of the mean loss
      (lesson 2).
    - **Exact gradients.** With gradients of a few samples every model keeps a distance from its optimum that depends on the
      step, the momentum and the number of samples (lesson 6).
    - **A start near the optima.** From a bad start a model may attract no client at all (lesson 3).

    ## Literature

    - B. McMahan, E. Moore, D. Ramage, S. Hampson, B. Agüera y Arcas: Communication-efficient learning of deep networks from
      decentralized data. AISTATS 2017. FedAvg, Algorithm 1.
    - A. Ghosh, J. Chung, D. Yin, K. Ramchandran: An efficient framework for clustered federated learning. NeurIPS 2020. IFCA,
      Algorithm 1.
    - X. Zhao, P. Xie, L. Xing, G. Zhang, H. Ma: Clustered federated learning based on momentum gradient descent for
      heterogeneous data. Electronics 12, 1972, 2023. CFL-MGD, Algorithm 1 and equations (3)–(10).

    Statements of CFL-MGD, FPFC, GL-CFL and SoFL are quoted from the papers with their numbers. Those of all other papers are
    restated in the notation of these lessons.
    """)
    return


if __name__ == "__main__":
    app.run()

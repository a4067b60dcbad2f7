"""The pages of GL-CFL, CFL and SoFL: cuts, groups and moves by plain loops, and wrong runs."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from run_pages import called, failing, outcomes, result, row_of

from clusterproof import theory
from clusterproof.algorithms import CFL, GradientLoss, SoFL
from clusterproof.running import run
from clusterproof.synthetic import QuadraticMixture, RegressionMixture
from clusterproof.theory.pages.facts import Cuts, GroupFacts, Rest
from clusterproof.theory.pages.sofl import _count

ON_ROUNDS = {
    "cfl/single-linkage",
    "cfl/two-clusters",
    "cfl/stationary-cosine",
    "cfl/stationary-cosine-anywhere",
    "baselines/clustered",
    "sofl/aggregation-in-cluster",
    "sofl/algorithm-1-line-30",
    "gradient-loss/equation-2",
    "gradient-loss/equation-2-descent",
}


def clusters_of(count: int, **options: Any) -> QuadraticMixture:
    sizes: dict[str, Any] = {"clients": 3 * count, "dimension": 4, "separation": 4.0, "seed": 2}
    return QuadraticMixture.random(clusters=count, **sizes | options)


def plain_update(
    task: QuadraticMixture, client: int, model: np.ndarray, step: float, steps: int
) -> np.ndarray:
    point = model
    for _ in range(steps):
        point = point - step * task.hessians[client] @ (point - task.centers[client])
    return np.array(point - model)


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / np.sqrt((one @ one) * (other @ other)))


def together(labels: np.ndarray) -> np.ndarray:
    return np.array([[one == other for other in labels] for one in labels])


def test_a_cut_by_all_cuts() -> None:
    """Largest cosine across, and the least that any cut has, by enumeration; since when the groups do not change."""
    task = clusters_of(3, spread=0.4, condition_number=3.0)
    for linkage, steps in product(("single", "complete"), (1, 2)):
        algorithm = CFL(step_size=0.9, linkage=linkage, warm_up=5, local_steps=steps)
        trace = run(algorithm, task, rounds=60)
        page = theory.compare(task, trace)
        groups = [np.zeros(9, dtype=int), *trace.assignments]
        first = next(number for number in range(60) if len(set(groups[number + 1])) > 1)
        updates = [plain_update(task, i, trace.models[first, i], 0.9, steps) for i in range(9)]
        cosines = np.array([[cosine(u, v) for v in updates] for u in updates])

        def across(side: np.ndarray, cosines: np.ndarray = cosines) -> float:
            return max(cosines[i, j] for i in range(9) for j in range(9) if side[i] and not side[j])

        cut = groups[first + 1] == 1
        told = result(page, Cuts).cuts[0]
        assert (told.round, told.sizes) == (first + 1, (9 - cut.sum(), cut.sum()))
        assert told.cosine == pytest.approx(across(cut))
        least = min(across(np.array(side)) for side in product([False, True], repeat=9) if 0 < sum(side) < 9)
        best = outcomes(page)[f"cfl/{linkage}-linkage"]
        if across(cut) > least + 1e-9:
            assert best == "is broken"
        if linkage == "single":
            assert best == "holds"
        unchanged = [
            number for number in range(1, 61) if (together(groups[number]) == together(groups[-1])).all()
        ]
        since = next(n for n in unchanged if set(range(n, 61)) <= set(unchanged))
        assert result(page, GroupFacts).since == since
        other = {"single": "complete", "complete": "single"}[linkage]
        assert outcomes(page)[f"cfl/{other}-linkage"] == "does not apply"


def test_where_a_group_of_unlike_clients_rests_by_plain_loops() -> None:
    task = clusters_of(2, condition_number=4.0, spread=0.3)
    trace = run(CFL(step_size=0.9, local_steps=3, warm_up=100), task, rounds=4)

    def after(model: np.ndarray) -> np.ndarray:
        return np.array(model + np.mean([plain_update(task, i, model, 0.9, 3) for i in range(6)], axis=0))

    rest = trace.models[-1, 0]
    for _ in range(100):
        rest = after(rest)
    columns = [after(unit) - after(0 * unit) for unit in np.eye(4)]
    limit = np.abs(np.linalg.eigvals(np.stack(columns, axis=1))).max()
    told = result(theory.compare(task, trace), Rest)
    assert told.end == pytest.approx(np.linalg.norm(trace.models[-1, 0] - rest), rel=1e-6)
    assert told.factor == pytest.approx(limit)


def test_cosines_before_the_first_cut() -> None:
    """Two clusters at -1, a regular simplex at -1 / (K - 1), and three clusters anywhere at other values."""
    algorithm = CFL(step_size=0.5, warm_up=70)
    two = clusters_of(2, condition_number=1.0, proportions=[2, 1])
    found = theory.compare(two, run(algorithm, two, rounds=90))
    assert outcomes(found)["cfl/two-clusters"] == "holds"
    assert row_of(found, "cfl/two-clusters").constants["stated cosine"] == -1
    assert outcomes(found)["cfl/stationary-cosine"] == "does not apply"  # unequal sizes
    corners = np.eye(3) * 5.0
    for shift, simplex, anywhere in ((0.0, "holds", "holds"), (1.0, "does not apply", "is broken")):
        optima = corners + np.array([[0.0, shift, 0.0], [0.0] * 3, [0.0] * 3])
        labels = np.repeat(np.arange(3), 2)
        task = QuadraticMixture(
            hessians=np.tile(0.5 * np.eye(3), (6, 1, 1)), centers=optima[labels], labels=labels
        )
        page = theory.compare(task, run(CFL(step_size=1.0, warm_up=70), task, rounds=80))
        assert outcomes(page)["cfl/stationary-cosine"] == simplex
        assert outcomes(page)["cfl/stationary-cosine-anywhere"] == anywhere
        pulls = optima - optima.mean(axis=0)
        values = [cosine(pulls[i], pulls[j]) for i in range(3) for j in range(i)]
        if anywhere == "is broken":
            told = row_of(page, "cfl/stationary-cosine-anywhere").constants
            assert (told["least cosine"], told["largest cosine"]) == pytest.approx((min(values), max(values)))
            assert told["stated cosine"] == -0.5
    early = theory.compare(two, run(CFL(step_size=0.5, warm_up=5), two, rounds=30))
    name, needed, here = failing(early, "cfl/two-clusters")
    assert (name, needed) == ("mean update", 1e-6)
    assert here > 1e-3
    uneven = clusters_of(2, condition_number=3.0)
    found = theory.compare(uneven, run(algorithm, uneven, rounds=90))
    assert failing(found, "cfl/two-clusters") == ("one Hessian", True, False)


def test_joined_clients_break_the_refinement() -> None:
    task = clusters_of(2)
    trace = run(CFL(step_size=0.5, warm_up=5), task, rounds=30)
    groups = trace.assignments.copy()
    groups[20:] = 0
    joined = theory.compare(task, replace(trace, assignments=groups))
    assert outcomes(joined)["cfl/client-ids"] == "is broken"
    groups = result(joined, GroupFacts)
    assert (groups.merged, groups.remedy) == (((1, 2),), "--rounds 100")


def test_line_30_of_sofl_and_its_reading() -> None:
    task = clusters_of(3, spread=0.1)
    trace = run(SoFL(step_size=0.5, pretraining=4, local_steps=2), task, rounds=12)
    page = theory.compare(task, trace)
    assert outcomes(page)["sofl/aggregation-in-cluster"] == "holds"
    away, share = 0.0, 0.0
    for number in range(4, 12):
        groups = trace.assignments[number]
        for group in set(groups):
            members = [i for i in range(9) if groups[i] == group]
            sent = [
                trace.models[number, i] + plain_update(task, i, trace.models[number, i], 0.5, 2)
                for i in members
            ]
            np.testing.assert_allclose(
                trace.models[number + 1, members[0]], sum(sent) / len(members), atol=1e-12
            )
            gap = np.abs(sum(sent) / 9 - trace.models[number + 1, members[0]]).max()
            if gap > away:
                away, share = gap, len(members) / 9
    row = row_of(page, "sofl/algorithm-1-line-30")
    assert (row.outcome, row.measured) == ("is broken", pytest.approx(away))
    assert row.constants["share of the group"] == pytest.approx(share)
    whole = theory.compare(task, run(SoFL(step_size=0.5, pretraining=4, grid=1), task, rounds=12))
    assert outcomes(whole)["sofl/algorithm-1-line-30"] == "holds"
    assert result(whole, GroupFacts).merged == ((1, 2), (1, 3))
    before = theory.compare(task, run(SoFL(step_size=0.5, pretraining=20), task, rounds=12))
    assert failing(before, "sofl/aggregation-in-cluster") == ("clusterings", 0, 0)
    stationary = SoFL(step_size=0.5, pretraining=0, trigger="stationary")
    found = theory.compare(task, run(stationary, task, rounds=60))
    assert outcomes(found)["sofl/clustering-condition"] == "says nothing"
    still = QuadraticMixture(hessians=np.ones((4, 1, 1)), centers=np.zeros((4, 1)), labels=np.zeros(4, int))
    resting = run(stationary, still, rounds=6, initial=np.zeros((1, 1)))
    groups = resting.assignments.copy()
    groups[3:] = [0, 0, 1, 1]  # which no update asks for
    moved = theory.compare(still, replace(resting, assignments=groups))
    assert failing(moved, "sofl/clustering-condition") == ("mean update", 0, 0)
    robbins = SoFL(step_size=0.5, pretraining=4, schedule="robbins-monro")
    found = theory.compare(task, run(robbins, task, rounds=12))
    assert outcomes(found)["sofl/theorem-1-robbins-monro"] == "inconclusive"


@pytest.mark.parametrize(
    ("wrong", "runs", "outcome"), [(0, 40, "holds"), (40, 40, "is broken"), (0, 3, "inconclusive")]
)
def test_the_count_of_groups_is_judged_over_runs(wrong: int, runs: int, outcome: str) -> None:
    labels = np.tile(np.repeat(np.arange(4), 6), (1, runs, 1))
    labels[0, :wrong] //= 2
    run: Any = SimpleNamespace(labels=labels, task=SimpleNamespace(clusters=4))
    found = _count(run)
    assert (found.outcome, found.measured) == (outcome, wrong / runs)
    assert [(each.count, each.runs) for each in found.above] == [(wrong, runs)]


def test_moves_margins_and_empty_models_of_gl_cfl() -> None:
    task = clusters_of(3, spread=0.3, condition_number=2.0)
    start = task.pooled_optimum + np.random.default_rng(0).standard_normal((3, 4))
    trace = run(GradientLoss(step_size=0.4, weight=0.4), task, rounds=15, initial=start)
    page = theory.compare(task, trace)
    gap, largest, excess = 0.0, 0.0, 0.0
    for number in range(15):
        losses = np.array(
            [
                [(w - c) @ hessian @ (w - c) / 2 for w in trace.models[number]]
                for hessian, c in zip(task.hessians, task.centers, strict=True)
            ]
        )
        chosen = trace.assignments[number]
        excess = max(excess, max(losses[i, chosen[i]] - losses[i].min() for i in range(9)))
        for k in set(chosen):
            w = trace.models[number, k]
            members = [i for i in range(9) if chosen[i] == k]
            mean = sum(task.hessians[i] @ (w - task.centers[i]) for i in members) / len(members)
            move = trace.models[number + 1, k] - w
            np.testing.assert_allclose(move, -0.4 * mean, atol=1e-12)
            gap, largest = max(gap, np.abs(move - mean).max()), max(largest, np.abs(mean).max())
    printed, ours, margin = (
        row_of(page, f"gradient-loss/{name}") for name in ("equation-2", "equation-2-descent", "loss-margin")
    )
    assert (printed.outcome, printed.measured) == ("is broken", pytest.approx(gap))
    assert printed.constants["largest mean gradient"] == pytest.approx(largest)
    assert ours.outcome == "holds"
    assert (margin.outcome, margin.allowed, margin.measured) == (
        "holds",
        pytest.approx(2 * 0.4 / 0.6),
        pytest.approx(excess),
    )
    far = start.copy()
    far[2] += 1e3
    lost = theory.compare(task, run(GradientLoss(step_size=0.4), task, rounds=15, initial=far))
    groups = result(lost, GroupFacts)
    assert (groups.empty, groups.empty_runs, groups.remedy) == ((3,), 1, "--empty-cluster when-empty")
    pinned = GradientLoss(step_size=0.4, empty_cluster="when-empty")
    trace = run(pinned, task, rounds=15, initial=far)
    assert outcomes(theory.compare(task, trace))["gradient-loss/pinning"] == "holds"
    still = replace(trace, models=np.concatenate([trace.models[:1], trace.models[:-1]]))
    assert outcomes(theory.compare(task, still))["gradient-loss/pinning"] == "is broken"


def test_purity_is_compared_with_one_to_one_naming() -> None:
    """Two groups of one true cluster: purity counts both, one to one only one."""
    task = clusters_of(3)
    trace = run(GradientLoss(step_size=0.4), task, rounds=3)
    for groups, expected, purity, right in (
        ([0, 0, 0, 1, 1, 1, 2, 2, 2], "holds", 1, 9),
        ([0, 1, 1, 2, 2, 2, 2, 2, 2], "is broken", 2 / 3, 5),
    ):
        found = theory.compare(task, replace(trace, assignments=np.tile(groups, (3, 1))))
        row = row_of(found, "gradient-loss/purity")
        assert (row.outcome, row.measured, row.constants["right"]) == (expected, pytest.approx(purity), right)
        assert outcomes(found)["gradient-loss/purity-bound"] == "holds"
    uneven = clusters_of(3, proportions=[3, 2, 1])
    found = theory.compare(uneven, run(GradientLoss(step_size=0.4), uneven, rounds=3))
    assert failing(found, "gradient-loss/purity") == ("clusters of one size", True, False)


def test_the_race_against_ifca() -> None:
    task = RegressionMixture.random(
        clusters=4, clients=40, dimension=20, separation=1.0, noise=0.5, samples=20, seed=1
    )
    runs, rounds = 20, 14
    stream = np.random.default_rng(3)
    start = task.pooled_optimum + stream.standard_normal((runs, 4, 20)) / np.sqrt(20)
    algorithm = GradientLoss(step_size=0.1, empty_cluster="when-empty")
    traces = [
        run(replace(algorithm, weight=weight), task, rounds=rounds, replicates=runs, initial=start)
        for weight in (0.2, 0.0)
    ]
    page = theory.compare(task, traces[0])
    times = []
    for trace in traces:
        times.append([])
        for one in range(runs):
            reached = np.inf
            for number in reversed(range(rounds)):
                chosen = trace.assignments[number, one]
                counts = [[np.sum((chosen == k) & (task.labels == j)) for j in range(4)] for k in range(4)]
                if sum(map(max, counts)) >= 36:
                    reached = number + 1
            times[-1].append(reached)
    t, t_ifca = np.array(times)
    both = int((np.isinf(t) & np.isinf(t_ifca)).sum())
    later = int((t > t_ifca).sum())
    sooner, passes = (row_of(page, f"gradient-loss/{name}") for name in ("sooner", "fewer-passes"))
    assert [(each.count, each.allowed) for each in sooner.above] == [(later, 10)]
    assert sooner.outcome == ("holds" if later + both <= 10 else "inconclusive")
    assert sooner.constants["undecided runs"] == both
    finite = np.where(np.isinf(times), rounds + 1, times)
    assert (sooner.constants["median T"], sooner.constants["median T_IFCA"]) == tuple(
        np.median(finite, axis=1)
    )
    certain = int((12 * t > 6 * np.where(np.isinf(t_ifca), rounds + 1, t_ifca))[~np.isinf(t_ifca)].sum())
    assert [each.count for each in passes.above] == [certain]
    others = {"step_size": 0.2, "weight": 0.3, "empty_cluster": "never", "loss_reduction": "sum"}
    names = {"step_size": "eta L", "weight": "--weight"}
    for name, value in others.items():
        found = theory.compare(task, called(traces[0], **{name: value}))
        option = names.get(name, f"--{name.replace('_', '-')}")
        assert failing(found, "gradient-loss/sooner")[0] == option
        assert "gradient-loss/fewer-passes" not in outcomes(found)
    near = run(algorithm, task, rounds=3, replicates=2)  # from half a basin: in the true clusters at once
    name = "models that start about Delta apart"
    assert failing(theory.compare(task, near), "gradient-loss/sooner") == (name, True, False)


@pytest.mark.parametrize("task", ["quadratic", "regression"])
def test_partial_participation(task: str) -> None:
    made = {"quadratic": QuadraticMixture, "regression": RegressionMixture}[task].random(
        clusters=2, clients=12, dimension=3
    )
    for algorithm in (
        CFL(step_size=0.5, warm_up=3, participation=0.5),
        SoFL(step_size=0.5, pretraining=3, participation=0.5),
        GradientLoss(step_size=0.5, participation=0.25),
    ):
        page = theory.compare(made, run(algorithm, made, rounds=6))
        found = outcomes(page)
        assert {found[claim] for claim in ON_ROUNDS & set(found)} <= {"does not apply"}
        assert page.facts.task.clients == 12
    one = theory.compare(made, run(GradientLoss(step_size=0.5, participation=0.1), made, rounds=2))
    assert result(one, GroupFacts).absent > 0

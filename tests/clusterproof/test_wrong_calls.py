"""Wrong calls of the public interface end in ``InvalidArgument``, which names the argument and the remedy."""

import inspect
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

import clusterproof
from clusterproof import CFLMGD, FedAvg, InvalidArgument, RegressionMixture, algorithms, theorem
from clusterproof.algorithms.calls import MEANT, meant
from clusterproof.commands.application import main
from clusterproof.synthetic import strategies

CALLS = """
run()
run(algo)
run(task, algo)
run(algo, task)
run(algo, task, 3)
run(algo, task, rouds=3)
run(algo, task, num_rounds=3)
run(algo, task, rounds="3")
run(algo, task, rounds=3, seed="x")
run(algo, task, rounds=3, replicates=-1)
run("cfl-mgd", task, rounds=3)
run(CFLMGD, task, rounds=3)
run(algo, None, rounds=3)
run(algo, task, rounds=3, record="models")
run(algo, task, rounds=3, record=3)
run(algo, task, rounds=3, measure=3)
run(algo, task, rounds=3, measure={"x": 3})
run(algo, task, rounds=3, initial="zero")
FedAvg()
FedAvg(.1)
FedAvg(lr=.1)
FedAvg(step_size=None)
FedAvg(step_size="fast")
FedAvg(step_size=.1, local_epochs=3)
FedAvg(step_size=.1, local_steps=2.5)
FedProx(step_size=.1, mu=.1)
CFLMGD(step_size=.1)
CFLMGD(step_size=.1, momentum=[.1])
FPFC(step_size=.1, penalty=3)
FPFC(step_size=[1], strength=1)
SoFL(step_size=.1, threshold=None)
RegressionMixture()
RegressionMixture.random()
RegressionMixture.random(clusters=2)
RegressionMixture.random(clusters=2, num_clients=8, dimension=3)
RegressionMixture.random(2, 8, 3)
RegressionMixture.random(clusters="2", clients=8, dimension=3)
RegressionMixture.random(clusters=2, clients=8, dimension=3, noise="x")
RegressionMixture.random(clusters=2, clients=8, dimension=3, proportions="half")
RegressionMixture.random(clusters=2, clients=8, dimension=3, proportions=3)
RegressionMixture.random(clusters=2, clients=8, dimension=3, seed=None)
QuadraticMixture(hessians=3, centers=1, labels=2)
QuadraticMixture(hessians=None, centers=None, labels=None)
QuadraticMixture.random(clusters=2, clients=8, dim=3)
LogisticMixture.random(clusters=2, clients=8, dimension=3, condition_number="big")
check()
check(3)
check("cfl-mgd/lemma-2", seed="x")
check("cfl-mgd/lemma-2", sead=1)
check("lemma-2")
check(None)
theory.check("cfl-mgd/lemma-2", trials=3)
claim()
claim(3)
claim("My Lemma")
claim("my/lemma")(3)
claim("my/lemma")(lambda x: 1)
falsify()
falsify(3)
falsify(lambda task, trace: 1, algorithm=algo)
falsify(lambda task, trace: 1, algorithm="ifca", tasks=task, rounds=3)
falsify(lambda task, trace: at_most(1, 2), algorithm=algo, tasks=3, rounds=3)
falsify(lambda task, trace: at_most(1, 2), algorithm=algo, tasks=task, rounds=None)
falsify(lambda task, trace: at_most(1, 2), algo=algo, tasks=task, rounds=3)
falsify(lambda task, trace: "x", algorithm=algo, tasks=task, rounds=3, budget=1)
conformance.conform()
conformance.conform(FedAvg)
conformance.conform(FedAvg, "fedavgg")
conformance.conform(FedAvg, 3)
conformance.conform(FedAvg, algorithm="fedavg", setings={})
conformance.conform(FedAvg, "fedavg", settings=3)
conformance.conform(FedAvg, "fedavg", settings={"x": 1})
conformance.conform(FedAvg, "fedavg", supports=3)
conformance.conform(FedAvg, "fedavg", dtype="float8")
conformance.assert_conforms(FedAvg)
leaderboard()
leaderboard("fedavgg")
leaderboard(3)
leaderboard("fedavg", lr=.1)
leaderboard("fedavg", step_size="x")
leaderboard("fedavg", step_size=None)
leaderboard("fedavg", rounds="10,100")
leaderboard("fedavg", rounds=["a"])
leaderboard("fedavg", rounds=None)
leaderboard("fedavg", task=3)
leaderboard("fedavg", client_class="weak")
certify()
certify(.5)
certify(momentum=.5)
certify(momentum="x", condition_number=10)
certify(momentum=.5, kappa=10)
certify(momentum=.5, condition_number=None)
verify()
save_trace()
save_trace(trace)
save_trace("x", trace)
save_trace(trace, 3)
save_trace(trace, None)
load_trace()
load_trace(3)
load_trace("nowhere")
load_trace(None)
trace.plot(3)
trace.plot("x")
trace.plot(width="wide")
trace.plot(bound={"x": 1})
trace.plot(bounds=3)
trace.plot(labels=3)
trace.plot(title=3)
trace.frame(3)
compare()
compare(task)
compare(trace, task)
compare(task, trace, claims="x")
compare(task, trace, claims=3)
bound("cfl-mgd/theorem-d")
bound("cfl-mgd/theorem-d", trace, task)
bound("nothing", task, trace)
bound(3, task, trace)
bound("cfl-mgd/theorem-d", task, trace, failure_probability="x")
assert_holds("cfl-mgd/theorem-d", task)
assert_holds("cfl-mgd/theorem-d", trace, task)
assert_same_law(task)
assert_same_law(trace, task)
assert_same_law(task, trace, algorithm="ifca")
catalogue(3)
catalogue("nobody")
replay()
replay("cfl-mgd/lemma-2")
replay("cfl-mgd/lemma-2", 3)
replay("cfl-mgd/lemma-2", {})
replay("cfl-mgd/lemma-2", {"x": 1})
replay(3, {})
load_claims()
load_claims(3)
load_claims("none.py")
at_most()
at_most(1)
at_most("a", 1)
at_most(1, b="x")
at_most(None, 1)
at_most(1, 2, failure="x")
at_most(1, 2, failure=3)
equal(1, 2)
equal(3)
equal((1,))
suppose()
suppose(3, 4)
suppose("x > 0", "yes")
expectation()
expectation([1.0])
expectation("x", 1)
expectation([1.0], "x")
expectation([1.0], 1, 2)
expectation([1.0], 1, range=3)
probability()
probability([True], 3)
probability("x")
integers()
integers(1)
integers(1, 2, 3, 4)
reals(1)
rationals(0, 1)
rationals(0, 1, "x")
choice()
vectors()
vectors("n")
matrices(2)
matrices("a", "b")
sequences()
drawn()
functions(smoothness="x")
functions(L=1)
operators(3)
given("x")
given("x", True, 3)
strategies.quadratic_mixtures(cluster=3)
strategies.quadratic_mixtures(clusters="x")
strategies.quadratic_mixtures(clusters=(1, 2, 3))
strategies.regression_mixtures(3)
algorithms.purity([1, 2], [1])
algorithms.adjusted_rand_index([1, 2], [1])
"""


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What a reader has imported, a task and a run on it."""
    public = {name: getattr(clusterproof, name) for name in dir(clusterproof) if not name.startswith("_")}
    words = {name: getattr(theorem, name) for name in theorem.__all__}
    task = RegressionMixture.random(clusters=2, clients=8, dimension=3, seed=0)
    algo = CFLMGD(step_size=0.5, momentum=0.5)
    trace = clusterproof.run(algo, task, rounds=3, seed=0)
    return {**public, **words, "strategies": strategies, "task": task, "algo": algo, "trace": trace}


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_a_wrong_call_is_refused(
    call: str, names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument) as refusal:
        eval(call, names.copy())  # noqa: S307 - a list above
    assert refusal.value.rule
    assert refusal.value.remedy


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        ("FedAvg(lr=.1)", "write step_size="),
        ("FedAvg(.1)", "write step_size=..."),
        ("FedAvg(step_size=.1, local_epochs=3)", "write local_steps="),
        ("FedProx(step_size=.1, mu=.1)", "write proximal="),
        ("run(algo, task, num_rounds=3)", "write rounds="),
        ("run(algo, task, rouds=3)", "write rounds="),
        ("RegressionMixture.random(clusters=2, num_clients=8, dimension=3)", "write clients="),
        ("leaderboard('fedavg', lr=.1)", "write step_size="),
        ("trace.plot(bound={'x': 1})", "write bounds="),
    ],
)
def test_a_name_of_another_library_is_answered_by_its_meaning(
    call: str, remedy: str, names: dict[str, Any]
) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        eval(call, names.copy())  # noqa: S307 - a list above
    assert refusal.value.remedy == remedy


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("run fedavg --lr .1", "--step-size"),
        ("run fedavg --learning-rate .1", "--step-size"),
        ("run fedavg --epochs 5", "--local-steps"),
        ("run fedavg --num-clients 5", "--clients"),
        ("run fedavg --global-rounds 5", "--rounds"),
        ("run fedavg --fraction-fit .5", "--participation"),
        ("run fedavg --format json", "--json"),
        ("run fedprox --mu .1", "--proximal"),
        ("train --lr .1", "--step-size"),
        ("train --num-clients 5", "--clients-per-cluster"),
        ("train --dataset mnist", "--data"),
        ("train --partition dirichlet --alpha .5", "--concentration"),
        ("leaderboard fedavg --lr .1", "--step-size"),
        ("check --format json", "--json"),
    ],
)
def test_an_option_of_another_library_is_answered_by_its_meaning(
    line: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    said = capsys.readouterr().err
    assert f"Did you mean {option}?" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("train --epochs 3", "Did you mean --local-steps? With --local-unit epoch it counts epochs."),
        ("train --num-clients 5", "Did you mean --clients-per-cluster? It counts those of one cluster"),
        (
            "train --optimizer adam",
            "what a client does is part of the algorithm: for another one, write a class",
        ),
        ("run fedavg --weight-decay .1", "what a client does is part of the algorithm"),
        ("run fedavg --mu .1", "it has no proximal term; fedprox has."),
        (
            "run no.py",
            "algorithm = 'no.py': must be MODULE:NAME or FILE.py:NAME; name the object after a colon",
        ),
        ("run fedavg --batch-size 5", "a local step takes all rows here; train has batches."),
        ("check --height 5", "Unknown option: --height. See"),
        ("figures drift --height 5", "give --width, from which the height follows."),
        ("figures drift --size 5", "give --width, from which the height follows."),
    ],
)
def test_what_is_not_here_is_answered_by_what_to_do(
    line: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    assert words in capsys.readouterr().err


def test_meanings_lead_to_names_that_are_there() -> None:
    assert meant("--learning-rate", ["step_size", "rounds"]) == "step_size"
    assert meant("--epochs", ["local-steps"]) == "local-steps"
    assert meant("unheard_of", ["step_size"]) is None
    page = (Path(__file__).parents[2] / "notes/coming-from.md").read_text(encoding="utf-8")
    table = page.partition("## Options")[2].partition("##")[0]
    rows = [row.split("|")[1:3] for row in table.splitlines() if row.startswith("| `")]
    assert len(rows) > 6
    for elsewhere, here in rows:
        options = [
            word.strip("`,.;").removeprefix("--").replace("-", "_") for word in here.split() if "--" in word
        ]
        for word in elsewhere.replace("`", "").replace(",", "").split():
            if options and word not in here:
                assert meant(word, options), word
    assert all(name.isidentifier() for name in MEANT)


def test_answering_changes_nothing_of_a_right_call() -> None:
    """Signatures, pickles and errors of the code that is called stay as they are."""
    assert str(inspect.signature(FedAvg)).startswith("(*, step_size: 'float'")
    assert next(iter(inspect.signature(clusterproof.run).parameters)) == "algorithm"
    for one in (algorithms.run, FedAvg(step_size=0.5), CFLMGD):
        assert pickle.loads(pickle.dumps(one)) == one
    assert clusterproof.check is clusterproof.theory.check

    def broken(task: Any, trace: Any) -> Any:
        raise TypeError("of the reader")

    task = RegressionMixture.random(clusters=1, clients=2, dimension=1)
    with pytest.raises((TypeError, InvalidArgument), match="of the reader"):
        clusterproof.falsify(
            broken, algorithm=FedAvg(step_size=0.5), tasks=st.just(task), rounds=1, evaluations=1
        )
